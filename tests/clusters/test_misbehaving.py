"""What Kubernetes' own Python client sees of each misbehaviour, on the embedded server and a real
one (where its programs are on the machine)."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from typing import Protocol

import pytest
import urllib3
from kubernetes import client as kube
from kubernetes import watch
from kubernetes.config import new_client_from_config

from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.clusters.protocol import Cluster
from pytest_dra.clusters.protocol import Trouble
from pytest_dra.embedded.trouble import Scope
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

Api = Any
"""The client's own types say of each field that it may be missing."""

TIMEOUT_S = 20.0
SLICES = "resourceslices"
TAINT = {"key": "gpu.example.com/broken", "effect": "NoSchedule"}
GATE = "DRADeviceTaints"


class Server(Cluster, Protocol):
    """A cluster that can be reached by name."""

    def admin_kubeconfig(self) -> Path:
        """With all rights."""


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """The embedded server."""
    made = EmbeddedCluster(
        tmp_path_factory.mktemp("embedded"), kubernetes="1.37", timeline=Timeline()
    )
    made.start()
    yield made
    made.stop()


@pytest.fixture(params=["embedded", "cluster"])
def server(request: pytest.FixtureRequest) -> Server:
    """The embedded one, or the real one of this folder's tests."""
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def trouble(server: Server) -> Trouble:
    found = server.trouble()
    assert found is not None
    return found


@pytest.fixture
def api(server: Server) -> Iterator[Api]:
    """The client, and no slices before and after."""
    made: Api = kube.ResourceV1Api(connected(server))
    yield made
    made.delete_collection_resource_slice(_request_timeout=TIMEOUT_S)
    made.api_client.close()


def connected(server: Server) -> kube.ApiClient:
    connect: Any = new_client_from_config
    found: kube.ApiClient = connect(str(server.admin_kubeconfig()))
    return found


def slice_(name: str, **device: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-a",
            "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0", **device}],
        },
    }


def create(api: Api, name: str, **device: Any) -> Any:
    return api.create_resource_slice(slice_(name, **device), _request_timeout=TIMEOUT_S)


def names(api: Api, **query: str) -> list[str]:
    found = api.list_resource_slice(_request_timeout=TIMEOUT_S, **query)
    return [each.metadata.name for each in found.items]


def events(api: Api, version: str, seconds: int = 2) -> Iterator[tuple[str, str]]:
    """A watch without the client's own second attempts."""
    watcher: Any = watch.Watch
    seen = watcher().stream(
        api.list_resource_slice,
        resource_version=version,
        timeout_seconds=seconds,
        _request_timeout=TIMEOUT_S,
    )
    for each in seen:
        yield each["type"], each["object"].metadata.name


def on(*verbs: str) -> Scope:
    return Scope(verbs=verbs, resource=SLICES)


@pytest.mark.parametrize("code", [403, 409, 410, 429, 500, 503, 504])
def test_a_refusal_is_an_exception_with_its_code(api: Api, trouble: Trouble, code: int) -> None:
    with trouble.refuse(on("create"), code) as caused:
        with pytest.raises(kube.ApiException) as caught:
            create(api, "refused")
    assert (caught.value.status, caused.requests) == (code, 1)
    assert names(api) == []


def test_retry_after_is_obeyed(api: Api, trouble: Trouble) -> None:
    create(api, "s")
    with trouble.refuse(on("get"), 429, retry_after_s=1, times=1) as caused:
        began = time.monotonic()
        assert api.read_resource_slice("s", _request_timeout=TIMEOUT_S).metadata.name == "s"
    assert caused.requests == 1
    assert time.monotonic() - began >= 1


def test_one_verb_alone_is_unavailable(api: Api, trouble: Trouble) -> None:
    with trouble.refuse(on("list"), 503):
        create(api, "s")
        with pytest.raises(kube.ApiException):
            names(api)
    assert names(api) == ["s"]


def test_a_slow_answer_is_given_up_by_an_impatient_client(api: Api, trouble: Trouble) -> None:
    with trouble.delay_answers(on("create"), 0.5):
        with pytest.raises(urllib3.exceptions.HTTPError):
            api.create_resource_slice(slice_("slow"), _request_timeout=0.2)
        assert poll(lambda: names(api) == ["slow"], Deadline.after(TIMEOUT_S))
        create(api, "patient")


def test_who_timed_out_finds_that_it_was_done(api: Api, trouble: Trouble) -> None:
    with trouble.time_out(on("create"), times=1):
        with pytest.raises(kube.ApiException) as caught:
            create(api, "s")
    assert caught.value.status == 504
    with pytest.raises(kube.ApiException) as caught:
        create(api, "s")
    assert caught.value.status == 409


