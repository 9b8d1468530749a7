"""Attributes and capacities of published devices, as schedulers and users meet them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.api.quantity import Quantity
from pytest_dra.api.quantity import QuantityError
from pytest_dra.api.quantity import canonical
from pytest_dra.checks.flaws import Flaw
from pytest_dra.checks.flaws import device_text
from pytest_dra.checks.flaws import devices_of
from pytest_dra.checks.flaws import driver_of
from pytest_dra.spec import Json
from pytest_dra.spec import Violation

STANDARD_DOMAIN: Final = "resource.kubernetes.io"

_PCIE_ROOT: Final = re.compile(r"pci[0-9a-f]{4}:[0-9a-f]{2}")
_PCI_BUS_ID: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

NUMA_SINCE: Final = 37
"""The minor version that brought ``numaNode``."""

_LIST_TYPES: Final = {"bools": "bool", "ints": "int", "strings": "string", "versions": "version"}

NANO_DIGITS: Final = 9
"""Decimal places that a quantity keeps."""


def full_name(name: str, driver: str) -> str:
    """The name of an attribute with its domain: that of the driver where it has none."""
    return name if "/" in name else f"{driver}/{name}"


def type_of(value: object) -> str:
    """The field that holds the value of an attribute; "" if none does."""
    return next(iter(value), "") if isinstance(value, dict) else ""


def types_must_agree(slices: Iterable[Json], *, lists_are_one: bool) -> Iterator[Flaw]:
    """An attribute has the same type on all devices of a driver.

    Args:
        slices: as published or as sent.
        lists_are_one: a list counts as its scalar.
    """
    places: dict[tuple[str, str], dict[str, list[tuple[Json, str, Json]]]] = {}
    for item, path, device in devices_of(slices):
        driver = driver_of(item)
        for name, value in (device.get("attributes") or {}).items():
            kind = type_of(value)
            if kind:
                kind = _LIST_TYPES.get(kind, kind) if lists_are_one else kind
                seen = places.setdefault((driver, full_name(name, driver)), {})
                seen.setdefault(kind, []).append((item, f"{path}.attributes[{name}]", device))
    for (_, name), by_type in places.items():
        if len(by_type) < 2:
            continue
        usual = max(by_type, key=lambda kind: len(by_type[kind]))
        for kind, found in by_type.items():
            if kind != usual:
                item, path, device = found[0]
                yield Flaw(
                    item=item,
                    field=path,
                    where=f"attribute {name} of {device_text(item, device)}",
                    got=f"{kind} on {len(found)} devices",
                    want=f"{usual}, as on {len(by_type[usual])} devices of the driver",
                )


def kinds_must_be_alike(slices: Iterable[Json], *, kind_attribute: str) -> Iterator[Flaw]:
    """Devices of one kind have the same attributes.

    Args:
        slices: as published.
        kind_attribute: tells kinds apart; without it, devices with the same capacities are one.
    """
    groups: dict[tuple[str, object], list[tuple[Json, str, Json]]] = {}
    for item, path, device in devices_of(slices):
        driver = driver_of(item)
        groups.setdefault((driver, _kind(device, driver, kind_attribute)), []).append(
            (item, path, device)
        )
    for (driver, _), members in groups.items():
        counts: Counter[str] = Counter()
        names = []
        for _, _, device in members:
            own = {full_name(name, driver) for name in device.get("attributes") or {}}
            names.append(own)
            counts.update(own)
        for name, count in counts.items():
            if count == len(members):
                continue
            lacking = next(number for number, own in enumerate(names) if name not in own)
            item, path, device = members[lacking]
            yield Flaw(
                item=item,
                field=f"{path}.attributes",
                where=f"attributes of {device_text(item, device)}",
                got=f"no {name}, as on {len(members) - count} of {len(members)} devices of its "
                "kind; a selector that names it fails there, and the pod with it",
                want=f"{name} on all devices of one kind, or on none",
            )


def _kind(device: Json, driver: str, kind_attribute: str) -> object:
    if kind_attribute:
        wanted = full_name(kind_attribute, driver)
        for name, value in (device.get("attributes") or {}).items():
            if full_name(name, driver) == wanted:
                return repr(value)
        return ""
    return tuple(sorted(full_name(name, driver) for name in device.get("capacity") or {}))


def standard_must_be_kept(slices: Iterable[Json], *, minor: int) -> Iterator[Flaw]:
    """Below ``resource.kubernetes.io/`` are only Kubernetes' own attributes, in their formats."""
    known = "pcieRoot, pciBusID" + (", numaNode" if minor >= NUMA_SINCE else "")
    for item, path, device in devices_of(slices):
        for field in ("attributes", "capacity"):
            for name, value in (device.get(field) or {}).items():
                domain, _, plain = name.partition("/")
                if domain != STANDARD_DOMAIN:
                    continue
                want = _standard(plain, value, minor) if field == "attributes" else known
                if want:
                    yield Flaw(
                        item=item,
                        field=f"{path}.{field}[{name}]",
                        where=f"{name} of {device_text(item, device)}",
                        got=value,
                        want=want if plain in known else f"only {known} in that domain",
                    )


