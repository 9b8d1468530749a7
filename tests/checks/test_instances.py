"""Judgements of two instances of a driver on one node."""

from __future__ import annotations

import pytest

from pytest_dra.checks import instances
from pytest_dra.spec import Json
from tests.checks.raising import Judgement
from tests.checks.raising import Said
from tests.checks.raising import said


def published(name: str, *, uid: str = "u1", generation: int = 1) -> Json:
    """A published slice."""
    spec = {"pool": {"name": "node-a", "generation": generation}}
    return {"metadata": {"name": name, "uid": uid}, "spec": spec}


BEFORE = instances.kept_of([published("a"), published("b")])
STAYS = "the same object, of the same generation"


def after(*slices: Json) -> Judgement:
    """The judgement of these slices."""
    now = instances.kept_of(slices)
    return lambda: instances.slices_must_stay(BEFORE, now, during="restart 2")


@pytest.mark.parametrize(
    "judgement",
    [
        pytest.param(after(published("b"), published("a")), id="as-before"),
        pytest.param(after(published("a"), published("b"), published("c")), id="one-more"),
        pytest.param(
            lambda: instances.sockets_must_be_untouched({"/r/a": 7}, {"/r/a": 7}, during="it"),
            id="sockets",
        ),
        pytest.param(
            lambda: instances.sockets_must_be_apart(["/r/a", "/p/a"], ["/r/b", "/p/b"]), id="apart"
        ),
    ],
)
def test_what_stays_is_good(judgement: Judgement) -> None:
    assert said(judgement) is None


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        pytest.param(
            after(published("a")),
            Said("ResourceSlice b after restart 2", "deleted", STAYS),
            id="deleted",
        ),
        pytest.param(
            after(published("a"), published("b", uid="u2")),
            Said("ResourceSlice b after restart 2", "deleted and created again", STAYS),
            id="created-again",
        ),
        pytest.param(
            after(published("a", generation=2), published("b")),
            Said("ResourceSlice a after restart 2", "generation 2 instead of 1", STAYS),
            id="generation",
        ),
        pytest.param(
            lambda: instances.sockets_must_be_untouched({"/r/a": 7}, {"/r/a": 8}, during="it"),
            Said("socket /r/a of the running instance after it", "another socket", "left alone"),
            id="replaced",
        ),
        pytest.param(
            lambda: instances.sockets_must_be_untouched({"/r/a": 7}, {"/r/a": 0}, during="it"),
            Said("socket /r/a of the running instance after it", "no file", "left alone"),
            id="removed",
        ),
        pytest.param(
            lambda: instances.sockets_must_be_apart(["/r/a", "/p/a"], ["/r/b", "/p/a"]),
            Said(
                "sockets of an instance with another pod uid",
                "/p/a, which is the running instance's",
                "a registration socket and an endpoint of its own",
            ),
            id="shared",
        ),
    ],
)
def test_what_does_not_stay_is_told(judgement: Judgement, expected: Said) -> None:
    assert said(judgement) == expected
