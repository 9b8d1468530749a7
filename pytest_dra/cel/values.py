"""What CEL values are in Python.

==================  ====================================================
CEL                 Python
==================  ====================================================
bool, int, double   bool, int (64 bits), float
uint                :class:`Uint`
string, bytes       str, bytes
null_type           None
list                list (never changed once made); :class:`ConcatList`
map                 :class:`CelMap`
timestamp           :class:`Timestamp`
duration            :class:`Duration`
type                :class:`TypeValue`
optional_type       :class:`Optional`
error               :class:`pytest_dra.cel.errors.CelError`
==================  ====================================================

Quantities, versions, addresses, URLs and named formats are in ``opaque``.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any
from typing import Final

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1


class Uint(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"


class ConcatList(list[object]):
    """A list made by ``+``: its equality hands on errors, where other lists swallow them."""

    __slots__ = ()


class MutableList(list[object]):
    """An accumulator: ``+`` extends it in place."""

    __slots__ = ()


class Timestamp:
    """A moment: ``seconds`` since 1970, ``nanos`` below a second, ``zone`` in seconds east."""

    __slots__ = ("nanos", "seconds", "zone")

    def __init__(self, seconds: int, nanos: int = 0, zone: int = 0) -> None:
        self.seconds = seconds
        self.nanos = nanos
        self.zone = zone

    @property
    def moment(self) -> tuple[int, int]:
        """Order and identity of the moment; the zone plays no part."""
        return self.seconds, self.nanos


class Duration:
    """A span in nanoseconds, 64 bits."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        self.nanos = nanos


class TypeValue:
    """A type as a value; two are equal if their names are."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Optional:
    """An optional. ``NONE`` is the empty one."""

    __slots__ = ("has_value", "value")

    def __init__(self, value: Any, *, has_value: bool = True) -> None:
        self.value = value
        self.has_value = has_value


NONE: Final = Optional(None, has_value=False)


class Empty:
    """A ``google.protobuf.Empty`` message, the only one without a CEL value of its own."""

    __slots__ = ()


def key_of(value: Any) -> object:
    """What two map keys have in common if the map takes them for one.

    Values with the same number in different types stay apart; lists, maps and optionals are kept
    by identity. :exc:`TypeError` for what can be no key.
    """
    kind = value.__class__
    if kind is str:
        return value
    if kind in (int, Uint, bool):
        return (kind, value)
    if kind is float:
        # NaN is equal to nothing, itself included.
        return (kind, value) if value == value else (kind, object())
    if value is None:
        return (kind,)
    if kind is Duration:
        return (kind, value.nanos)
    if kind is Timestamp and not value.zone:
        return (kind, value.moment)
    if kind is TypeValue:
        return (kind, value.name)
    own = getattr(value, "map_key", None)
    if own is not None:
        return own()
    if kind is bytes:
        raise TypeError("bytes cannot be a map key")
    return (kind, id(value))


class CelMap:
    """A map. Iterates in the order of insertion; the reference's order is random.

    ``entries`` maps :func:`key_of` a key to the pair of key and value. With ``default`` (an empty
    map) every look-up finds something, while size, iteration and ``==`` do not see it. One
    ``of_strings`` is asked for any key; others refuse what can be no key.
    """

    __slots__ = ("default", "entries", "textual")

    def __init__(self, default: CelMap | None = None) -> None:
        self.entries: dict[object, tuple[object, object]] = {}
        self.default = default
        self.textual = False

    @classmethod
    def of_strings(
        cls, items: Iterable[tuple[str, object]], default: CelMap | None = None
    ) -> CelMap:
        """A map with string keys."""
        made = cls(default)
        made.textual = True
        made.entries = {key: (key, value) for key, value in items}
        return made

    def again(self) -> CelMap:
        """The same map as another object, which counts where it is a key."""
        made = CelMap(self.default)
        made.textual = self.textual
        made.entries = self.entries
        return made

    def put(self, key: Any, value: Any) -> None:
        """Add or replace an entry; only while the map is being built."""
        self.entries[key_of(key)] = (key, value)

    def find(self, key: Any) -> tuple[object, object] | None:
        """The entry of a key, equal numbers of other types included; None if there is none."""
        found = self.entries.get(key) if key.__class__ is str else self._find_other(key)
        if found is None and self.default is not None:
            return (key, self.default)
        return found

    def _find_other(self, key: Any) -> tuple[object, object] | None:
        if not self.entries or self.textual:
            return None
        for candidate in _same_number(key):
            found = self.entries.get(key_of(candidate))
            if found is not None:
                return found
        return None

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[object]:
        return (pair[0] for pair in self.entries.values())

    def items(self) -> Iterable[tuple[object, object]]:
        """Pairs of key and value."""
        return self.entries.values()


def _same_number(key: Any) -> list[object]:
    kind = key.__class__
    if kind is int:
        return [key, Uint(key)] if key >= 0 else [key]
    if kind is Uint:
        return [key, int(key)] if key <= INT_MAX else [key]
    if kind is float:
        whole = _lossless(key)
        found: list[object] = [key]
        if whole is not None and INT_MIN <= whole <= INT_MAX:
            found.append(whole)
        if whole is not None and 0 <= whole <= UINT_MAX:
            found.append(Uint(whole))
        return found
    return [key]


def _lossless(number: float) -> int | None:
    return int(number) if number.is_integer() else None


def lossless_int(number: float) -> int | None:
    """The int that is exactly ``number``, None if there is none in 64 bits."""
    whole = _lossless(number)
    return whole if whole is not None and INT_MIN <= whole < INT_MAX else None
