"""Numbers and text as Go writes them."""

from __future__ import annotations

import math
from typing import Final

_EXPONENT_FROM: Final = 21
_SUPERSCRIPTS: Final = str.maketrans(
    "0123456789-", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b"
)


def digits_of(value: float) -> tuple[str, int]:
    """Shortest digits of a positive number and the place of its point: 0.<digits> * 10**place."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    place = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return digits or "0", place


def double_text(value: float, exponent_from: int = 6) -> str:
    """A double in the shortest form, with an exponent from 1e6 and below 1e-4."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return sign + "0"
    digits, place = digits_of(abs(value))
    exponent = place - 1
    if exponent < -4 or exponent >= max(exponent_from, 0):
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if place <= 0:
        return f"{sign}0.{'0' * -place}{digits}"
    if len(digits) <= place:
        return sign + digits + "0" * (place - len(digits))
    return f"{sign}{digits[:place]}.{digits[place:]}"


def fixed(value: float, precision: int) -> str:
    """A double with a fixed number of decimals, thousands grouped."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "\u221e" if value > 0 else "-\u221e"
    return f"{value or 0.0:,.{precision}f}"


def scientific(value: float, precision: int) -> str:
    """A double as ``1.5\u00d710\u00b3``."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "\u221e" if value > 0 else "-\u221e"
    # Zero has no sign here.
    value = value or 0.0
    mantissa, _, exponent = f"{value:.{precision}e}".partition("e")
    number = int(exponent)
    shown = f"{'-' if number < 0 else ''}{abs(number):02d}".translate(_SUPERSCRIPTS)
    return f"{mantissa}\u00d710{shown}"


_NAMED: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip


def cel_quoted(text: str) -> str:
    """A CEL string literal."""
    return '"' + "".join(_NAMED.get(char, char) for char in text) + '"'


def go_quoted(text: str) -> str:
    """A Go string literal: what cannot be printed is escaped."""
    parts = []
    for char in text:
        if char in _NAMED:
            parts.append(_NAMED[char])
        elif char == " " or char.isprintable():
            parts.append(char)
        elif ord(char) < 0x80:
            parts.append(f"\\x{ord(char):02x}")
        elif ord(char) < 0x10000:
            parts.append(f"\\u{ord(char):04x}")
        else:
            parts.append(f"\\U{ord(char):08x}")
    return '"' + "".join(parts) + '"'
