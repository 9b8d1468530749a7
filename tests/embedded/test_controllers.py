"""What controllers do soon after a write."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator

import pytest

from pytest_dra.embedded import ApiServer
from pytest_dra.embedded import User
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.embedded.client import Client

MAPS = "/api/v1/namespaces/default/configmaps"
WITHIN_S = 10.0


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """A server with controllers."""
    made = ApiServer(
        timeline=Timeline(),
        tokens={"admin-token": User("admin", ("system:masters",))},
        controllers=True,
    )
    made.start()
    yield made
    made.stop()


def soon(is_so: Callable[[], bool]) -> bool:
    return bool(poll(is_so, Deadline.after(WITHIN_S), every_s=0.02))


def gone(client: Client, name: str) -> bool:
    return client.get(f"{MAPS}/{name}").code == 404


def family(client: Client, **more: list[str]) -> None:
    """An owner, and a dependent that blocks its deletion."""
    uid = client.post(MAPS, {"metadata": {"name": "owner"}}).json["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    owner["blockOwnerDeletion"] = True
    client.post(MAPS, {"metadata": {"name": "child", "ownerReferences": [owner], **more}})


def test_a_foreground_deletion_takes_the_dependents_first(client: Client) -> None:
    family(client)
    answer = client.delete(f"{MAPS}/owner", propagationPolicy="Foreground")
    assert answer.json["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert soon(lambda: gone(client, "owner"))
    assert gone(client, "child")


def test_a_dependent_that_is_held_holds_its_owner(client: Client) -> None:
    family(client, finalizers=["example.com/hold"])
    client.delete(f"{MAPS}/owner", propagationPolicy="Foreground")
    child = f"{MAPS}/child"
    assert soon(lambda: "deletionTimestamp" in client.get(child).json["metadata"])
    assert not gone(client, "owner")
    client.patch(child, {"metadata": {"finalizers": None}})
    assert soon(lambda: gone(client, "owner"))


def test_orphans_stay_without_their_owner(client: Client) -> None:
    family(client)
    client.delete(f"{MAPS}/owner", propagationPolicy="Orphan")
    assert soon(lambda: gone(client, "owner"))
    assert "ownerReferences" not in client.get(f"{MAPS}/child").json["metadata"]


def test_a_new_namespace_gets_its_account(client: Client) -> None:
    client.post("/api/v1/namespaces", {"metadata": {"name": "new"}})
    account = "/api/v1/namespaces/new/serviceaccounts/default"
    assert soon(lambda: client.get(account).code == 200)
