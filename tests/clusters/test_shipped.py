"""The fake driver's chart and site say what its manifests say, in other namespaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_dra.launch.tool import find
from pytest_dra.live import rendering
from pytest_dra.profile import load_profile
from tests.clusters import shipped


@pytest.fixture(scope="module")
def manifests() -> str:
    return shipped.printed()


def rendered(folder: Path) -> list[dict[str, Any]]:
    text = rendering.rendered(folder, kubernetes="1.37", values=None)
    return [each for each in yaml.safe_load_all(text) if each["kind"] != "Namespace"]


def accounts(objects: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Namespace and name of the driver's account, wherever they stand."""
    found = set()
    for each in objects:
        about = each["metadata"]
        if each["kind"] == "ServiceAccount":
            found.add((about["namespace"], about["name"]))
        if each["kind"] == "DaemonSet":
            pod = each["spec"]["template"]["spec"]
            found.add((about["namespace"], pod["serviceAccountName"]))
        if each["kind"] == "ValidatingAdmissionPolicy":
            expression = each["spec"]["matchConditions"][0]["expression"]
            _, _, namespace, name = expression.strip('"').rpartition('"')[2].split(":")
            found.add((namespace, name))
        found |= {(each["namespace"], each["name"]) for each in each.get("subjects", ())}
    return found


def test_the_chart_is_as_complete_as_the_manifests(tmp_path: Path, manifests: str) -> None:
    if find(rendering.HELM) is None:
        pytest.skip("there is no helm on PATH")
    made = rendered(shipped.write_chart(tmp_path / "chart", manifests))
    kinds = sorted(each["kind"] for each in yaml.safe_load_all(manifests))
    assert sorted([*(each["kind"] for each in made), "Namespace"]) == kinds
    assert accounts(made) == {(rendering.NAMESPACE, shipped.PRINTED)}


def test_the_site_is_as_complete_as_the_manifests(tmp_path: Path, manifests: str) -> None:
    if not any(find(name) for name, *_ in rendering.KUSTOMIZERS):
        pytest.skip("there is neither kustomize nor kubectl on PATH")
    made = rendered(shipped.write_site(tmp_path / "site", manifests))
    kinds = sorted(each["kind"] for each in yaml.safe_load_all(manifests))
    assert sorted([*(each["kind"] for each in made), "Namespace"]) == kinds
    assert accounts(made) == {(shipped.SITE, f"{shipped.PREFIX}{shipped.PRINTED}")}
    classes = [each["metadata"]["name"] for each in made if each["kind"] == "DeviceClass"]
    profile = load_profile(shipped.write_profile(tmp_path / "p.yaml", prefix=shipped.PREFIX))
    assert list(profile.driver.device_classes) == classes


def test_manifests_that_the_chart_does_not_know_any_more_are_told(
    tmp_path: Path, manifests: str
) -> None:
    with pytest.raises(RuntimeError, match="no 'priorityClassName: system-node-critical' any more"):
        shipped.write_chart(tmp_path, manifests.replace("system-node-critical", "high"))


def test_what_nothing_here_renders_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shipped.main(["--", "--dra-base-image=python:3"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "chart: no helm here, left out",
        "site: no kustomize or kubectl here, left out",
    ]
