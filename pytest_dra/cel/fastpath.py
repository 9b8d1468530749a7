"""Selectors as generated code, for the forms that most of them have.

The code holds names made here, literals by ``repr`` and constants from a table, never text of
the expression. Whatever it does not cover, and any surprise at run time, goes the exact way: the
code raises, and the caller evaluates step by step. Expressions are pure, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from typing import Final

from pytest_dra.cel import footprint
from pytest_dra.cel import opaque
from pytest_dra.cel import types
from pytest_dra.cel.checker import Checked
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.opaque import SemVer
from pytest_dra.cel.prepared import Prepared
from pytest_dra.cel.tree import Call
from pytest_dra.cel.tree import Const
from pytest_dra.cel.tree import ListNode
from pytest_dra.cel.tree import Node
from pytest_dra.cel.tree import Select

NODES_MAX: Final = 2000
"""Size of an expression up to which code is made; its cost stays far below the limit."""

DEPTH_MAX: Final = 40
"""Nesting up to which code is made, well within what Python's own compiler takes."""

Fast = Callable[[list[Prepared], Callable[[Prepared], Any]], list[Any]]

_ORDERS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TESTS: Final = {"startsWith": "startswith", "endsWith": "endswith"}
_COMPARISONS: Final = {"isGreaterThan": ">", "isLessThan": "<"}

_SOURCE: Final = """\
def run(devices, slow):
    results = []
    append = results.append
    for device in devices:
        leaves = device.leaves
        try:
            append({code})
        except Exception:
            append(slow(device))
    return results
"""


class _Unsupported(Exception):
    """The expression has a form that no code is made for."""


def odd(value: object) -> bool:
    """False for values that are merely unequal; versions make an error of it, so they raise."""
    if value.__class__ is SemVer:
        raise TypeError("a version is compared with another type")
    return False


def unfit(value: object) -> bool:
    """Always raises: the operator does not take this value, or not in the way of the code."""
    raise TypeError(f"{value.__class__.__name__} does not fit")


def generate(checked: Checked) -> Fast | None:
    """Code for a checked selector, None for forms that are not covered."""
    coder = _Coder(checked)
    try:
        code = coder.logic(checked.root, DEPTH_MAX)
    except _Unsupported:
        return None
    names: dict[str, Any] = {"odd": odd, "unfit": unfit, **coder.constants}
    exec(compile(_SOURCE.format(code=code), "<selector>", "exec"), names)  # noqa: S102 - see above
    made: Fast = names["run"]
    return made


