"""Values of the types that Kubernetes adds: quantities, versions, addresses."""

from __future__ import annotations

import functools
import ipaddress
import re
from typing import Any
from typing import Final

from pytest_dra.api.quantity import NANO
from pytest_dra.api.quantity import NumberMissingError
from pytest_dra.api.quantity import Quantity
from pytest_dra.api.quantity import QuantityError
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import InternalFailure
from pytest_dra.cel.values import INT_MAX
from pytest_dra.cel.values import UINT_MAX

_NUMBER_MAX: Final = 24
"""Digits of a number in a version that are looked at; 20 are the most that fit."""

_BITS_MAX: Final = 19
"""Digits of a prefix length that is a number of 64 bits."""


_SHARED_MAX: Final = 4096
"""Values of device attributes that are kept, for devices that have them, too."""

_DIGITS_MAX: Final = 15

_SIMPLE: Final = re.compile(r"([0-9]{1,6}(?=[KMGT]i)|[0-9]{1,15}(?!.i))([KMGT]i|[mkMGT]?)")
"""Quantities that are well-formed and exact whatever the digits."""

_FACTORS: Final = {
    "m": 10**6, "": NANO, "k": NANO * 10**3, "M": NANO * 10**6, "G": NANO * 10**9,
    "T": NANO * 10**12, "Ki": NANO << 10, "Mi": NANO << 20, "Gi": NANO << 30, "Ti": NANO << 40,
}  # fmt: skip


class QuantityValue:
    """A quantity. ``summed`` ones came out of add() or sub(), which shows in comparisons.

    ``nanos`` are billionths; ``amount`` may be worked out when it is first asked for.
    """

    __slots__ = ("amount", "nanos", "summed", "text")
    type_name = "kubernetes.Quantity"
    text: str

    def __init__(self, amount: Quantity, *, summed: bool = False) -> None:
        self.amount = amount
        self.nanos = amount.nanos
        self.summed = summed

    def __getattr__(self, name: str) -> Any:
        # Only for attributes that are not there yet.
        if name != "amount":
            raise AttributeError(name)
        self.amount = amount = Quantity.parse(self.text)
        return amount

    def equals(self, other: object) -> bool | CelError:
        """``==`` with this value on the left."""
        if not isinstance(other, QuantityValue) or other.summed:
            return CelError("no-such-overload", "no such overload")
        return self.nanos == other.nanos

    def map_key(self) -> object:
        """As a key of a map."""
        return (QuantityValue, id(self))

    def __str__(self) -> str:
        return self.amount.canonical


_quantities: dict[str, QuantityValue] = {}


def capacity_of(text: str) -> QuantityValue | CelError:
    """The quantity of a capacity, shared with others of the same text."""
    made = _quantities.get(text)
    if made is not None:
        return made
    if text.isdigit() and text.isascii() and len(text) <= _DIGITS_MAX:
        nanos = int(text) * NANO
    else:
        match = _SIMPLE.fullmatch(text)
        if match is None:
            return quantity_of(text)
        digits, suffix = match.groups()
        nanos = int(digits) * _FACTORS[suffix]
    made = QuantityValue.__new__(QuantityValue)
    made.nanos = nanos
    made.summed = False
    made.text = text
    if len(_quantities) >= _SHARED_MAX:
        _quantities.clear()
    _quantities[text] = made
    return made


@functools.lru_cache(maxsize=4096)
def quantity_of(text: str) -> QuantityValue | CelError:
    """A quantity from text, without room for blanks."""
    try:
        if text != text.strip():
            raise QuantityError("blanks around a quantity")
        return QuantityValue(Quantity.parse(text))
    except QuantityError as error:
        kind = "other" if isinstance(error, NumberMissingError) else "parse-quantity"
        return CelError(kind, str(error))


_PARTS: Final = re.compile(r"([^.]*)\.([^.]*)\.([^+-]*)(?:-([^+]*))?(?:\+(.*))?", re.DOTALL)
_PLAIN: Final = re.compile(r"(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})")
_WORD: Final = re.compile(r"[0-9A-Za-z-]+")
_DIGITS: Final = re.compile(r"[0-9]+")


