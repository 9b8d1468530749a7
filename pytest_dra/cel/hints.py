"""What to write instead, where users of Kubernetes stumble."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from typing import Final

from pytest_dra.cel import types
from pytest_dra.cel.tree import Call
from pytest_dra.cel.types import CelType

if TYPE_CHECKING:
    from pytest_dra.cel.environments import Environment

_SHOWN: Final = {"_?_:_": "?:", "@in": "in", "!_": "!", "-_": "-", "_[_]": "[]", "_[?_]": "[?]"}
_ORDERING: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_COMPARE: Final = {"_<_": "< 0", "_<=_": "<= 0", "_>_": "> 0", "_>=_": ">= 0"}
_ABSENT: Final = {
    "node": "a selector sees only the device", "claim": "a selector sees only the device",
    "pod": "a selector sees only the device", "object": "a selector sees only the device",
    "self": "the variable is called device", "request": "a selector sees only the device",
}  # fmt: skip
_ATTRIBUTE: Final = (
    'attributes are read as device.attributes["<domain>"].<name>, capacities as '
    'device.capacity["<domain>"].<name>'
)


def shown_operator(function: str) -> str:
    """A function as users write it."""
    if function in _SHOWN:
        return _SHOWN[function]
    return function.strip("_") if function.startswith("_") else function


def undeclared_name(name: str) -> str:
    """For a name that stands for nothing."""
    if name in _ABSENT:
        return _ABSENT[name]
    if name in ("attributes", "capacity", "driver", "allowMultipleAllocations"):
        return f"write device.{name}"
    if "." in name or name in ("timestamp", "duration"):
        return ""
    return _ATTRIBUTE


def _close(name: str, names: Iterable[str]) -> list[str]:
    # imported when first needed: most expressions have no such problem
    import difflib

    return difflib.get_close_matches(name, list(names), n=1)


def undefined_field(kind: CelType, field: str, fields: Iterable[str]) -> str:
    """For a field that the device does not have."""
    if kind != types.DEVICE:
        return ""
    close = _close(field, fields)
    if close:
        return f"did you mean device.{close[0]}?"
    return _ATTRIBUTE


def no_fields(kind: CelType) -> str:
    """For a field of something without fields."""
    if kind == types.STRING:
        return "a string has functions, such as size() or contains(), but no fields"
    return ""


def not_iterable(kind: CelType) -> str:
    """For a comprehension over something else than a list or map."""
    if kind.kind == "any":
        return "attribute values can be lists from Kubernetes 1.36 on, with ListTypeAttributes"
    return ""


def undeclared_function(node: Call, env: Environment) -> str:
    """For a function that does not exist here."""
    name = node.function
    if name == "sign" and node.target is not None:
        return "write sign(quantity)"
    if name == "includes":
        return "includes() needs Kubernetes 1.36, with ListTypeAttributes for new selectors"
    counts = sorted({count for macro, count in env.macros if macro == name})
    if counts:
        return f"the macro {name} takes {' or '.join(map(str, counts))} arguments"
    close = _close(name, env.functions)
    return f"did you mean {close[0]}()?" if close else ""


def no_overload(function: str, kinds: list[CelType]) -> str:
    """For arguments that do not fit."""
    if not kinds:
        return ""
    opaque = kinds[0] if kinds[0] in (types.QUANTITY, types.SEMVER) else kinds[-1]
    if opaque in (types.QUANTITY, types.SEMVER):
        return _opaque(function, opaque, kinds)
    if function in ("_==_", "_!=_"):
        return "the types differ: convert one side, or wrap it in dyn()"
    if function in ("_+_", "_-_", "_*_", "_/_", "_%_"):
        return "there is no mixed arithmetic: convert with int(), double() or string()"
    return ""


def _opaque(function: str, opaque: CelType, kinds: list[CelType]) -> str:
    make = "quantity" if opaque == types.QUANTITY else "semver"
    both = all(kind == opaque for kind in kinds)
    if function in _ORDERING:
        other = "y" if both else f'{make}("...")'
        return f"write x.compareTo({other}) {_COMPARE[function]}"
    if function in ("_==_", "_!=_"):
        return f'compare with {make}("...")'
    if opaque == types.QUANTITY and function in ("_+_", "_-_"):
        return f"write x.{'add' if function == '_+_' else 'sub'}(y)"
    if not both:
        return f'the argument must be a {make}: {make}("...")'
    return ""


def missing_key(text: str) -> str:
    """For a key that the device does not have at run time."""
    return (
        f"{text}; where devices may lack it, use optional chaining, as in "
        'device.attributes["<domain>"].?<name>.orValue(<default>), or has(...) first'
    )
