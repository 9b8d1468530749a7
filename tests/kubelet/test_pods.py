"""Pods of the kubelet stand-in: what is called for them when, and what is told of them."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from pytest_dra.kubelet import Kubelet
from pytest_dra.waiting import Deadline
from pytest_dra.wire import Method
from tests.kubelet.conftest import SMALL
from tests.kubelet.conftest import Node
from tests.kubelet.conftest import soon
from tests.kubelet.podhost import DRIVER
from tests.kubelet.podhost import Host

QUICK = dataclasses.replace(
    SMALL, housekeeping_s=0.05, resync_s=0.2, pod_retry_s=0.1, reconcile_s=0.4
)
NOTHING = "gone.example.com"
TOLD = (
    "p FailedPrepareDynamicResources: Failed to prepare dynamic resources:"
    " prepare dynamic resources: "
)

Edit = Callable[[Any], None]


class Driver:
    """Answers well, unless a call of a method is to be edited; keeps what it was called with."""

    def __init__(self, name: str) -> None:
        self.calls: list[str] = []
        self.edits: dict[str, list[Edit]] = {"Prepare": [], "Unprepare": []}
        self._name = name

    def answer(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        del context
        short = method.name.removeprefix("Node").removesuffix("Resources")
        self.calls.append(" ".join([short, *(claim.name for claim in request.claims)]))
        response = method.response()
        for claim in request.claims:
            answer = response.claims[claim.uid]
            if short == "Prepare":
                answer.devices.add(
                    pool_name="pool", device_name=claim.name, cdi_device_ids=[f"x/y={claim.name}"]
                )
        if self.edits[short]:
            self.edits[short].pop(0)(response)
        return response


@dataclasses.dataclass
class Bench:
    node: Node
    kubelet: Kubelet
    host: Host
    driver: Driver


def bench(node: Node, *, kubernetes: str = "1.37") -> Bench:
    driver = Driver(DRIVER)
    node.plugin(answer=driver.answer).start()
    kubelet = node.kubelet(
        settings=QUICK, kubernetes=kubernetes, checkpoint=node.root / "dra_manager_state"
    )
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    return Bench(node, kubelet, Host(kubelet), driver)


def failing(response: Any) -> None:
    for answer in response.claims.values():
        answer.error = "busy"


def waiting_for(gate: threading.Event) -> Edit:
    def wait(response: Any) -> None:
        del response
        gate.wait(10)

    return wait


def test_claims_are_prepared_before_a_pod_runs_and_given_back_before_its_end_is_told(
    node: Node,
) -> None:
    b = bench(node)
    pod = b.host.run("p", "c1", "c2")
    soon(lambda: b.host.phases() == ["Running"])
    assert b.driver.calls == ["Prepare c1 c2"]
    assert [kept.pods for kept in b.kubelet.claims()] == [{"uid-of-p"}] * 2
    assert b.host.shown[0].resources[0].resources[0].resource_id == "x/y=c1"
    told: list[list[str]] = []

    def look(response: Any) -> None:
        del response
        told.append(b.host.phases())

    b.driver.edits["Unprepare"] = [failing, failing, look]
    b.host.delete(pod)
    soon(lambda: b.host.removed == ["p"])
    assert told == [["Running"]]
    assert b.driver.calls == ["Prepare c1 c2", *["Unprepare c1 c2"] * 3]
    assert b.host.phases() == ["Running", "Succeeded"]
    assert b.kubelet.claims() == ()
    assert b.host.events == []


def test_a_pod_that_ends_by_itself_gives_its_claims_back_and_is_not_deleted(node: Node) -> None:
    b = bench(node)
    pod = b.host.run("p", "c")
    soon(b.host.phases)
    b.host.end(pod)
    soon(lambda: b.host.phases() == ["Running", "Succeeded"])
    assert b.driver.calls == ["Prepare c", "Unprepare c"]
    assert b.host.removed == []
    b.host.delete(b.host.pods()[0])
    soon(lambda: b.host.removed == ["p"])
    assert len(b.driver.calls) == 2


def test_the_last_pod_gives_a_shared_claim_back(node: Node) -> None:
    b = bench(node)
    first, second = b.host.run("p", "c"), b.host.run("q", "c")
    soon(lambda: b.host.phases() == ["Running", "Running"])
    b.host.delete(first)
    soon(lambda: b.host.removed == ["p"])
    assert not any(call.startswith("Unprepare") for call in b.driver.calls)
    b.host.delete(second)
    soon(lambda: b.host.removed == ["p", "q"])
    assert b.driver.calls[-1] == "Unprepare c"


def drop(response: Any) -> None:
    del response.claims["uid-of-c1"]


def add(response: Any) -> None:
    response.claims["another"].error = ""


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (drop, "NodePrepareResources skipped 1 ResourceClaims"),
        (add, "NodePrepareResources returned result for unknown claim UID another"),
        (failing, "NodePrepareResources failed for ResourceClaim c1: busy"),
    ],
)
def test_a_wrong_answer_is_told_in_an_event_and_all_claims_are_sent_again(
    node: Node, edit: Edit, text: str
) -> None:
    b = bench(node)
    b.driver.edits["Prepare"] = [edit]
    b.host.run("p", "c1", "c2")
    soon(lambda: "Running" in b.host.phases())
    assert b.driver.calls == ["Prepare c1 c2"] * 2
    assert b.host.events[0] in (TOLD + text, TOLD + text.replace("c1", "c2"))


def test_without_one_driver_of_a_pod_no_other_one_is_called_and_nothing_is_given_back(
    node: Node,
) -> None:
    b = bench(node)
    b.host.drivers["other"] = (NOTHING,)
    pod = b.host.run("p", "mine", "other")
    soon(lambda: b.host.events == [f"{TOLD}DRA driver {NOTHING} is not registered"])
    b.host.delete(pod)
    soon(lambda: b.host.removed == ["p"])
    assert b.driver.calls == []
    assert b.host.phases() == ["Pending", "Failed"]


def test_a_claim_has_to_be_allocated_and_reserved(node: Node) -> None:
    b = bench(node)
    b.host.drivers["c"] = ()
    b.host.unreserved.add("d")
    b.host.run("p", "c")
    soon(lambda: b.host.events == [f"{TOLD}ResourceClaim c: not allocated"])
    b.host.run("p2", "d")
    text = "pod p2 (uid-of-p2) is not allowed to use ResourceClaim d (uid-of-d)"
    soon(lambda: any(event.endswith(text) for event in b.host.events))


def test_another_claim_of_the_same_name_waits_for_the_one_before(node: Node) -> None:
    b = bench(node)
    first = b.host.run("q", "c")
    soon(b.host.phases)
    b.host.uids["c"] = "another"
    b.host.run("p", "c")
    soon(lambda: b.host.events)
    assert b.host.events[0].startswith(
        f"{TOLD}old ResourceClaim with same name c and different UID uid-of-c still exists"
    )
    b.host.delete(first)
    soon(lambda: len(b.driver.calls) == 3)
    assert b.driver.calls == ["Prepare c", "Unprepare c", "Prepare c"]


@pytest.mark.parametrize("kubernetes", ["1.37", "1.34"])
def test_a_pod_that_arrives_during_unprepare_waits_since_1_37(node: Node, kubernetes: str) -> None:
    b = bench(node, kubernetes=kubernetes)
    gate = threading.Event()
    node.stack.callback(gate.set)
    b.driver.edits["Unprepare"] = [waiting_for(gate)]
    first = b.host.run("q", "c")
    soon(b.host.phases)
    b.host.delete(first)
    soon(lambda: "Unprepare c" in b.driver.calls)
    b.host.run("p", "c")
    if kubernetes == "1.34":
        soon(lambda: b.host.phases().count("Running") == 2)
        assert b.driver.calls == ["Prepare c", "Unprepare c"]
        return
    soon(lambda: f"{TOLD}ResourceClaim c is being unprepared" in b.host.events)
    gate.set()
    soon(lambda: b.host.phases().count("Running") == 2)
    assert b.driver.calls == ["Prepare c", "Unprepare c", "Prepare c"]


def test_a_pod_that_is_gone_at_once_gives_its_claims_back_until_it_works(node: Node) -> None:
    b = bench(node)
    pod = b.host.run("p", "c")
    soon(b.host.phases)
    b.driver.edits["Unprepare"] = [failing, failing]
    b.host.forget(pod)
    soon(lambda: b.kubelet.claims() == ())
    assert b.driver.calls == ["Prepare c", *["Unprepare c"] * 3]
    assert b.host.phases() == ["Running"]


def test_after_a_restart_a_running_pod_needs_nothing_and_a_new_one_has_its_claim_prepared(
    node: Node,
) -> None:
    b = bench(node)
    first = b.host.run("p", "c")
    soon(b.host.phases)
    b.kubelet.restart()
    assert b.kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    second = b.host.run("q", "c")
    # The first one shows its phase again after the restart: the state says that the second runs.
    soon(lambda: second.uid in b.host.state and b.host.state[second.uid].value == "running")
    assert b.driver.calls == ["Prepare c", "Prepare c"]
    b.host.lose(first)
    soon(lambda: b.host.state[first.uid].value == "running")
    for pod in (first, second):
        b.host.delete(pod)
    soon(lambda: sorted(b.host.removed) == ["p", "q"])
    assert b.driver.calls == ["Prepare c", "Prepare c", "Unprepare c"]


def test_what_a_pod_held_that_went_while_the_kubelet_was_down_is_given_back(node: Node) -> None:
    b = bench(node)
    pod = b.host.run("p", "c")
    soon(b.host.phases)
    b.kubelet.stop()
    b.host.forget(pod)
    b.kubelet.start()
    soon(lambda: b.kubelet.claims() == ())
    assert b.driver.calls[-1] == "Unprepare c"


@pytest.mark.parametrize("way", ["restart", "reboot"])
def test_a_call_that_a_stop_has_cut_is_made_again(node: Node, way: str) -> None:
    b = bench(node)
    gate = threading.Event()
    node.stack.callback(gate.set)
    b.driver.edits["Prepare"] = [waiting_for(gate)]
    b.host.run("p", "c")
    soon(lambda: b.driver.calls)
    getattr(b.kubelet, "stop" if way == "restart" else way)()
    assert b.host.events == []
    b.kubelet.start()
    soon(lambda: "Running" in b.host.phases())
    assert b.driver.calls == ["Prepare c", "Prepare c"]


def test_a_kubelet_that_has_no_pods_any_more_keeps_their_claims(node: Node) -> None:
    b = bench(node)
    b.host.run("p", "c")
    soon(b.host.phases)
    b.kubelet.leave()
    assert b.kubelet.pods is None
    assert [kept.claim.name for kept in b.kubelet.claims()] == ["c"]
    assert b.kubelet.prepare(DRIVER, []).ok
