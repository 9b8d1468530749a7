"""Expressions about named inputs instead of a device."""

from __future__ import annotations

import pytest

from pytest_dra.cel import types
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import CompileError
from pytest_dra.cel.inputs import Inputs
from pytest_dra.cel.inputs import compiled
from pytest_dra.cel.inputs import naming
from pytest_dra.cel.inputs import value_of

NAMES = {"object": types.DYN, "variables.node": types.STRING}
ENV = naming(37, NAMES, stored=True)


def _value(expression: str, asked: list[str] | None = None) -> object:
    found = {
        "object": value_of({"spec": {"n": 2**63, "xs": [1, 2]}}),
        "variables.node": "a",
    }

    def find(name: str) -> object:
        if asked is not None:
            asked.append(name)
        return found[name]

    outcome = compiled(expression, ENV).evaluate(Inputs(find))
    return outcome.error or outcome.value


def test_inputs_are_read_by_name() -> None:
    assert _value("object.spec.xs[1] == 2 && variables.node == 'a'") is True
    assert _value("object.spec.xs.exists(x, x == 2 && variables.node == 'a')") is True


def test_numbers_beyond_64_bits_are_doubles() -> None:
    assert _value("object.spec.n == 9223372036854775808.0") is True


def test_an_input_is_worked_out_once_and_only_when_needed() -> None:
    asked: list[str] = []
    assert _value("true || object == null", asked) is True
    assert asked == []
    assert _value("variables.node + variables.node", asked) == "aa"
    assert asked == ["variables.node"]


def test_a_missing_member_is_an_error() -> None:
    found = _value("object.spec.nothing")
    assert isinstance(found, CelError)
    assert found.kind == "no-such-key"


@pytest.mark.parametrize("expression", ["device.driver", "variables.other", "variables.node + 1"])
def test_what_is_not_declared_or_does_not_fit_is_refused(expression: str) -> None:
    with pytest.raises(CompileError):
        compiled(expression, ENV)


def test_the_type_of_the_result_is_checked() -> None:
    with pytest.raises(CompileError, match="must evaluate to bool"):
        compiled("variables.node", ENV, types.BOOL)
    assert compiled("object.spec", ENV, types.BOOL, types.DYN).output == types.DYN
