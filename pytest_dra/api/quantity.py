"""Kubernetes quantities, exactly: parse, compare, write in the server's canonical form.

A quantity is held as a whole number of billionths, which is its finest unit; Python's integers
make every sum and comparison exact. Source: behaviour of k8s.io/apimachinery 0.37 and recordings
of kube-apiserver 1.37.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Final

NANO: Final = 10**9
"""Billionths in one unit."""

_INT64_MAX: Final = 2**63 - 1

_EXACT_DIGITS: Final = 18
"""Decimal digits that surely fit int64: up to here the server keeps the text as it was sent."""

_BINARY_DIGITS: Final = 14
"""The same for a binary suffix, less three per power of 1024."""

_EXPONENT_MAX: Final = 1000
"""Our bound on ``e``-exponents, so that a hostile quantity cannot fill the memory."""

_TEXT_MAX: Final = 1000
"""Our bound on the length of a quantity, far above anything legal in practice."""

_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_DECIMAL_SUFFIX: Final = {**{power: suffix for suffix, power in _DECIMAL.items()}, 18: "E"}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIX: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

_PARTS: Final = re.compile(
    r"(?P<sign>[+-]?)0*(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?P<suffix>[eEinumkKMGTP]*[-+]?[0-9]*)"
)
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")


class QuantityError(ValueError):
    """The text is not a quantity."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """A parsed quantity. Equality and order are those of the amount, not of the spelling.

    ``nanos`` is the amount in billionths, ``canonical`` the form in which a server returns it.
    """

    nanos: int
    canonical: str = dataclasses.field(compare=False)

    @classmethod
    def parse(cls, value: str | int) -> Quantity:
        """Read a quantity as JSON may hold it (a string or a whole number).

        Raises:
            QuantityError: it is none.
        """
        return _parse(str(value).strip())

    @property
    def is_whole(self) -> bool:
        """True if the amount is an integer."""
        return self.nanos % NANO == 0

    def whole(self) -> int:
        """The amount in units, rounded away from zero, as the server computes with it."""
        units = -(-abs(self.nanos) // NANO)
        return units if self.nanos >= 0 else -units

    def __str__(self) -> str:
        return self.canonical


def canonical(value: str | int) -> str:
    """The form in which the server returns the quantity ``value``.

    Raises:
        QuantityError: it is none.
    """
    return Quantity.parse(value).canonical


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    if text == "0":
        return Quantity(0, "0")
    match = _PARTS.fullmatch(text) if 0 < len(text) <= _TEXT_MAX else None
    if match is None:
        raise QuantityError(f"not a quantity: {text[:80]!r}, want for example 500m, 2 or 1.5Gi")
    suffix = match["suffix"]
    digits, fraction = match["whole"] or "0", match["fraction"] or ""
    if suffix in _BINARY:
        amount = _binary_amount(digits, fraction, _BINARY[suffix])
        style = "binary"
    else:
        power, style = _decimal_power(suffix, text)
        amount = _scaled(int(digits + fraction), power - len(fraction) + 9)
    if match["sign"] == "-":
        amount = -amount
    if style == "binary":
        kept = _keeps_binary(digits, fraction, _BINARY[suffix])
    else:
        kept = _keeps_decimal(digits, fraction, power)
    return Quantity(amount, text if kept else _canonical(amount, style))


def _decimal_power(suffix: str, text: str) -> tuple[int, str]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "decimal"
    if suffix == "E":
        return 18, "decimal"
    match = _EXPONENT.fullmatch(suffix)
    if match is None or abs(int(match[1])) > _EXPONENT_MAX:
        raise QuantityError(f"unknown suffix {suffix!r} in quantity {text[:80]!r}")
    return int(match[1]), "exponent"


def _scaled(number: int, power: int) -> int:
    """``number * 10**power``, rounded up where that is no integer."""
    factor: int = 10 ** abs(power)
    return number * factor if power >= 0 else -(-number // factor)


def _binary_amount(digits: str, fraction: str, power: int) -> int:
    exact = int(digits + fraction) << power
    return min(_scaled(exact, 9 - len(fraction)), _INT64_MAX * NANO)


def _keeps_decimal(digits: str, fraction: str, power: int) -> bool:
    shifted, scale = digits + fraction, power - len(fraction)
    return (
        len(shifted) <= _EXACT_DIGITS
        and scale >= -9
        and scale % 3 == 0
        and not shifted.endswith("000")
        and not shifted.startswith("0")
    )


def _keeps_binary(digits: str, fraction: str, power: int) -> bool:
    short = len(digits) + power * 3 // 10 <= _BINARY_DIGITS
    return short and not fraction and int(digits) % 8 != 0


def _canonical(amount: int, style: str) -> str:
    if amount == 0:
        return "0"
    if style == "binary":
        if amount % NANO == 0 and abs(amount) >= 1024 * NANO:
            return _in_powers_of_1024(amount // NANO)
        style = "decimal"
    power = -9
    while amount % 1000 == 0:
        amount //= 1000
        power += 3
    if style == "exponent":
        return f"{amount}e{power}" if power else str(amount)
    return f"{amount}{_DECIMAL_SUFFIX.get(power, '')}"


def _in_powers_of_1024(units: int) -> str:
    power = 0
    while units % 1024 == 0 and power < len(_BINARY_SUFFIX) - 1:
        units //= 1024
        power += 1
    return f"{units}{_BINARY_SUFFIX[power]}"
