"""The rights that a profile's manifests grant to its account."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dra.profile import DriverProfile
from pytest_dra.profile.model import LaunchBlock
from pytest_dra.profile.rights import Rights
from pytest_dra.profile.rights import RightsError
from pytest_dra.profile.rights import rights_of

ROLE = """
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: plugin}
rules: []
---
kind: DaemonSet
apiVersion: apps/v1
metadata: {name: plugin, namespace: gpu}
"""
BINDING = """
kind: List
apiVersion: v1
items:
- kind: RoleBinding
  apiVersion: rbac.authorization.k8s.io/v1
  metadata: {name: plugin}
  roleRef: {kind: ClusterRole, name: plugin}
  subjects: [{kind: ServiceAccount, name: plugin}]
"""


def found(account: str, *manifests: Path) -> Rights | None:
    return rights_of(
        DriverProfile(launch=LaunchBlock(service_account=account), manifests=manifests)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.yaml").write_text(ROLE)
    (tmp_path / "b.yaml").write_text(BINDING)
    (tmp_path / "values.txt").write_text("{{ no yaml")
    return tmp_path


def test_without_an_account_nothing_is_read(tmp_path: Path) -> None:
    assert found("", tmp_path / "missing.yaml") is None


def test_files_and_folders_are_read_and_only_rights_are_taken(folder: Path) -> None:
    rights = found("gpu/plugin", folder)
    assert rights is not None
    assert (rights.namespace, rights.account) == ("gpu", "plugin")
    assert [each["kind"] for each in rights.objects] == ["ClusterRole", "RoleBinding"]
    # Where it is applied without a namespace of its own.
    assert rights.objects[1]["metadata"]["namespace"] == "gpu"
    assert found("gpu/plugin", folder / "a.yaml", folder / "b.yaml") == rights


def test_an_account_without_a_binding_is_told(folder: Path) -> None:
    with pytest.raises(RightsError, match="ServiceAccount other of namespace gpu"):
        found("gpu/other", folder)


@pytest.mark.parametrize("subject", ["system:serviceaccounts:gpu", "system:authenticated"])
def test_groups_bind_it_too(folder: Path, subject: str) -> None:
    text = BINDING.replace(
        "{kind: ServiceAccount, name: plugin}", f"{{kind: Group, name: '{subject}'}}"
    )
    (folder / "b.yaml").write_text(text)
    assert found("gpu/other", folder) is not None


def test_a_file_that_cannot_be_read_is_named(folder: Path) -> None:
    (folder / "c.yaml").write_text("a: [")
    with pytest.raises(RightsError, match=r"c\.yaml"):
        found("gpu/plugin", folder)
    with pytest.raises(RightsError, match=r"missing\.yaml"):
        found("gpu/plugin", folder / "missing.yaml")