class SemVer:
    """A semantic version. Build metadata plays no part in order and equality.

    ``key`` is the rank; the other parts may be filled in when they are first asked for.
    """

    __slots__ = ("build", "key", "major", "minor", "patch", "pre")
    type_name = "kubernetes.Semver"

    def __init__(
        self, numbers: tuple[int, int, int], pre: tuple[str, ...], build: tuple[str, ...]
    ) -> None:
        self.major, self.minor, self.patch = numbers
        self.pre = pre
        self.build = build
        ranked: tuple[tuple[int, int, str], ...] = ()
        if pre:
            ranked = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in pre)
        self.key = (*numbers, 0 if pre else 1, ranked)

    def __getattr__(self, name: str) -> Any:
        # Only for attributes that are not there yet.
        if name not in _VERSION_PARTS:
            raise AttributeError(name)
        SemVer.__init__(self, self.key[:3], (), ())
        return getattr(self, name)

    def equals(self, other: object) -> bool | CelError:
        """``==`` with this value on the left."""
        if not isinstance(other, SemVer):
            return CelError("no-such-overload", "no such overload")
        return self.key == other.key

    def map_key(self) -> object:
        """Never a key of a map."""
        raise TypeError("a version cannot be a map key")

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.pre:
            text += "-" + ".".join(self.pre)
        return text + "+" + ".".join(self.build) if self.build else text


_VERSION_PARTS: Final = frozenset({"build", "major", "minor", "patch", "pre"})

_versions: dict[str, SemVer] = {}


def version_of(text: str) -> SemVer | CelError:
    """The version of an attribute, shared with others of the same text."""
    made = _versions.get(text)
    if made is not None:
        return made
    match = _PLAIN.fullmatch(text)
    if match is None:
        return semver_of(text)
    made = SemVer.__new__(SemVer)
    major, minor, patch = match.groups()
    made.key = (int(major), int(minor), int(patch), 1, ())
    if len(_versions) >= _SHARED_MAX:
        _versions.clear()
    _versions[text] = made
    return made


@functools.lru_cache(maxsize=4096)
def semver_of(text: str, *, normalize: bool = False) -> SemVer | CelError:
    """A strict version, or a loose one made strict first."""
    if normalize:
        loose = _normalized(text)
        if loose is None:
            return CelError("parse-semver", f"a short version takes no suffix: {text[:60]!r}")
        text = loose
    return _strict(text)


def _strict(text: str) -> SemVer | CelError:
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        major, minor, patch = plain.groups()
        return SemVer((int(major), int(minor), int(patch)), (), ())
    bad = CelError("parse-semver", f"no semantic version: {text[:60]!r}")
    large = CelError("range", f"a number of version {text[:60]!r} is out of range")
    match = _PARTS.fullmatch(text)
    if match is None:
        return bad
    numbers = []
    # From left to right: what stands first decides the class of the error.
    for part in match.group(1, 2, 3):
        if not _DIGITS.fullmatch(part) or (len(part) > 1 and part[0] == "0"):
            return bad
        if len(part) > _NUMBER_MAX or int(part) > UINT_MAX:
            return large
        numbers.append(int(part))
    pre = tuple(match[4].split(".")) if match[4] is not None else ()
    build = tuple(match[5].split(".")) if match[5] is not None else ()
    for word in pre:
        if _DIGITS.fullmatch(word):
            if len(word) > 1 and word[0] == "0":
                return bad
            if len(word) > _NUMBER_MAX or int(word) > UINT_MAX:
                return large
        elif not _WORD.fullmatch(word):
            return bad
    if not all(_WORD.fullmatch(word) for word in build):
        return bad
    return SemVer((numbers[0], numbers[1], numbers[2]), pre, build)


def _normalized(text: str) -> str | None:
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            bare = part.lstrip("0")
            parts[index] = bare if bare and bare[0] in "0123456789" else "0" + bare
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        return None
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


