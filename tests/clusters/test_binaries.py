"""Where the programs of a real control plane are looked for, and what is said without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dra.clusters import binaries
from pytest_dra.clusters.binaries import Binaries
from pytest_dra.clusters.binaries import BinariesError
from pytest_dra.clusters.binaries import find_binaries
from tests.plugin.conftest import Runs

WAY_OUT = (
    "let KUBEBUILDER_ASSETS name a folder with both ('setup-envtest use -p path' fetches one), "
    "or use --dra-cluster=embedded"
)


def programs(folder: Path, said: str = "Kubernetes v1.37.2") -> dict[str, str]:
    for name in ("etcd", "kube-apiserver"):
        file = folder / name
        file.write_text(f"#!/bin/sh\necho '{said}'\n")
        file.chmod(0o755)
    return {"KUBEBUILDER_ASSETS": str(folder)}


def test_both_programs_are_found_in_the_folder_that_is_named(tmp_path: Path) -> None:
    found = find_binaries(programs(tmp_path))
    assert (found.etcd, found.kube_apiserver) == (tmp_path / "etcd", tmp_path / "kube-apiserver")
    assert (found.version, found.minor) == ("v1.37.2", 37)


def test_without_the_variable_the_usual_folder_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "USUAL", tmp_path)
    with pytest.raises(BinariesError) as caught:
        find_binaries({})
    assert str(caught.value) == (
        f"KUBEBUILDER_ASSETS is not set, and {tmp_path} has no program etcd and no kube-apiserver; "
        + WAY_OUT
    )
    programs(tmp_path)
    assert find_binaries({}).version == "v1.37.2"


def test_a_folder_with_one_program_alone_is_refused(tmp_path: Path) -> None:
    environ = programs(tmp_path)
    (tmp_path / "etcd").unlink()
    with pytest.raises(BinariesError) as caught:
        find_binaries(environ)
    assert str(caught.value) == f"KUBEBUILDER_ASSETS={tmp_path} has no program etcd; {WAY_OUT}"


def test_a_program_that_tells_no_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BinariesError, match="got 'hello', want a version of Kubernetes"):
        find_binaries(programs(tmp_path, "hello"))


@pytest.mark.parametrize(
    ("kubernetes", "fits"),
    [("1.34", True), ("1.37", True), ("1.38", False), ("1.33", False)],
)
def test_a_server_is_its_own_version_or_emulates_three_before(kubernetes: str, fits: bool) -> None:  # noqa: FBT001 - a parameter of the test
    found = Binaries(etcd=Path("/e"), kube_apiserver=Path("/k"), version="v1.37.2")
    if fits:
        found.must_serve(kubernetes)
        return
    with pytest.raises(BinariesError) as caught:
        found.must_serve(kubernetes)
    assert str(caught.value) == (
        f"/k is v1.37.2 and cannot be Kubernetes {kubernetes}; add --dra-kubernetes=1.37, or let "
        "KUBEBUILDER_ASSETS name other programs"
    )


def test_without_the_programs_nothing_is_started(
    runs: Runs, tmp_path_factory: pytest.TempPathFactory
) -> None:
    empty = tmp_path_factory.mktemp("empty")
    runs.environment(KUBEBUILDER_ASSETS=str(empty))
    done = runs.judge("-p", "no:cacheprovider", "--dra-cluster=apiserver")
    assert done.ret is pytest.ExitCode.USAGE_ERROR
    assert done.errlines[0] == (
        f"ERROR: --dra-cluster=apiserver: KUBEBUILDER_ASSETS={empty} has no program etcd and no "
        f"kube-apiserver; {WAY_OUT}"
    )


def test_a_server_of_another_version_is_refused(
    runs: Runs, tmp_path_factory: pytest.TempPathFactory
) -> None:
    runs.environment(**programs(tmp_path_factory.mktemp("old"), "Kubernetes v1.35.1"))
    done = runs.judge("-p", "no:cacheprovider", "--dra-cluster=apiserver")
    assert done.ret is pytest.ExitCode.USAGE_ERROR
    assert "add --dra-kubernetes=1.35, or let KUBEBUILDER_ASSETS name" in done.errlines[0]