def test_a_lost_answer_is_a_broken_connection(api: Api, trouble: Trouble) -> None:
    with trouble.lose_answers(on("create")):
        with pytest.raises(urllib3.exceptions.HTTPError):
            create(api, "s")
    assert names(api) == ["s"]


def test_a_dropped_watch_breaks_and_one_that_ends_in_order_does_not(
    api: Api, trouble: Trouble
) -> None:
    create(api, "s")
    open_watches: list[Callable[[], int]] = [
        lambda: trouble.drop_watches(on()),
        lambda: trouble.drop_watches(on(), in_order=True),
    ]
    ended = []
    for drop in open_watches:
        link = api.list_resource_slice(
            watch=True, resource_version="0", _preload_content=False, _request_timeout=TIMEOUT_S
        )
        assert b'"ADDED"' in link.readline()
        assert drop() == 1
        try:
            ended.append(link.read())
        except urllib3.exceptions.HTTPError:
            ended.append("broken")
    assert ended == ["broken", b""]


def test_a_stalled_watch_says_later_what_it_kept_back(api: Api, trouble: Trouble) -> None:
    version = api.list_resource_slice().metadata.resource_version
    with ThreadPoolExecutor(1) as pool:
        with trouble.stall_watches(on()) as caused:
            watching = pool.submit(next, events(api, version, seconds=10))
            assert poll(lambda: caused.requests > 0, Deadline.after(TIMEOUT_S))
            create(api, "s")
            # told at once where nothing holds it back
            assert names(api) == ["s"]
            time_is_up = Deadline.after(0.3)
            assert not poll(watching.done, time_is_up)
        assert watching.result(timeout=TIMEOUT_S) == ("ADDED", "s")


def test_stale_lists_show_what_was_there_before(api: Api, trouble: Trouble) -> None:
    create(api, "old")
    with trouble.stale_lists(on()) as caused:
        api.delete_resource_slice("old", _request_timeout=TIMEOUT_S)
        create(api, "new")
        assert names(api, resource_version="0") == ["old"]
        assert names(api) == ["new"]
    assert caused.requests == 2
    assert poll(lambda: names(api, resource_version="0") == ["new"], Deadline.after(TIMEOUT_S))


def test_a_forgotten_history_sends_a_watcher_back_to_listing(api: Api, trouble: Trouble) -> None:
    version = create(api, "s").metadata.resource_version
    assert api.list_resource_slice().metadata.resource_version
    trouble.forget_history(SLICES)
    with pytest.raises(kube.ApiException) as caught:
        list(events(api, version))
    assert caught.value.status == 410
    later = api.list_resource_slice().metadata.resource_version
    create(api, "t")
    assert next(events(api, later)) == ("ADDED", "t")


def test_a_short_history_is_what_only_the_embedded_server_has(
    api: Api, trouble: Trouble, server: Server
) -> None:
    versions = [create(api, f"s{each}").metadata.resource_version for each in range(3)]
    if server.provider != "embedded":
        with pytest.raises(UnsupportedEnvironment), trouble.short_history(1):
            pass
        return
    with trouble.short_history(1):
        assert next(events(api, versions[1])) == ("ADDED", "s2")
        with pytest.raises(kube.ApiException) as caught:
            list(events(api, versions[0]))
    assert caught.value.status == 410


def test_a_gate_is_turned_while_it_runs(api: Api, trouble: Trouble) -> None:
    with trouble.gates({GATE: False}):
        assert create(api, "without", taints=[TAINT]).spec.devices[0].taints is None
    assert create(api, "with", taints=[TAINT]).spec.devices[0].taints[0].key == TAINT["key"]


def test_only_the_wanted_version_is_served(api: Api, trouble: Trouble, server: Server) -> None:
    create(api, "s")
    older: Any = kube.ResourceV1beta1Api(connected(server))
    with trouble.serving("v1", "v1beta1"):
        assert older.list_resource_slice().items[0].spec.devices[0].basic is not None
    with pytest.raises(kube.ApiException) as caught:
        older.list_resource_slice()
    assert caught.value.status == 404
    older.api_client.close()


@pytest.mark.parametrize("restarts", [False, True])
def test_objects_are_there_after_a_restart(api: Api, trouble: Trouble, *, restarts: bool) -> None:
    made = create(api, "s")
    with trouble.unreachable(restarts=restarts):
        with pytest.raises(urllib3.exceptions.HTTPError):
            names(api)
    assert api.read_resource_slice("s").metadata.uid == made.metadata.uid
    create(api, "t")


def test_without_its_data_a_server_comes_back_empty(api: Api, trouble: Trouble) -> None:
    create(api, "s")
    with trouble.unreachable(loses_objects=True):
        pass
    assert names(api) == []
    create(api, "s")