class IpValue:
    """An address without zone."""

    __slots__ = ("address",)
    type_name = "net.IP"

    def __init__(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
        self.address = address

    @property
    def size(self) -> int:
        """Length in bytes."""
        return 4 if self.address.version == 4 else 16

    def equals(self, other: object) -> bool | CelError:
        """``==`` with this value on the left."""
        if not isinstance(other, IpValue):
            return CelError("no-such-overload", "no such overload")
        return self.address == other.address

    def map_key(self) -> object:
        """As a key of a map."""
        return (IpValue, self.address)

    def __str__(self) -> str:
        return str(self.address)


def _is_mapped(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None


def ip_of(text: str, *, mapped: bool = False) -> IpValue | CelError:
    """An address from text: no leading zeros, no zone, IPv4 within IPv6 only if ``mapped``."""
    bad = CelError("conversion", f"no IP address: {text[:60]!r}")
    bare, percent, zone = text.partition("%")
    if not bare.isascii() or "/" in bare or (percent and (not zone or ":" not in bare)):
        return bad
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return bad
    if percent:
        return CelError("parse-ip", f"an IP address with a zone: {text[:60]!r}")
    if _is_mapped(address) and not mapped:
        return CelError("parse-ip", f"an IPv4 address within IPv6: {text[:60]!r}")
    return IpValue(address)


class CidrValue:
    """A prefix; host bits are kept."""

    __slots__ = ("address", "bits")
    type_name = "net.CIDR"

    def __init__(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address, bits: int) -> None:
        self.address = address
        self.bits = bits

    @property
    def size(self) -> int:
        """Length of the prefix in bytes, rounded up."""
        return (self.bits + 7) // 8

    def _network(self, bits: int) -> int:
        width = 32 if self.address.version == 4 else 128
        return int(self.address) >> (width - bits)

    def contains(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
        """True if the address lies within."""
        if address.version != self.address.version:
            return False
        return self._network(self.bits) == CidrValue(address, 0)._network(self.bits)

    def covers(self, other: CidrValue) -> bool:
        """True if the other prefix is within and at least as long."""
        return self.bits <= other.bits and self.contains(other.address)

    def masked(self) -> CidrValue:
        """Without host bits."""
        width = 32 if self.address.version == 4 else 128
        number = self._network(self.bits) << (width - self.bits)
        return CidrValue(type(self.address)(number), self.bits)

    def equals(self, other: object) -> bool | CelError:
        """``==`` with this value on the left."""
        if not isinstance(other, CidrValue):
            return CelError("no-such-overload", "no such overload")
        return self.address == other.address and self.bits == other.bits

    def map_key(self) -> object:
        """As a key of a map."""
        return (CidrValue, self.address, self.bits)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


def cidr_of(text: str) -> CidrValue | CelError:
    """A prefix from text."""
    bad = CelError("conversion", f"no CIDR prefix: {text[:60]!r}")
    base, slash, bits = text.rpartition("/")
    address = ip_of(base, mapped=True)
    if not slash or isinstance(address, CelError) or not re.fullmatch("0|[1-9][0-9]*", bits):
        return bad
    if len(bits) > _BITS_MAX or int(bits) > INT_MAX:
        return bad
    if int(bits) > address.size * 8:
        return CelError("range", f"prefix length out of range: {text[:60]!r}")
    return bad if _is_mapped(address.address) else CidrValue(address.address, int(bits))


def ip_part(value: IpValue, name: str) -> bool | int:
    """A property of an address, by the name of its function."""
    number, four = int(value.address), value.address.version == 4
    high = number >> (24 if four else 112)
    loopback = high == 127 if four else number == 1
    local = number >> 16 == 0xA9FE if four else high & 0xFFC0 == 0xFE80
    if name == "family":
        return 4 if four else 6
    if name == "isUnspecified":
        return number == 0
    if name == "isLoopback":
        return loopback
    if name == "isLinkLocalUnicast":
        return local
    if name == "isLinkLocalMulticast":
        return number >> 8 == 0xE00000 if four else high & 0xFF0F == 0xFF02
    if name != "isGlobalUnicast":
        raise InternalFailure(name)
    multicast = high & 0xF0 == 0xE0 if four else high & 0xFF00 == 0xFF00
    broadcast = four and number == 0xFFFFFFFF
    return not (number == 0 or broadcast or loopback or multicast or local)
