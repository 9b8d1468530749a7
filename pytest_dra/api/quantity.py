"""Kubernetes quantities, exactly: parse, compare, write in the server's canonical form.

A quantity is held as a whole number of billionths, which is its finest unit; Python's integers
make every sum and comparison exact. Source: behaviour of k8s.io/apimachinery 0.37 and recordings
of kube-apiserver 1.37.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from typing import Final

NANO: Final = 10**9
"""Billionths in one unit."""

NANO_SCALE: Final = 9
"""Decimal places of a billionth."""

_INT64_MAX: Final = 2**63 - 1

_FLOAT_EXPONENT_MAX: Final = 308
"""Powers of ten that fit a float."""

_SHIFT_MAX: Final = 18
"""Powers of ten that fit 64 bits."""

_EXACT_DIGITS: Final = 18
"""Decimal digits that surely fit int64: up to here the server keeps the text as it was sent."""

_BINARY_DIGITS: Final = 14
"""The same for a binary suffix, less three per power of 1024."""

_INT32: Final = 2**31

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
_DIGIT: Final = re.compile("[0-9]")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")


class QuantityError(ValueError):
    """The text is not a quantity."""


class NumberMissingError(QuantityError):
    """There is a suffix and no number, where the server does not take that for zero."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """A parsed quantity. Equality and order are those of the amount, not of the spelling.

    ``nanos`` is the amount in billionths, ``canonical`` the form in which a server returns it.
    ``style`` is ``decimal``, ``exponent`` or ``binary``. The server keeps most amounts as
    ``number * 10**scale``, with a number of 64 bits; ``large`` ones it keeps in another form,
    which it does not convert to an integer. ``kept`` is true if it holds on to the text, too.
    """

    nanos: int
    canonical: str = dataclasses.field(compare=False)
    style: str = dataclasses.field(default="decimal", compare=False)
    number: int = dataclasses.field(default=0, compare=False)
    scale: int = dataclasses.field(default=0, compare=False)
    large: bool = dataclasses.field(default=False, compare=False)
    kept: bool = dataclasses.field(default=False, compare=False)

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

    def as_int64(self) -> int | None:
        """The amount as the server converts it to an integer, None where it does not."""
        if self.large or self.scale < 0:
            return None
        return _shifted_int64(self.number, self.scale)

    def as_float(self) -> float:
        """The amount as the server approximates it."""
        if self.scale == 0:
            return float(self.number)
        return float(self.number) * _power_of_ten(self.scale)

    def plus(self, other: Quantity) -> Quantity:
        """The sum, in the style of this quantity unless that is zero."""
        return self._joined(other, other.nanos, other.number)

    def minus(self, other: Quantity) -> Quantity:
        """The difference, in the style of this quantity unless that is zero."""
        # The server negates in 64 bits, where the least number has no positive.
        number = -other.number if other.number >= -_INT64_MAX else other.number
        return self._joined(other, -other.nanos, number)

    def _joined(self, other: Quantity, nanos: int, number: int) -> Quantity:
        style = self.style if self.nanos else other.style
        if not self.large and not other.large:
            kept = _sum_int64((self.number, self.scale), (number, other.scale))
            if kept is not None:
                exact: int = kept[0] * 10 ** (NANO_SCALE + kept[1])
                return Quantity(exact, spelled(exact, style), style, *kept)
        total = self.nanos + nanos
        scale = min(self.scale, other.scale)
        factor: int = 10 ** (NANO_SCALE + scale)
        return Quantity(total, spelled(total, style), style, total // factor, scale, large=True)

    @classmethod
    def of_int(cls, value: int) -> Quantity:
        """A whole number, as the server makes it of an integer."""
        nanos = value * NANO
        return cls(nanos, spelled(nanos, "exponent"), "exponent", value)

    def __str__(self) -> str:
        return self.canonical


def _power_of_ten(exponent: int) -> float:
    """A power of ten as the server gets it: from two tables, so with an error of its own."""
    if exponent > _FLOAT_EXPONENT_MAX:
        return math.inf
    whole, rest = divmod(abs(exponent), 32)
    if exponent >= 0:
        return float(f"1e{whole * 32}") * float(f"1e{rest}")
    return float(f"1e-{whole * 32}") / float(f"1e{rest}")


def _shifted_int64(number: int, scale: int) -> int | None:
    if number == 0:
        return 0
    if scale > _SHIFT_MAX:
        return None
    value: int = number * 10**scale
    return value if -_INT64_MAX - 1 <= value <= _INT64_MAX else None


def _sum_int64(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int] | None:
    """Number and scale of a sum, None where it leaves 64 bits."""
    if other[0] == 0:
        return one
    if one[0] == 0:
        return other
    scale = min(one[1], other[1])
    first = _shifted_int64(one[0], one[1] - scale)
    second = _shifted_int64(other[0], other[1] - scale)
    if first is None or second is None or first + second > _INT64_MAX:
        return None
    return (first + second, scale) if first + second >= -_INT64_MAX - 1 else None


def canonical(value: str | int) -> str:
    """The form in which the server returns the quantity ``value``.

    Raises:
        QuantityError: it is none.
    """
    return Quantity.parse(value).canonical


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    if text == "0":
        return Quantity(0, "0", kept=True)
    match = _PARTS.fullmatch(text) if 0 < len(text) <= _TEXT_MAX else None
    if match is None:
        raise QuantityError(f"not a quantity: {text[:80]!r}, want for example 500m, 2 or 1.5Gi")
    suffix = match["suffix"]
    digits, fraction = match["whole"] or "0", match["fraction"] or ""
    number, scale, large = int(digits + fraction), -len(fraction), True
    if suffix in _BINARY:
        amount, style = _binary_amount(digits, fraction, _BINARY[suffix]), "binary"
        if 0 < amount < NANO:
            style = "decimal"
        kept = _keeps_binary(digits, fraction, _BINARY[suffix])
        short = len(digits) + _BINARY[suffix] * 3 // 10 <= _BINARY_DIGITS
        number <<= _BINARY[suffix]
        large = not short or bool(fraction) or number > _INT64_MAX
    else:
        power, style = _decimal_power(suffix, text)
        scale += power
        amount = _scaled(number, scale + NANO_SCALE)
        kept = _keeps_decimal(digits, fraction, power)
        large = len(digits + fraction) > _EXACT_DIGITS or scale < -NANO_SCALE
    if large and not _DIGIT.search(text, 0, match.start("suffix")):
        # Only this other way of parsing does not take nothing for zero.
        raise NumberMissingError(f"no number before the suffix of quantity {text[:80]!r}")
    if large and number:
        capped = style == "binary" and amount == _INT64_MAX * NANO
        number, scale = (_INT64_MAX, 0) if capped else (amount, -NANO_SCALE)
    if match["sign"] == "-":
        amount, number = -amount, -number
    return Quantity(
        amount,
        text if kept else spelled(amount, style),
        style,
        number,
        scale,
        large,
        kept=kept,
    )


def _decimal_power(suffix: str, text: str) -> tuple[int, str]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "decimal"
    if suffix == "E":
        return 18, "decimal"
    match = _EXPONENT.fullmatch(suffix)
    exponent = int(match[1]) if match else 0
    if match is None or not -_INT64_MAX <= exponent <= _INT64_MAX:
        raise QuantityError(f"unknown suffix {suffix!r} in quantity {text[:80]!r}")
    # The server keeps the lowest 32 bits only.
    exponent = (exponent + _INT32) % (2 * _INT32) - _INT32
    if abs(exponent) > _EXPONENT_MAX:
        raise QuantityError(f"exponent out of bounds in quantity {text[:80]!r}")
    return exponent, "exponent"


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


def spelled(amount: int, style: str) -> str:
    """Billionths as a server writes them: ``style`` as in :class:`Quantity`."""
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
