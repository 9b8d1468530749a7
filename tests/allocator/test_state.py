"""What is in use, and what that leaves."""

from __future__ import annotations

from pytest_dra.allocator import Attempt
from pytest_dra.allocator import Index
from pytest_dra.allocator import State
from pytest_dra.allocator import rules
from tests.allocator.objects import CLASSES
from tests.allocator.objects import NODE
from tests.allocator.objects import Json
from tests.allocator.objects import attempt
from tests.allocator.objects import claim
from tests.allocator.objects import device
from tests.allocator.objects import picked
from tests.allocator.objects import pool
from tests.allocator.objects import request

SHAREABLE: Json = {
    "allowMultipleAllocations": True,
    "capacity": {"mem": {"value": "4", "requestPolicy": {"default": "2"}}},
}


def test_devices_are_taken_one_after_the_other_and_given_back() -> None:
    slices = [pool("p", [device("a"), device("b")])]
    state = State(rules())
    held = []
    for want in ("a", "b"):
        answer = attempt(slices, claim(request("r")), state=state).on(NODE)
        assert picked(answer.results) == [want]
        held.append(answer.results[0])
        state.add(held[-1])
    assert attempt(slices, claim(request("r")), state=state).on(NODE).verdict == "nofit"
    state.remove(held[0])
    answer = attempt(slices, claim(request("r")), state=state).on(NODE)
    assert picked(answer.results) == ["a"]


def test_one_index_serves_while_the_state_changes() -> None:
    current = rules()
    index, state = Index([pool("p", [device("a"), device("b")])], current), State(current)
    first = Attempt(index, state, CLASSES, [claim(request("r"))]).on(NODE).results[0]
    state.add(first)
    answer = Attempt(index, state, CLASSES, [claim(request("r"))]).on(NODE)
    assert picked(answer.results) == ["b"]
    state.remove(first)
    answer = Attempt(index, state, CLASSES, [claim(request("r"))]).on(NODE)
    assert picked(answer.results) == ["a"]


def test_shares_add_up_and_come_back() -> None:
    slices = [pool("p", [device("a", **SHAREABLE)])]
    state = State(rules())
    held = []
    for _ in range(2):
        answer = attempt(slices, claim(request("r")), state=state).on(NODE)
        (result,) = answer.results[0]["devices"]["results"]
        assert result["consumedCapacity"] == {"mem": "2"}
        held.append(answer.results[0])
        state.add(held[-1])
    shares = {one["devices"]["results"][0]["shareID"] for one in held}
    assert len(shares) == 2
    assert attempt(slices, claim(request("r")), state=state).on(NODE).verdict == "nofit"
    state.remove(held[0])
    assert attempt(slices, claim(request("r")), state=state).on(NODE).verdict == "fits"


def test_admin_access_holds_nothing() -> None:
    slices = [pool("p", [device("a")])]
    state = State(rules())
    answer = attempt(slices, claim(request("r", adminAccess=True)), state=state).on(NODE)
    state.add(answer.results[0])
    assert attempt(slices, claim(request("r")), state=state).on(NODE).verdict == "fits"
