"""Devices as the input of expressions: values converted once, names filed under their domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.cel import opaque
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import EvaluationError
from pytest_dra.cel.opaque import SemVer
from pytest_dra.cel.values import INT_MAX
from pytest_dra.cel.values import INT_MIN
from pytest_dra.cel.values import CelMap

_EMPTY: Final = CelMap()
"""What an unknown domain holds."""

_LISTS: Final = ("ints", "bools", "strings", "versions")
_SCALARS: Final = ("int", "bool", "string", "version")
AS_THEY_ARE: Final = {"string": str, "bool": bool}
"""Kinds of attributes whose values need nothing but the right type."""


def split_name(name: str, driver: str) -> tuple[str, str]:
    """Domain and id of the name of an attribute or a capacity."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def attribute_value(name: str, attribute: Any, *, lists: bool) -> object:
    """The one value of an attribute in the API's form; the first that is set counts.

    Raises:
        EvaluationError: no value that is supported, or a bad version. Any expression fails then.
    """
    if attribute.__class__ is dict and len(attribute) == 1:
        ((kind, value),) = attribute.items()
        # The common case by a shorter way: the rest would come to the same.
        if kind == "version" and value.__class__ is str:
            return _version(name, value)
        if value.__class__ is AS_THEY_ARE.get(kind):
            return value
    if isinstance(attribute, Mapping):
        for kind in (*_LISTS, *_SCALARS) if lists else _SCALARS:
            value = attribute.get(kind)
            if value is not None:
                return _converted(name, kind, value)
    raise _failed(name, "unsupported-attribute", "has no supported value")


def _failed(name: str, kind: str, text: str) -> EvaluationError:
    return EvaluationError(CelError(kind, f"attribute {name} {text}"))


def _converted(name: str, kind: str, value: Any) -> object:
    if kind.endswith("s"):
        if not isinstance(value, (list, tuple)):
            raise _failed(name, "unsupported-attribute", f"has no list in {kind}")
        return [_converted(name, kind[:-1], item) for item in value]
    wanted = {"int": int, "bool": bool, "string": str, "version": str}[kind]
    if value.__class__ is not wanted:
        raise _failed(name, "unsupported-attribute", f"has no {kind} but {value!r:.60}")
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        raise _failed(name, "unsupported-attribute", "has an int of more than 64 bits")
    return _version(name, value) if isinstance(value, str) and kind == "version" else value


def _version(name: str, value: str) -> SemVer:
    version = opaque.version_of(value)
    if not isinstance(version, SemVer):
        raise _failed(name, "attribute-version", f"has no strict version but {value!r:.60}")
    return version


def capacity_value(name: str, entry: Any) -> object:
    """The quantity of a capacity in the API's form.

    Raises:
        EvaluationError: it is none.
    """
    amount = entry.get("value") if isinstance(entry, (dict, Mapping)) else entry
    if amount.__class__ is not str:
        amount = "0" if amount is None else str(amount)
    quantity = opaque.capacity_of(amount.strip())
    if isinstance(quantity, CelError):
        raise EvaluationError(CelError("parse-quantity", f"capacity {name}: {quantity.message}"))
    return quantity


def _filed(pairs: list[tuple[str, object]], driver: str) -> CelMap:
    domains: dict[str, dict[str, object]] = {}
    for name, value in pairs:
        domain, identifier = split_name(name, driver)
        domains.setdefault(domain, {})[identifier] = value
    inner = ((domain, CelMap.of_strings(values.items())) for domain, values in domains.items())
    return CelMap.of_strings(inner, _EMPTY)


def device_value(driver: str, device: Mapping[str, Any], *, lists: bool = True) -> CelMap:
    """The value of ``device`` in expressions.

    ``device`` is in the API's form: ``attributes``, ``capacity``, ``allowMultipleAllocations``.

    Raises:
        EvaluationError: an attribute or capacity that fails any expression.
    """
    attributes = device.get("attributes") or {}
    capacity = device.get("capacity") or {}
    if not isinstance(attributes, Mapping) or not isinstance(capacity, Mapping):
        raise _failed("", "unsupported-attribute", "maps are wanted")
    values = [
        (str(name), attribute_value(str(name), attribute, lists=lists))
        for name, attribute in attributes.items()
    ]
    amounts = [(str(name), capacity_value(str(name), entry)) for name, entry in capacity.items()]
    multiple = device.get("allowMultipleAllocations")
    return CelMap.of_strings((
        ("driver", driver),
        ("allowMultipleAllocations", multiple is True),
        ("attributes", _filed(values, driver)),
        ("capacity", _filed(amounts, driver)),
    ))  # fmt: skip
