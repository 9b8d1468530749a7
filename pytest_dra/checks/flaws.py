"""What rules find in objects: all of it for a review, the first of it as a Violation for a case."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Iterator

from pytest_dra.spec import Json
from pytest_dra.spec import Violation


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Flaw:
    """One place in an object that breaks a rule.

    Attributes:
        item: the object.
        field: path of the place in it, as the API names fields.
        where: object and place in words.
        got: what stands there.
        want: what should.
    """

    item: Json
    field: str
    where: str
    got: object
    want: str


def must_be_none(flaws: Iterable[Flaw]) -> None:
    """Raise the first flaw, if there is one."""
    for flaw in flaws:
        raise Violation(flaw.where, got=flaw.got, want=flaw.want)


def devices_of(slices: Iterable[Json]) -> Iterator[tuple[Json, str, Json]]:
    """(slice, path of the device, device) of all slices."""
    for item in slices:
        for index, device in enumerate((item.get("spec") or {}).get("devices") or []):
            yield item, f"spec.devices[{index}]", device


def driver_of(item: Json) -> str:
    """The driver of a slice; "" where it names none."""
    return str((item.get("spec") or {}).get("driver") or "")


def pool_of(item: Json) -> str:
    """The pool's name; "" where there is none."""
    return str(((item.get("spec") or {}).get("pool") or {}).get("name") or "")


def device_text(item: Json, device: Json) -> str:
    """Driver, pool and device as in the results of an allocation."""
    return f"device {driver_of(item)}/{pool_of(item)}/{device.get('name', '')}"
