"""The real ``helm``, ``kustomize`` and ``kubectl`` on a small chart and a small site; skipped
where they are not there.

``upstream_chart`` and ``upstream_site`` install Kubernetes' test driver, which
``tests/containers/test_real.py`` runs as they say.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_dra.launch.tool import find
from pytest_dra.live.shipment import objects_of
from pytest_dra.live.shipment import plugins_of
from pytest_dra.manifestplanning import shipped
from pytest_dra.options import OptionError
from pytest_dra.options import resolve
from pytest_dra.profile import DriverProfile
from tests.drivers import upstream

CHART = Path(upstream.__file__).with_name("upstream_chart")
SITE = Path(upstream.__file__).with_name("upstream_site")
VALUES = "driver: test-driver.cdi.k8s.io\n"


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    if find("helm") is None:
        pytest.skip("there is no helm on PATH")
    return Path(shutil.copytree(CHART, tmp_path / "chart"))


@pytest.fixture
def values(tmp_path: Path) -> Path:
    (tmp_path / "values.yaml").write_text(VALUES)
    return tmp_path / "values.yaml"


def objects(folder: Path, manifests: Path, **options: str) -> list[dict[str, Any]]:
    """What ``--dra-manifests`` comes to."""
    given = {
        "dra_driver": "there:1",
        "dra_manifests": str(manifests),
        "dra_output": str(folder / "out"),
        **options,
    }
    settings = resolve(flag=given.get, ini=lambda _: None, environ={})
    return objects_of(shipped(settings, DriverProfile()).manifests)


def refused(folder: Path, manifests: Path, **options: str) -> str:
    with pytest.raises(OptionError) as caught:
        objects(folder, manifests, **options)
    return str(caught.value)


def test_a_chart_becomes_what_it_would_install(chart: Path, values: Path, tmp_path: Path) -> None:
    made = objects(tmp_path, chart, dra_helm_values=str(values))
    found = [(each["kind"], each["metadata"].get("namespace")) for each in made]
    assert found == [
        ("Namespace", None),
        ("CustomResourceDefinition", None),
        ("ServiceAccount", "pytest-dra-driver"),
        ("ClusterRole", None),
        ("ClusterRoleBinding", None),
        ("DeviceClass", None),
        ("DaemonSet", "pytest-dra-driver"),
    ]
    (plugin,) = plugins_of(made)
    assert plugin.account == "pytest-dra-dra-test-driver"
    assert "--cdi-dir=/cdi" in plugin.pod["containers"][0]["args"]


def test_a_packaged_chart_is_rendered_too(chart: Path, values: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "chart"), "gztar", tmp_path, "chart")
    packaged = Path(archive).rename(tmp_path / "chart-0.1.0.tgz")
    made = objects(tmp_path, packaged, dra_helm_values=str(values))
    assert made == objects(tmp_path, chart, dra_helm_values=str(values))


def test_what_a_chart_wants_of_its_user_is_told_with_the_option(
    chart: Path, tmp_path: Path
) -> None:
    said = refused(tmp_path, chart)
    assert said.startswith(f"--dra-manifests: {chart} cannot be rendered: ")
    assert "driver: the name of the driver is needed. What to do: " in said
    assert said.endswith("--dra-helm-values=FILE")


@pytest.mark.parametrize(
    ("file", "text", "wanted"),
    [
        ("templates/plugin.yaml", "a: {{ if }}\n", r"plugin\.yaml:1\): missing value for if"),
        ("templates/plugin.yaml", "a: [\n", r"YAML parse error on dra-test-driver/templates"),
        ("templates/plugin.yaml", "a: {{ .Values.no.name }}\n", r"--dra-helm-values=FILE$"),
        ("templates/plugin.yaml", "a: 1\n", r"chart:\d+: an object without kind$"),
        ("values.yaml", "a: [\n", r"cannot load values\.yaml"),
        ("values.schema.json", '{"required": ["x"]}', r"'x'.*--dra-helm-values=FILE$"),
        ("Chart.yaml", "name: x\n", r"chart\.metadata\.version is required"),
        ("Chart.yaml", "a: [\n", r"cannot load Chart\.yaml"),
        (
            "Chart.yaml",
            'apiVersion: v2\nname: x\nversion: 0.1.0\nkubeVersion: ">=1.99.0"\n',
            r"incompatible with Kubernetes v1\.37\.0.*--dra-kubernetes=VERSION",
        ),
        (
            "Chart.yaml",
            "apiVersion: v2\nname: x\nversion: 0.1.0\n"
            "dependencies: [{name: sub, version: 1.0.0, repository: 'https://charts.example'}]\n",
            r"missing in charts/ directory: sub",
        ),
    ],
)
def test_a_bad_chart_is_refused_with_the_option_the_place_and_helm_s_words(
    file: str, text: str, wanted: str, chart: Path, values: Path, tmp_path: Path
) -> None:
    (chart / file).write_text(text)
    said = refused(tmp_path, chart, dra_helm_values=str(values))
    assert said.startswith("--dra-manifests: ")
    assert "--debug" not in said
    assert re.search(wanted, said.replace("\n", " ")), said


def test_bad_values_are_refused_with_their_file(chart: Path, tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("a: [\n")
    said = refused(tmp_path, chart, dra_helm_values=str(tmp_path / "values.yaml"))
    assert f"failed to parse {tmp_path / 'values.yaml'}" in said


@pytest.fixture(params=["kustomize", "kubectl"])
def only(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The one program that renders a site."""
    name = str(request.param)
    assets = os.environ.get("KUBEBUILDER_ASSETS", "")
    program = shutil.which(name, path=os.pathsep.join([os.environ["PATH"], assets]))
    if program is None:
        pytest.skip(f"there is no {name} on PATH")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / name).symlink_to(program)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return name


def test_a_site_becomes_what_it_would_apply(only: str, tmp_path: Path) -> None:
    made = objects(tmp_path, SITE)
    (plugin,) = plugins_of(made)
    assert (plugin.namespace, plugin.account) == ("gpu-drivers", "site-dra-test-driver")
    assert plugin.pod["containers"][0]["args"][-1] == "--cdi-dir=/cdi"
    (binding,) = [each for each in made if each["kind"] == "ClusterRoleBinding"]
    assert binding["subjects"][0]["namespace"] == "gpu-drivers"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("resources: [nothere.yaml]\n", "nothere.yaml: no such file or directory"),
        ("resources: [\n", "invalid Kustomization"),
        ("nonsense: true\n", "nonsense"),
        ("resources: [https://elsewhere.invalid/a.yaml]\n", "elsewhere.invalid"),
    ],
)
def test_a_bad_site_is_refused_with_the_option_and_the_program_s_words(
    text: str, wanted: str, only: str, tmp_path: Path
) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(text)
    said = refused(tmp_path, folder)
    assert said.startswith(f"--dra-manifests: {folder} cannot be rendered: ")
    assert wanted in said


def test_what_is_written_is_plain_yaml(only: str, tmp_path: Path) -> None:
    objects(tmp_path, SITE)
    text = (tmp_path / "out/manifests/upstream_site.yaml").read_text()
    assert all(isinstance(each, dict) for each in yaml.safe_load_all(text))
