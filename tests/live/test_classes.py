"""Pods of a DeviceClass that is not there wait for ever, so that it is looked for before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dra.api import resources
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.live import classes
from tests.clusters.embeddedcluster import unreachable

NAME = "gpu.example.com"


@pytest.fixture(autouse=True)
def in_a_hurry(client: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(classes, "MADE_S", 0.2)
    yield
    client.delete_collection(resources.DEVICE_CLASSES)


def test_a_class_that_is_there_is_found(client: Client) -> None:
    client.create(resources.DEVICE_CLASSES, {"metadata": {"name": NAME}, "spec": {}})
    classes.must_be_there(client, NAME)


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ([], "it has none at all: name there"),
        ([f"site-{NAME}"], f"it has site-{NAME}: name there what the manifests make of it"),
        ([f"{n}.example.com" for n in "abcdef"], "it has a.example.com, b.example.com, "),
    ],
)
def test_one_that_is_not_is_told_with_those_that_are(
    names: list[str], wanted: str, client: Client
) -> None:
    for name in names:
        client.create(resources.DEVICE_CLASSES, {"metadata": {"name": name}, "spec": {}})
    with pytest.raises(ClusterError) as caught:
        classes.must_be_there(client, NAME)
    said = str(caught.value)
    assert said.startswith(f"the cluster has no DeviceClass {NAME}, which is the first one of ")
    assert wanted in said
    assert "f.example.com" not in said
    assert (", ...: name there" in said) == (len(names) > classes.SHOWN)


def test_a_server_that_does_not_answer_is_told(tmp_path: Path) -> None:
    away = Client(unreachable(tmp_path))
    with pytest.raises(ClusterError, match=f"DeviceClass {NAME}: .*127.0.0.1"):
        classes.must_be_there(away, NAME)
