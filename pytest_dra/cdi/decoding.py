"""From YAML nodes to a spec with the library's types: the only place where the versions differ.

1.1.0 turns YAML into JSON first, so that duplicate keys anywhere are an error, keys are found in
any case and numbers become text where text belongs. 1.1.2 decodes the nodes themselves.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from collections.abc import Iterator

from pytest_dra.cdi.document import Budget
from pytest_dra.cdi.document import Document
from pytest_dra.cdi.document import Mapping
from pytest_dra.cdi.document import Node
from pytest_dra.cdi.document import Scalar
from pytest_dra.cdi.document import Sequence
from pytest_dra.cdi.document import read_document
from pytest_dra.cdi.errors import CdiError
from pytest_dra.cdi.errors import shown
from pytest_dra.cdi.library import Library
from pytest_dra.cdi.scalars import FALSE_WORDS
from pytest_dra.cdi.scalars import TRUE_WORDS
from pytest_dra.cdi.scalars import Value
from pytest_dra.cdi.scalars import as_text
from pytest_dra.cdi.scalars import resolve
from pytest_dra.cdi.schema import SPEC
from pytest_dra.cdi.schema import Kind
from pytest_dra.cdi.schema import Shape
from pytest_dra.spec import Json

_INT64_MIN = -(2**63)
_INT64_MAX = 2**63 - 1
_RANGES = {Kind.INT64: (_INT64_MIN, _INT64_MAX), Kind.UINT32: (0, 2**32 - 1)}
_JSON_INTEGER_LIMIT = 1e21
"""From here on Go writes floats in JSON with an exponent, which no integer field takes."""

_MERGE = "<<"
_TYPE_ERRORS = ("unknown-field", "duplicate-key", "wrong-type")
"""1.1.2 reports all of these together; the first kind of this order names the error."""


def decode_spec(data: bytes, *, library: Library) -> Json:
    """The spec in ``data`` with canonical keys, absent where empty; raises :class:`CdiError`."""
    document = read_document(data)
    if library is Library.V1_1_0:
        spec = _Decoder110().document(document)
    else:
        spec = _Decoder112().document(document)
    if spec is None:
        raise CdiError("got no data, want one CDI spec", reason="empty")
    return spec


def _unknown(key: str, where: str) -> CdiError:
    return CdiError(f"{where}: unknown field {shown(key)}", reason="unknown-field")


def _duplicate(key: object, where: str) -> CdiError:
    return CdiError(f"{where}: key {shown(str(key))} is there twice", reason="duplicate-key")


def _wrong(node: Node | None, shape: Shape, where: str) -> CdiError:
    got = {Sequence: "a list", Mapping: "an object"}.get(type(node), "")
    if isinstance(node, Scalar):
        got = shown(node.text)
    return CdiError(f"{where}: got {got}, want {shape.kind.value}", reason="wrong-type")


def _merged_mappings(value: Node) -> list[Mapping]:
    """The mappings behind a merge key, in the order in which they count."""
    items = value.items if isinstance(value, Sequence) else [value]
    mappings = [item for item in items if isinstance(item, Mapping)]
    if len(mappings) != len(items):
        raise CdiError("merge key: want an object or a list of objects", reason="syntax")
    return mappings


def _is_merge(key: Node, library: Library) -> bool:
    if not isinstance(key, Scalar) or key.text != _MERGE:
        return False
    tag = key.tag or ""
    return key.plain or tag.endswith(":merge") or (library is Library.V1_1_2 and tag == "!")


class _Decoder110:
    """YAML 1.1 to JSON to the typed spec."""

    def __init__(self) -> None:
        self._budget = Budget()

    def document(self, document: Document) -> Json | None:
        for mapping in document.mappings:
            self._object(mapping)
        spec = self._value(document.root, SPEC, "spec", None)
        return spec if isinstance(spec, dict) else None

    def _resolve(self, node: Scalar) -> Value:
        return resolve(node.text, tag=node.tag, plain=node.plain, library=Library.V1_1_0)

    def _object(self, mapping: Mapping) -> dict[str, Node]:
        """The mapping as a JSON object; merged keys count as written in place."""
        seen: set[tuple[type, Value]] = set()
        found: dict[str, Node] = {}
        for key, value in self._pairs(mapping, MERGE_LEVELS):
            resolved = self._resolve(key) if isinstance(key, Scalar) else None
            if resolved is None:
                raise CdiError("a key is no string, number or boolean", reason="syntax")
            if (type(resolved), resolved) in seen:
                raise _duplicate(resolved, "object")
            seen.add((type(resolved), resolved))
            found[as_text(resolved)] = value
        return found

    def _pairs(self, mapping: Mapping, levels: int) -> Iterator[tuple[Node, Node]]:
        if levels == 0:
            raise CdiError(f"more than {MERGE_LEVELS} merge keys in a chain", reason="syntax")
        for key, value in mapping.pairs:
            self._budget.spend()
            if not _is_merge(key, Library.V1_1_0):
                yield key, value
                continue
            for merged in reversed(_merged_mappings(value)):
                yield from self._pairs(merged, levels - 1)

    def _value(self, node: Node | None, shape: Shape, where: str, old: object) -> object:
        """The decoded value, None for null; ``old`` is what the field holds already."""
        self._budget.spend()
        if node is None:
            return None
        if isinstance(node, Scalar):
            resolved = self._resolve(node)
            return None if resolved is None else self._scalar(node, resolved, shape, where)
        if isinstance(node, Sequence):
            if shape.kind is not Kind.LIST or shape.item is None:
                raise _wrong(node, shape, where)
            return self._list(node, shape.item, where)
        base = dict(old) if isinstance(old, dict) else {}
        if shape.kind is Kind.MAP and shape.item is not None:
            for key, value in sorted(self._object(node).items()):
                text = self._value(value, shape.item, f"{where}.{key[:60]}", None)
                base[key] = "" if text is None else text
            return base
        if shape.kind is not Kind.BLOCK:
            raise _wrong(node, shape, where)
        return self._block(node, shape, where, base)

    def _list(self, node: Sequence, item: Shape, where: str) -> list[object]:
        found = []
        for index, child in enumerate(node.items):
            value = self._value(child, item, f"{where}[{index}]", None)
            found.append(_empty(item) if value is None else value)
        return found

    def _block(self, node: Mapping, shape: Shape, where: str, base: Json) -> Json:
        names = {name.casefold(): name for name in shape.fields}
        for key, value in sorted(self._object(node).items()):
            name = key if key in shape.fields else names.get(key.casefold())
            if name is None:
                raise _unknown(key, where)
            field = shape.fields[name]
            decoded = self._value(value, field, f"{where}.{name}", base.get(name))
            if decoded is not None:
                base[name] = decoded
            elif field.nullable:
                base.pop(name, None)
        return base

    def _scalar(self, node: Scalar, value: Value, shape: Shape, where: str) -> object:
        if shape.kind is Kind.STRING and value is not None:
            return as_text(value)
        if shape.kind is Kind.BOOL and isinstance(value, bool):
            return value
        if isinstance(value, float) and not math.isfinite(value):
            raise CdiError(f"{where}: {shown(node.text)} is no JSON number", reason="syntax")
        if shape.kind in _RANGES and isinstance(value, (int, float)) and type(value) is not bool:
            low, high = _RANGES[shape.kind]
            whole = _json_integer(value) if isinstance(value, float) else value
            signed_zero = low == 0 and math.copysign(1, value) < 0
            if whole is not None and not signed_zero and low <= whole <= high:
                return whole
        raise _wrong(node, shape, where)


MERGE_LEVELS = 50
"""Merge keys in a chain: far above any use, below the recursion limit."""


def _empty(shape: Shape) -> object:
    """What a null in a list becomes where the library has no reference."""
    if shape.nullable:
        return None
    return {Kind.STRING: "", Kind.BLOCK: {}, Kind.BOOL: False}.get(shape.kind, 0)


class _Decoder112:
    """YAML nodes to the typed spec; type errors are collected, syntax errors end it."""

    def __init__(self) -> None:
        self._budget = Budget()
        self._errors: list[CdiError] = []

    def document(self, document: Document) -> Json | None:
        box: list[Json | None] = [None]

        def keep(value: object) -> None:
            box[0] = value if isinstance(value, dict) else None

        self._value(document.root, SPEC, "spec", None, keep)
        for reason in _TYPE_ERRORS:
            for error in self._errors:
                if error.reason == reason:
                    raise error
        return box[0]

    def _resolve(self, node: Scalar) -> Value:
        return resolve(node.text, tag=node.tag, plain=node.plain, library=Library.V1_1_2)

    def _value(
        self,
        node: Node | None,
        shape: Shape,
        where: str,
        old: object,
        keep: Callable[[object], None],
    ) -> bool:
        """Decode ``node``, hand the value to ``keep``; False when there was none to keep."""
        self._budget.spend()
        if node is None:
            return False
        if isinstance(node, Scalar):
            return self._scalar(node, shape, where, keep)
        if isinstance(node, Sequence):
            if shape.kind is not Kind.LIST or shape.item is None:
                self._errors.append(_wrong(node, shape, where))
                return False
            keep(self._list(node, shape.item, where))
            return True
        if not self._unique(node, where):
            return False
        base = dict(old) if isinstance(old, dict) else {}
        if shape.kind not in (Kind.BLOCK, Kind.MAP):
            self._errors.append(_wrong(node, shape, where))
            return False
        self._fields(node, shape, where, base, None, MERGE_LEVELS)
        keep(base)
        return True

    def _unique(self, mapping: Mapping, where: str) -> bool:
        seen: set[tuple[type, str]] = set()
        count = len(self._errors)
        for key, _ in mapping.pairs:
            identity = (type(key), key.text if isinstance(key, Scalar) else "")
            if identity in seen:
                self._errors.append(_duplicate(identity[1], where))
            seen.add(identity)
        return len(self._errors) == count

    def _list(self, node: Sequence, item: Shape, where: str) -> list[object]:
        found: list[object] = []
        for index, child in enumerate(node.items):
            self._value(child, item, f"{where}[{index}]", None, found.append)
        return found

    def _fields(
        self,
        node: Mapping,
        shape: Shape,
        where: str,
        base: Json,
        taken: set[str] | None,
        levels: int,
    ) -> None:
        """Fill ``base``; keys in ``taken`` come from a mapping that goes before this one."""
        merge: Node | None = None
        for key, value in node.pairs:
            if _is_merge(key, Library.V1_1_2):
                merge = value
                continue
            name = self._key(key, where)
            if name is None or (taken is not None and name in taken):
                continue
            if taken is not None:
                taken.add(name)
            self._field(name, value, shape, where, base)
        if merge is None:
            return
        if levels == 0:
            raise CdiError(f"more than {MERGE_LEVELS} merge keys in a chain", reason="syntax")
        if taken is None:
            keys = [key for key, _ in node.pairs if isinstance(key, Scalar)]
            taken = {text for key in keys if isinstance(text := self._resolve(key), str)}
        for mapping in _merged_mappings(merge):
            self._budget.spend()
            if self._unique(mapping, where):
                self._fields(mapping, shape, where, base, taken, levels - 1)

    def _key(self, key: Node, where: str) -> str | None:
        names: list[object] = []
        self._value(key, Shape(Kind.STRING), f"{where}: key", None, names.append)
        return names[0] if names and isinstance(names[0], str) else None

    def _field(self, name: str, value: Node, shape: Shape, where: str, base: Json) -> None:
        field = shape.item if shape.kind is Kind.MAP else shape.fields.get(name)
        if field is None:
            self._errors.append(_unknown(name, where))
            return

        def keep(decoded: object) -> None:
            if decoded is None:
                base.pop(name, None)
            else:
                base[name] = decoded

        good = self._value(value, field, f"{where}.{name[:60]}", base.get(name), keep)
        if not good and shape.kind is Kind.MAP:
            base.setdefault(name, "")

    def _scalar(
        self, node: Scalar, shape: Shape, where: str, keep: Callable[[object], None]
    ) -> bool:
        value = self._resolve(node)
        if value is None:
            if shape.nullable:
                keep(None)
            return shape.nullable
        decoded = self._converted(node, value, shape)
        if decoded is None:
            self._errors.append(_wrong(node, shape, where))
            return False
        keep(decoded)
        return True

    def _converted(self, node: Scalar, value: Value, shape: Shape) -> object:
        if shape.kind is Kind.STRING:
            return value if (node.tag or "").endswith(":binary") else node.text
        if shape.kind is Kind.BOOL:
            if isinstance(value, bool):
                return value
            return True if value in TRUE_WORDS else False if value in FALSE_WORDS else None
        if shape.kind in _RANGES and isinstance(value, (int, float)) and type(value) is not bool:
            low, high = _RANGES[shape.kind]
            if isinstance(value, float):
                value = _truncated(value)
            return value if value is not None and low <= value <= high else None
        return None


def _json_integer(value: float) -> int | None:
    """The integer that a float becomes in JSON: its shortest digits, then zeros."""
    if not value.is_integer() or abs(value) >= _JSON_INTEGER_LIMIT:
        return None
    return int(decimal.Decimal(repr(value)))


def _truncated(value: float) -> int | None:
    """A float where 1.1.2 wants an integer: cut off, and the least integer for what is below."""
    if math.isnan(value) or value > _INT64_MAX:
        return None
    return int(value) if value >= _INT64_MIN else _INT64_MIN
