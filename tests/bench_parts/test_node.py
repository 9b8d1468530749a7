"""The node round a driver: its object, what a reboot takes, and when there can be none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from pytest_dra.api.resources import NODES
from pytest_dra.bench.node import Node
from pytest_dra.clusters.protocol import Cluster
from pytest_dra.kube import Client
from pytest_dra.launch import Jail
from pytest_dra.launch import Keeper
from pytest_dra.launch import NodeDirectories
from pytest_dra.launch.jail import BOOT_ID
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from tests.bench_parts.stub import StubClient


class OneClient:
    """A cluster for which everybody is the same client."""

    def __init__(self) -> None:
        self.client = StubClient()

    def admin(self) -> Client:
        return self.client

    def node(self) -> Json:
        return self.client.objects[(NODES.plural, None, "node-a")]


@pytest.fixture(scope="module")
def keeper() -> Iterator[Keeper]:
    with Keeper() as made:
        yield made


@pytest.fixture
def cluster() -> OneClient:
    return OneClient()


def node(cluster: OneClient, keeper: Keeper, **given: object) -> Node:
    options = {"jailed": False, "writable": (), "reads_boot_id": True, **given}
    return Node(
        "node-a",
        cluster=cast(Cluster, cluster),
        directories=NodeDirectories.make(keeper, base=Path("/tmp")),
        jailed=bool(options["jailed"]),
        writable=cast("tuple[str, ...]", options["writable"]),
        reads_boot_id=bool(options["reads_boot_id"]),
    )


def boot_id(cluster: OneClient) -> str:
    found: str = cluster.node()["status"]["nodeInfo"]["bootID"]
    return found


def test_the_node_object_has_the_boot_id_that_the_driver_can_read(
    cluster: OneClient, keeper: Keeper
) -> None:
    node(cluster, keeper).make()
    assert boot_id(cluster) == Path(BOOT_ID).read_text("ascii").strip()


def test_the_node_object_of_a_jailed_driver_has_the_boot_id_of_the_jail(
    cluster: OneClient, keeper: Keeper
) -> None:
    made = node(cluster, keeper, jailed=True)
    made.make()
    assert isinstance(made.lodging, Jail)
    assert boot_id(cluster) == made.lodging.boot_id


@pytest.mark.parametrize("jailed", [False, True])
def test_a_reboot_changes_the_boot_id_of_the_object_that_is_there(
    cluster: OneClient, keeper: Keeper, *, jailed: bool
) -> None:
    made = node(cluster, keeper, jailed=jailed)
    made.make()
    before = boot_id(cluster)
    made.reboot()
    made.make()
    assert boot_id(cluster) != before
    assert made.lodging is None or isinstance(made.lodging, Jail)
    assert made.lodging is None or boot_id(cluster) == made.lodging.boot_id


def test_a_reboot_takes_what_lies_in_memory_and_leaves_what_lies_on_the_disk(
    cluster: OneClient, keeper: Keeper
) -> None:
    made = node(cluster, keeper, jailed=True, writable=("/run/driver", "/var/lib/driver"))
    places = made.directories
    lost = [places.cdi_dir, places.registry_dir, made.outside("/run/driver")]
    kept = [places.static_cdi_dir, places.plugins_dir, made.outside("/var/lib/driver")]
    for directory in (*lost, *kept):
        (directory / "file").touch()
    made.reboot()
    assert [path for path in lost if list(path.iterdir())] == []
    assert [path for path in kept if not list(path.iterdir())] == []
    made.wipe()
    assert [path for path in kept if list(path.iterdir())] == []


def test_without_a_jail_a_reboot_is_for_drivers_that_do_not_look_at_the_boot_id(
    cluster: OneClient, keeper: Keeper
) -> None:
    with pytest.raises(UnsupportedEnvironment, match="would not believe the reboot") as caught:
        node(cluster, keeper).must_reboot_truly()
    assert "--dra-jail" in caught.value.way_out
    assert "driver.reads_boot_id: false" in caught.value.way_out
    node(cluster, keeper, reads_boot_id=False).must_reboot_truly()
    node(cluster, keeper, jailed=True).must_reboot_truly()


def test_a_path_of_the_driver_lies_where_the_jail_puts_it(
    cluster: OneClient, keeper: Keeper
) -> None:
    free, jailed = node(cluster, keeper), node(cluster, keeper, jailed=True)
    socket = "/var/lib/kubelet/plugins/a/dra.sock"
    assert free.outside(socket) == Path(socket)
    assert jailed.outside(socket) == jailed.directories.plugins_dir / "a/dra.sock"
