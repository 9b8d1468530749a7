"""``string.format``: templates, their clauses, and the check of literal ones."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any
from typing import Final

from pytest_dra.cel import conversions
from pytest_dra.cel import formatted
from pytest_dra.cel import work
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.operations import type_name
from pytest_dra.cel.values import CelMap
from pytest_dra.cel.values import Duration
from pytest_dra.cel.values import Timestamp
from pytest_dra.cel.values import TypeValue
from pytest_dra.cel.values import Uint

_PRECISION: Final = 6
"""Decimals where a clause names none."""

_PRECISION_MAX: Final = 100_000
"""Decimals that are written; the reference has no limit."""

_DIGITS: Final = frozenset("0123456789")
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class FormatFault(ValueError):
    """The template or an argument is bad. ``kind`` is the class at run time."""

    def __init__(self, message: str, kind: str = "format") -> None:
        super().__init__(message)
        self.kind = kind


@dataclasses.dataclass(frozen=True, slots=True)
class Clause:
    """One verb of a template with its precision, and the number of its argument."""

    verb: str
    precision: int | None
    argument: int


def parse(template: str, arguments: int) -> Iterator[str | Clause]:
    """Literal parts and clauses of a template, one by one.

    Raises:
        FormatFault: a bad verb, or fewer ``arguments`` than clauses.
    """
    position = count = 0
    while position < len(template):
        percent = template.find("%", position)
        if percent < 0:
            yield template[position:]
            break
        yield template[position:percent]
        if template[percent + 1 : percent + 2] == "%":
            yield "%"
            position = percent + 2
            continue
        if count >= arguments:
            raise FormatFault(f"index {count} out of range: too few arguments", "index")
        if percent + 1 >= len(template):
            raise FormatFault("unexpected end of the template", "other")
        verb, precision, position = _clause(template, percent + 1)
        yield Clause(verb, precision, count)
        count += 1


def _clause(template: str, position: int) -> tuple[str, int | None, int]:
    precision: int | None = None
    if template[position] == ".":
        end = position + 1
        while end < len(template) and template[end] in _DIGITS:
            end += 1
        if end >= len(template):
            raise FormatFault("no end of the precision")
        digits = template[position + 1 : end]
        if not digits or len(digits) > len(str(_PRECISION_MAX)) or int(digits) > _PRECISION_MAX:
            raise FormatFault("bad precision")
        precision, position = int(digits), end
    verb = template[position]
    if verb not in "sdfebxXo":
        raise FormatFault(f"unknown clause %{verb}")
    return verb, precision, position + 1


def apply(template: str, arguments: list[object]) -> str | CelError:
    """The text of a template with its arguments."""
    try:
        # What is wrong with an argument comes before what is wrong behind its clause.
        made, length = [], 0
        for part in parse(template, len(arguments)):
            text = part if isinstance(part, str) else _formatted(part, arguments[part.argument])
            made.append(text)
            length += len(text)
            work.bound_text(length)
        return "".join(made)
    except FormatFault as error:
        return CelError(error.kind, str(error))


def _formatted(clause: Clause, value: Any) -> str:
    if clause.verb in "fe":
        return _floating(clause, value)
    return _FORMATTERS[clause.verb](value)


def _refuse(verb: str, value: Any) -> FormatFault:
    return FormatFault(f"%{verb} does not take a value of type {type_name(value)}")


def _floating(clause: Clause, value: Any) -> str:
    if isinstance(value, str) and value in _SPECIAL:
        value = _SPECIAL[value]
    if not isinstance(value, float):
        raise _refuse(clause.verb, value)
    precision = _PRECISION if clause.precision is None else clause.precision
    if clause.verb == "f":
        return formatted.fixed(value, precision)
    # The reference takes the precision of %e for a width.
    return formatted.scientific(value, _PRECISION).rjust(precision)


def _decimal(value: Any) -> str:
    if value.__class__ not in (int, Uint):
        raise _refuse("d", value)
    return str(int(value))


def _binary(value: Any) -> str:
    if not isinstance(value, int):
        raise _refuse("b", value)
    return format(int(value), "b")


def _octal(value: Any) -> str:
    if value.__class__ not in (int, Uint):
        raise _refuse("o", value)
    return format(int(value), "o")


def _hex(value: Any) -> str:
    if isinstance(value, str):
        return value.encode().hex()
    if isinstance(value, bytes):
        return value.hex()
    if value.__class__ not in (int, Uint):
        raise _refuse("x", value)
    return format(int(value), "x")


def _upper_hex(value: Any) -> str:
    return _hex(value).upper()


def _string(value: Any) -> str:
    if isinstance(value, list):
        return _list(value)
    if isinstance(value, CelMap):
        return _map(value)
    if value is None:
        return "null"
    if isinstance(value, TypeValue):
        return value.name
    if not isinstance(value, (bool, int, float, str, bytes, Timestamp, Duration)):
        raise _refuse("s", value)
    made = conversions.to_string(value)
    if isinstance(made, CelError):
        raise FormatFault(made.message)
    return str(made)


def _list(values: list[object]) -> str:
    work.spend(len(values))
    return "[" + ", ".join(_nested(value) for value in values) + "]"


def _map(values: CelMap) -> str:
    work.spend(len(values))
    pairs = []
    for key, value in values.items():
        if not isinstance(key, (bool, int, str)):
            raise FormatFault(f"no text for a map key of type {type_name(key)}", "format")
        pairs.append((_nested(key), _nested(value)))
    pairs.sort(key=lambda pair: pair[0].encode())
    return "{" + ", ".join(f"{key}:{value}" for key, value in pairs) + "}"


def _nested(value: Any) -> str:
    """A value within a list or map: quoted where a literal would be."""
    if isinstance(value, str):
        return formatted.go_quoted(value)
    if isinstance(value, bytes):
        return "b" + formatted.go_quoted(_string(value))
    if isinstance(value, Timestamp):
        return f'timestamp("{_string(value)}")'
    if isinstance(value, Duration):
        return f'duration("{_string(value)}")'
    if isinstance(value, float):
        if math.isnan(value):
            return '"NaN"'
        if math.isinf(value):
            return '"+Inf"' if value > 0 else '"-Inf"'
        return f"{value:.{_PRECISION}f}"
    if isinstance(value, (list, CelMap, bool, int, TypeValue)) or value is None:
        return _string(value)
    raise FormatFault(f"no text for a value of type {type_name(value)}", "format")


_FORMATTERS: Final[dict[str, Callable[[object], str]]] = {
    "s": _string, "d": _decimal, "b": _binary, "o": _octal, "x": _hex, "X": _upper_hex,
}  # fmt: skip