class _Coder:
    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.constants: dict[str, object] = {}
        self.count = 0
        self.nodes = 0

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def constant(self, value: object) -> str:
        if value.__class__ in (int, str, bool):
            return repr(value)
        name = self.name("k")
        self.constants[name] = value
        return name

    # -- conditions

    def logic(self, node: Node, depth: int) -> str:
        """Code of a condition; its value is a bool, or it raises."""
        self.nodes += 1
        if depth <= 0 or self.nodes > NODES_MAX:
            raise _Unsupported
        if isinstance(node, Const) and isinstance(node.value, bool):
            return repr(node.value)
        if isinstance(node, Call):
            return self.call(node, depth)
        if isinstance(node, Select) and node.test:
            return f"({self.leaf(node)[1]!r} in leaves)"
        value = self.value(node)
        name = self.name("v")
        return f"(({name} := {value}) is True or {name} is not False and unfit({name}))"

    def call(self, node: Call, depth: int) -> str:
        name = node.function
        if name in ("_&&_", "_||_"):
            word = " and " if name == "_&&_" else " or "
            return "(" + word.join(self.logic(arg, depth - 1) for arg in node.args) + ")"
        if name == "!_":
            return f"(not {self.logic(node.args[0], depth - 1)})"
        if name in ("_==_", "_!=_"):
            code = self.equality(node.args[0], node.args[1])
            return code if name == "_==_" else f"(not {code})"
        if name in _ORDERS:
            return self.order(node)
        if name == "@in":
            return self.membership(node)
        if name in _TESTS:
            return self.text_test(node)
        if name in _COMPARISONS:
            return self.comparison(node, _COMPARISONS[name], 0)
        raise _Unsupported

    def equality(self, left: Node, right: Node) -> str:
        value, literal = self.sides(left, right)
        if literal.value.__class__ not in (str, int, bool):
            raise _Unsupported
        kind = literal.value.__class__.__name__
        name, shown = self.name("v"), repr(literal.value)
        # Opaque values judge only from the left: a version on the right is just unequal.
        other = "odd" if literal is right else "bool"
        if other == "bool":
            raise _Unsupported
        code = self.value(value)
        if kind == "str":
            return f"(({name} := {code}) == {shown} or odd({name}))"
        return f"({name} == {shown} if ({name} := {code}).__class__ is {kind} else odd({name}))"

    def sides(self, left: Node, right: Node) -> tuple[Node, Const]:
        """The value and the literal of a comparison."""
        if isinstance(right, Const):
            return left, right
        if isinstance(left, Const):
            return right, left
        raise _Unsupported

    def order(self, node: Call) -> str:
        left, right = node.args
        operator = _ORDERS[node.function]
        if isinstance(left, Call) and left.function == "compareTo":
            if not isinstance(right, Const) or right.value.__class__ is not int:
                raise _Unsupported
            return self.comparison(left, operator, right.value)
        value, literal = self.sides(left, right)
        if literal is left:
            operator = _FLIPPED[operator]
        if literal.value.__class__ not in (str, int):
            raise _Unsupported
        kind, name = literal.value.__class__.__name__, self.name("v")
        return (
            f"({name} {operator} {literal.value!r} "
            f"if ({name} := {self.value(value)}).__class__ is {kind} else unfit({name}))"
        )

    def comparison(self, node: Call, operator: str, than: Any) -> str:
        """``x.compareTo(y) OP 0`` and the like, with a constant ``y``."""
        if node.target is None or than != 0 or operator not in _FLIPPED:
            raise _Unsupported
        made = self.opaque(node.args[0])
        if isinstance(made, SemVer):
            return f"({self.value(node.target)}.key {operator} {self.constant(made.key)})"
        return f"({self.value(node.target)}.nanos {operator} {made.nanos!r})"

    def opaque(self, node: Node) -> Any:
        """The constant of ``quantity("...")`` or ``semver("...")``."""
        if not isinstance(node, Call) or len(node.args) != 1 or node.target is not None:
            raise _Unsupported
        text = node.args[0]
        if not isinstance(text, Const) or not isinstance(text.value, str):
            raise _Unsupported
        makers: dict[str, Callable[[str], object]] = {
            "quantity": opaque.quantity_of, "semver": opaque.semver_of,
        }  # fmt: skip
        if node.function not in makers:
            raise _Unsupported
        made = makers[node.function](text.value)
        if isinstance(made, CelError):
            raise _Unsupported
        return made

    def membership(self, node: Call) -> str:
        domain = footprint.presence(node, self.checked)
        if domain is not None:
            return f"({domain!r} in leaves)"
        values = node.args[1]
        if not isinstance(values, ListNode) or values.optionals or not values.elements:
            raise _Unsupported
        items = [element.value for element in values.elements if isinstance(element, Const)]
        kinds = {item.__class__ for item in items}
        if len(items) < len(values.elements) or kinds not in ({str}, {int}):
            raise _Unsupported
        name, kind = self.name("v"), kinds.pop().__name__
        table = self.constant(frozenset(items))
        return (
            f"({name} in {table} if ({name} := {self.value(node.args[0])}).__class__ is {kind} "
            f"else unfit({name}))"
        )

    def text_test(self, node: Call) -> str:
        part = node.args[0]
        if node.target is None or not isinstance(part, Const) or not isinstance(part.value, str):
            raise _Unsupported
        name = self.name("v")
        return (
            f"({name}.{_TESTS[node.function]}({part.value!r}) "
            f"if ({name} := {self.value(node.target)}).__class__ is str else unfit({name}))"
        )

    # -- values

    def value(self, node: Node) -> str:
        """Code of a value of the device; it raises if there is none."""
        self.nodes += 1
        if isinstance(node, Call) and node.function == "orValue" and node.target is not None:
            default = node.args[0]
            if isinstance(default, Const) and default.value.__class__ in (str, int, bool):
                optional, key = self.leaf(node.target)
                if optional:
                    return f"leaves.get({key!r}, {default.value!r})"
            raise _Unsupported
        optional, key = self.leaf(node)
        if optional:
            raise _Unsupported
        return f"leaves[{key!r}]"

    def leaf(self, node: Node) -> tuple[bool, str]:
        """Whether a chain ends in an optional, and the key of its end."""
        chain = footprint.chain_of(node, self.checked)
        if chain is None:
            raise _Unsupported
        key = footprint.seen_key(chain)
        length = 1 if chain[0] in ("driver", "allowMultipleAllocations") else 3
        if key is None or len(chain) != length:
            raise _Unsupported
        kind = self.checked.kinds[node.id]
        optional = types.is_optional(kind)
        if optional and not self.optional_at_end(node):
            raise _Unsupported
        return optional, key

    def optional_at_end(self, node: Node) -> bool:
        """True if only the last step of a chain has a question mark."""
        if not isinstance(node, Call) or node.function == "_[_]":
            return False
        return not types.is_optional(self.checked.kinds[node.args[0].id])