def _standard(name: str, value: Any, minor: int) -> str:
    """What the value should be; "" if it is."""
    value = value if isinstance(value, dict) else {}
    if name in ("pcieRoot", "pciBusID"):
        form = _PCIE_ROOT if name == "pcieRoot" else _PCI_BUS_ID
        texts = [value["string"]] if "string" in value else value.get("strings") or []
        if texts and all(isinstance(text, str) and form.fullmatch(text) for text in texts):
            return ""
        return "a string like pci0000:16" if name == "pcieRoot" else "a string like 0000:16:00.0"
    if name == "numaNode" and minor >= NUMA_SINCE:
        numbers = [value["int"]] if "int" in value else value.get("ints") or []
        if numbers and all(isinstance(number, int) and number >= 0 for number in numbers):
            return ""
        return "an int of at least 0, or a list of them"
    return "a standard attribute"


def version_must_be_published(slices: Iterable[Json], *, attribute: str) -> Iterator[Flaw]:
    """Each device has the attribute, as a version."""
    for item, path, device in devices_of(slices):
        driver = driver_of(item)
        wanted = full_name(attribute, driver)
        values = {
            full_name(name, driver): value
            for name, value in (device.get("attributes") or {}).items()
        }
        if type_of(values.get(wanted)) not in ("version", "versions"):
            yield Flaw(
                item=item,
                field=f"{path}.attributes",
                where=f"attribute {wanted} of {device_text(item, device)}",
                got=values.get(wanted),
                want="a version",
            )


def keys_must_have_one_slash(slices: Iterable[Json]) -> Iterator[Flaw]:
    """No attribute or capacity has a name with two slashes, which no expression can reach."""
    for item, path, device in devices_of(slices):
        for field in ("attributes", "capacity"):
            for name in device.get(field) or {}:
                if name.count("/") > 1:
                    yield Flaw(
                        item=item,
                        field=f"{path}.{field}[{name}]",
                        where=f"{field} of {device_text(item, device)}",
                        got=name,
                        want="at most one slash: domain/name",
                    )


def quantities_must_be_plain(
    slices: Iterable[Json], *, spelled: Callable[[Json, str], object] | None = None
) -> Iterator[Flaw]:
    """Capacities and counters are not negative, and keep their value in the server's hands.

    Args:
        slices: as sent, before the server makes quantities canonical.
        spelled: finds a quantity as it was written, where the slices are in canonical form.
    """
    for item in slices:
        for path, value in _quantities(item):
            text = spelled(item, path) if spelled is not None else value
            problem = _quantity_problem(text)
            if problem:
                yield Flaw(
                    item=item,
                    field=path,
                    where=f"{path} of ResourceSlice {(item.get('metadata') or {}).get('name', '')}",
                    got=text,
                    want=problem,
                )


def _quantities(item: Json) -> Iterator[tuple[str, Any]]:
    spec = item.get("spec") or {}
    for number, found in enumerate(spec.get("sharedCounters") or []):
        for name, value in (found.get("counters") or {}).items():
            path = f"spec.sharedCounters[{number}].counters[{name}].value"
            yield path, (value or {}).get("value")
    for _, path, device in devices_of([item]):
        for name, value in (device.get("capacity") or {}).items():
            yield f"{path}.capacity[{name}].value", (value or {}).get("value")
        for number, entry in enumerate(device.get("consumesCounters") or []):
            for name, value in (entry.get("counters") or {}).items():
                where = f"{path}.consumesCounters[{number}].counters[{name}].value"
                yield where, (value or {}).get("value")


def _quantity_problem(value: Any) -> str:
    """What a quantity should be; "" if it is. One that is none is the matter of the server."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return ""
    try:
        found = Quantity.parse(value)
        kept = Quantity.parse(found.canonical)
    except QuantityError:
        return ""
    if found.nanos < 0:
        return "at least 0"
    text = str(value)
    digits = re.match(r"\s*[+-]?[0-9]*(?:\.([0-9]*))?([numkMGTPE]?i?)", text)
    fraction = (digits[1] or "").rstrip("0") if digits else ""
    finer = {"n": NANO_DIGITS, "u": 6, "m": 3}.get(digits[2] if digits else "", 0)
    if (fraction and len(fraction) + finer > NANO_DIGITS and "i" not in text) or kept != found:
        return f"a value that the server can hold: it makes it {kept.canonical}"
    return ""


def capacities_of(slices: Iterable[Json]) -> dict[tuple[str, str], dict[str, str]]:
    """The values of all capacities, canonical, by pool and device."""
    return {
        (str(item["spec"]["pool"]["name"]), str(device.get("name"))): {
            str(name): canonical(str(value.get("value")))
            for name, value in (device.get("capacity") or {}).items()
        }
        for item, _, device in devices_of(slices)
    }


def capacity_must_stay(
    before: Iterable[Json], now: Iterable[Json], *, while_: str, proof: Sequence[int] = ()
) -> None:
    """No device has another capacity than before; one that has gone or come is not looked at.

    Args:
        before: slices.
        now: slices, or those of some writes.
        while_: what has been done meanwhile.
        proof: serials of what shows it.
    """
    old = capacities_of(before)
    for name, values in capacities_of(now).items():
        if values != old.get(name, values):
            raise Violation(
                f"capacity of device {name[1]!r} of pool {name[0]!r} {while_}",
                got=values,
                want=f"{old[name]}, as before: the device has as much as ever",
                proof=tuple(proof),
            )
