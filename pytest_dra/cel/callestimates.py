"""Estimated costs of calls, from the sizes of their arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final
from typing import Protocol

from pytest_dra.cel import types
from pytest_dra.cel.sizes import AUTHORIZATION
from pytest_dra.cel.sizes import CHECK_COST
from pytest_dra.cel.sizes import LIST_COST
from pytest_dra.cel.sizes import MAX
from pytest_dra.cel.sizes import ONE
from pytest_dra.cel.sizes import REGEX_FACTOR
from pytest_dra.cel.sizes import STRING_FACTOR
from pytest_dra.cel.sizes import Range
from pytest_dra.cel.sizes import fixed
from pytest_dra.cel.sizes import selector_cost
from pytest_dra.cel.tree import Const
from pytest_dra.cel.tree import Node
from pytest_dra.cel.types import CelType

_FORMAT_SIZE_MAX: Final = 64
_FORMAT_REGEX_MAX: Final = 128
"""Pattern length by which every use of a named format is estimated."""

_INCLUDES_MAX: Final = 48
"""Values of a list attribute; the estimate of includes() in 1.36."""

Estimate = tuple[Range, "Range | None"]
"""Cost of a call without its arguments, and the size of its result where that is known."""


class Argument(Protocol):
    """What is known of an argument."""

    node: Node
    kind: CelType

    def size(self) -> Range:
        """Its size; unknown ones reach to the maximum."""

    def element_size(self) -> Range:
        """Size of its elements, by what the environment says of them."""

    def computed(self) -> Range | None:
        """Its size as far as the expression itself tells."""


Arguments = list[Argument]

Estimator = Callable[["Argument | None", Arguments], "Estimate | None"]


def _chars(argument: Argument, factor: float = STRING_FACTOR) -> Range:
    return argument.size().scaled(factor)


def _parsing(_target: Argument | None, args: Arguments) -> Estimate | None:
    return (_chars(args[0]), None) if args else None


def _unit(_target: Argument | None, _args: Arguments) -> Estimate | None:
    return ONE, None


def _transformed(target: Argument | None, _args: Arguments) -> Estimate | None:
    return None if target is None else (_chars(target), target.size())


def _url(_target: Argument | None, args: Arguments) -> Estimate | None:
    return (_chars(args[0]), args[0].size()) if len(args) == 1 else None


def _traversal(target: Argument | None, _args: Arguments) -> Estimate | None:
    if target is None:
        return None
    if not target.kind.params:
        return _chars(target), None
    element = ONE
    if target.kind.params[0].kind in ("string", "bytes"):
        element = element.plus(target.element_size().scaled(STRING_FACTOR))
    return target.size().times(element), None


def _includes(target: Argument | None, args: Arguments) -> Estimate | None:
    if target is None or target.kind.params:
        return _traversal(target, args)
    return target.size().times(ONE), None


def _includes_136(_target: Argument | None, _args: Arguments) -> Estimate | None:
    return Range(0, _INCLUDES_MAX), None


def _replace(target: Argument | None, args: Arguments) -> Estimate | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = target.size(), args[0].size(), args[1].size()
    most, kept_most = 0, 0
    if old.low == 0:
        most, kept_most = min(size.high + 1, MAX), size.high
    elif new.high <= old.low:
        kept_most = size.high
    else:
        most = math.ceil(float(size.high) / float(old.low))
    least, kept_least = 0, 0
    if old.high == 0:
        least, kept_least = min(size.low + 1, MAX), size.low
    elif old.high <= new.low:
        kept_least = size.low
    else:
        least = math.ceil(float(size.low) / float(old.high))
    result = Range(least, min(most, MAX)).times(new).plus(Range(kept_least, kept_most))
    return _chars(target, 2 * STRING_FACTOR), result


def _split(target: Argument | None, args: Arguments) -> Estimate | None:
    if target is None:
        return None
    most = target.size().high
    if len(args) > 1:
        node = args[1].node
        if isinstance(node, Const) and node.value.__class__ is int:
            most = int(node.value) % (MAX + 1)
    return _chars(target, 2 * STRING_FACTOR), Range(0, most)


def _join(target: Argument | None, args: Arguments) -> Estimate | None:
    if target is None:
        return None
    count = target.size()
    size = count.times(target.element_size()) if target.kind.params else Range(0, 0)
    if args:
        gaps = Range(max(count.low - 1, 0), max(count.high - 1, 0))
        size = size.plus(args[0].size().times(gaps))
    return size.scaled(STRING_FACTOR), size


def _regex(text: Argument, pattern: Argument) -> Range:
    length = text.size().plus(ONE).scaled(STRING_FACTOR)
    return length.times(pattern.size().scaled(REGEX_FACTOR))


def _find(target: Argument | None, args: Arguments) -> Estimate | None:
    if target is None or not args:
        return None
    return _regex(target, args[0]), Range(0, target.size().high)


def _canonical(_target: Argument | None, args: Arguments) -> Estimate | None:
    return _chars(args[0], 2 * STRING_FACTOR), None


_ADDRESS: Final = Range(4, 16)
"""Bytes of an IP address."""


_COMPARISON: Final = _ADDRESS.plus(_ADDRESS).scaled(STRING_FACTOR)
_PREFIX_COMPARISON: Final = _COMPARISON.plus(_ADDRESS.scaled(STRING_FACTOR)).plus(ONE)


def _containing(cost: Range, *, parses: bool) -> Estimator:
    def estimated(_target: Argument | None, args: Arguments) -> Estimate | None:
        return (cost.plus(_chars(args[0])) if parses else cost), None

    return estimated


def _validate(_target: Argument | None, args: Arguments) -> Estimate | None:
    return _chars(args[0]).scaled(_FORMAT_REGEX_MAX * REGEX_FACTOR), None


def _check(_target: Argument | None, _args: Arguments) -> Estimate | None:
    return fixed(CHECK_COST), None


def _selector(_target: Argument | None, args: Arguments) -> Estimate | None:
    return (selector_cost(args[0].size()), None) if len(args) == 1 else None


def _equality(_target: Argument | None, args: Arguments) -> Estimate | None:
    left, right = args[0].kind, args[1].kind
    if left != right:
        return None
    if left in (types.IP, types.CIDR, types.QUANTITY, types.SEMVER):
        return ONE, None
    if left == types.FORMAT:
        return Range(1, _FORMAT_SIZE_MAX).scaled(STRING_FACTOR), None
    if left == types.URL:
        size = args[1].computed()
        return Range(1, 1 if size is None else size.high).scaled(STRING_FACTOR), None
    return None


BY_FUNCTION: Final[dict[str, Estimator]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversal),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _transformed),
    **dict.fromkeys(
        ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _parsing
    ),
    **dict.fromkeys(
        (
            "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isGlobalUnicast",
            "isLinkLocalMulticast", "isLinkLocalUnicast", "format.named", "sign", "asInteger",
            "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add",
            "sub", "major", "minor", "patch", "getScheme", "getHostname", "getHost", "getPort",
            "getEscapedPath", "getQuery", *AUTHORIZATION,
        ),
        _unit,
    ),
    "check": _check, "fieldSelector": _selector, "labelSelector": _selector,
    "includes": _includes, "url": _url, "replace": _replace, "split": _split, "join": _join,
    "find": _find, "findAll": _find, "ip.isCanonical": _canonical, "validate": _validate,
    "_==_": _equality,
    "ip": lambda target, args: _parsing(target, args) if args else (ONE, None),
}  # fmt: skip
"""Estimates by the name of the function, for those that Kubernetes charges by itself."""

INCLUDES_136: Final = _includes_136


def matches(text: Argument, pattern: Argument) -> Range:
    """A regular expression at work on a text."""
    return _regex(text, pattern)


def _number(argument: Argument, default: int) -> int:
    node = argument.node
    if not isinstance(node, Const) or node.value.__class__ is not int:
        return default
    return max(int(node.value), 0)


def _list_call(factor: float, size: Range) -> Estimate:
    return size.scaled(factor).plus(fixed(1 + LIST_COST)), size


def _slice(target: Argument | None, args: Arguments) -> Estimate | None:
    if target is None:
        return None
    start, end = _number(args[0], 0), _number(args[1], target.size().high)
    return _list_call(1, fixed((end - start) % (MAX + 1)))


def _range(_target: Argument | None, args: Arguments) -> Estimate | None:
    return _list_call(1, fixed(_number(args[0], MAX)))


def _reverse(target: Argument | None, _args: Arguments) -> Estimate | None:
    return None if target is None else _list_call(1, target.size())


def _flatten(target: Argument | None, args: Arguments) -> Estimate | None:
    if target is None:
        return None
    return _list_call(float(_number(args[0], MAX)) if args else 1, target.size())


def _quadratic(argument: Argument, factor: float) -> Estimate:
    return _list_call(factor, argument.size().times(argument.size()))


def _distinct(target: Argument | None, _args: Arguments) -> Estimate | None:
    return None if target is None else _quadratic(target, 2)


def _sort(factor: float) -> Estimator:
    def estimated(target: Argument | None, args: Arguments) -> Estimate | None:
        return None if target is None else _quadratic(args[0] if args else target, factor)

    return estimated


def _sets(factor: float) -> Estimator:
    def estimated(_target: Argument | None, args: Arguments) -> Estimate | None:
        return args[0].size().times(args[1].size()).scaled(factor).plus(ONE), None

    return estimated


def _sorts() -> dict[str, Estimator]:
    made = {}
    for name in ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"):
        factor = 2 + STRING_FACTOR if name in ("string", "bytes") else 2.0
        made[f"list_{name}_sort"] = made[f"list_{name}_sort_by_keys"] = _sort(factor)
    return made


BY_OVERLOAD: Final[dict[str, Estimator]] = {
    "list_sets_contains_list": _sets(1), "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2), "list_slice": _slice, "list_flatten": _flatten,
    "list_flatten_int": _flatten, "lists_range": _range, "list_reverse": _reverse,
    "list_distinct": _distinct,
    "cidr_contains_ip_string": _containing(_COMPARISON, parses=True),
    "cidr_contains_ip_ip": _containing(_COMPARISON, parses=False),
    "cidr_contains_cidr_string": _containing(_PREFIX_COMPARISON, parses=True),
    "cidr_contains_cidr": _containing(_PREFIX_COMPARISON, parses=False), **_sorts(),
}  # fmt: skip
"""Estimates by id of overload; these come first."""
