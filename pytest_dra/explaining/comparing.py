"""What a selector found on a device instead of what it wants, in a few words."""

from __future__ import annotations

import functools
from typing import Final

from pytest_dra.allocator.layouts import Layout
from pytest_dra.allocator.layouts import cel_features
from pytest_dra.allocator.rules import Rules
from pytest_dra.cel import Selector
from pytest_dra.cel import environment
from pytest_dra.cel.deciding import Deciding
from pytest_dra.cel.deciding import span
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.prepared import Prepared
from pytest_dra.cel.tree import Call
from pytest_dra.cel.tree import Const
from pytest_dra.cel.tree import Node
from pytest_dra.cel.tree import Select

_OPPOSITE: Final = {
    "_==_": "!=", "_!=_": "==", "_<_": ">=", "_<=_": ">", "_>_": "<=", "_>=_": "<",
}  # fmt: skip
"""What holds of two values if an operator says no."""

_METHODS: Final = {"isGreaterThan": "<=", "isLessThan": ">="}
_LENGTH_MAX: Final = 120
"""Characters of a condition that are told."""

_PROGRAMS_MAX: Final = 64


@functools.lru_cache(maxsize=_PROGRAMS_MAX)
def _deciding(expression: str, minor: int, features: frozenset[str]) -> Deciding:
    return Deciding(Selector(expression, environment(minor, features=features)).program)


def found_instead(expression: str, layout: Layout, place: int, rules: Rules) -> str:
    """Why a selector that compiles says no to a device: ``memory 40Gi < 80Gi``."""
    device = layout.prepared[place]
    if device.fault:
        return ""
    deciding = _deciding(expression, rules.minor, cel_features(rules))
    node = deciding.node(device)
    told = _comparison(expression, node, device, deciding)
    if not told:
        told = span(expression, node)
    return told if len(told) <= _LENGTH_MAX else f"{told[: _LENGTH_MAX - 3]}..."


def _comparison(expression: str, node: Node, device: Prepared, deciding: Deciding) -> str:
    if not isinstance(node, Call):
        return ""
    left: Node
    if node.function in _METHODS and node.target is not None:
        left, right, sign = node.target, node.args[0], _METHODS[node.function]
    elif node.function in _OPPOSITE:
        left, right, sign = node.args[0], node.args[1], _OPPOSITE[node.function]
        if isinstance(left, Call) and left.function == "compareTo" and _is_zero(right):
            target, compared = left.target, left.args[0]
            if target is None:
                return ""
            left, right = target, compared
    else:
        return ""
    values = [_shown(deciding.value(one, device)) for one in (left, right)]
    if not all(values):
        return ""
    name = _name(left)
    if isinstance(left, Const) or not name:
        name = span(expression, left)
    return f"{name} {values[0]} {sign} {values[1]}"


def _is_zero(node: Node) -> bool:
    return isinstance(node, Const) and node.value == 0


def _name(node: Node) -> str:
    """The id of an attribute or capacity."""
    if isinstance(node, Select):
        return node.field
    if isinstance(node, Call) and node.function == "_[_]" and isinstance(node.args[1], Const):
        return str(node.args[1].value)
    return ""


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"{value}"
    if isinstance(value, str):
        return value or '""'
    if isinstance(value, CelError):
        return ""
    # Quantities and versions say themselves what they are; maps and lists would be too much.
    return str(value) if hasattr(value, "type_name") else ""
