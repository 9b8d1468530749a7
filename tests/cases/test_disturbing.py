"""Each case whose body disturbs others who use a cluster is marked so, by what the body calls."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from collections.abc import Iterator

import pytest

from pytest_dra.cases import declared
from pytest_dra.cases import live_cases

DISTURBING = frozenset(
    {
        *("anew", "last"),
        *("absence", "away", "without_plugin", "without_rights", "restart", "restart_kubelet"),
        *("sweep", "previous", "Successor", "failing", "foreign"),
        "fault",
    }
)
"""What restarts drivers and kubelets, takes rights or slices away, makes devices faulty or acts in
the driver's name: methods of the bench of a whole cluster and of its parts."""


def uses(function: Callable[..., object]) -> Iterator[str]:
    """The names that a function uses."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id


@pytest.mark.parametrize("id", sorted(live_cases()))
def test_a_body_that_disturbs_is_marked_so(id: str) -> None:
    found = declared(id, live=True)
    if DISTURBING & set(uses(found.body)):
        assert found.disturbs


def test_what_is_looked_for_is_what_bodies_use() -> None:
    every = {name for id in live_cases() for name in uses(declared(id, live=True).body)}
    unused = {"away", "restart"}
    assert DISTURBING - every == unused
