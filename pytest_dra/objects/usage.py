"""Classes, claims and templates among captured objects: what they select of captured devices."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Final

from pytest_dra.api import resources
from pytest_dra.cel.environments import Environment
from pytest_dra.cel.errors import CompileError
from pytest_dra.checks.flaws import Flaw
from pytest_dra.checks.flaws import device_text
from pytest_dra.checks.pools import newest
from pytest_dra.checks.selecting import DECOY
from pytest_dra.checks.selecting import Matches
from pytest_dra.checks.selecting import Shown
from pytest_dra.checks.selecting import matching
from pytest_dra.checks.selecting import shown
from pytest_dra.objects.findings import CLASS_MISSING
from pytest_dra.objects.findings import NOTHING_MATCHES
from pytest_dra.objects.findings import SELECTOR_FAILS
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable

CLASSES: Final = (resources.DEVICE_CLASSES.kind, resources.RESOURCE_CLAIM_TEMPLATES.kind)
"""Kinds of resource.k8s.io that a driver ships: classes, and templates for its users."""

REQUESTS_MAX: Final = 2_000
"""Requests that are tried on all devices: claims of one template say the same."""


class Shop:
    """Well-formed objects in the form of v1: what is offered, and who asks for it."""

    def __init__(
        self,
        *,
        slices: Sequence[Json],
        classes: Sequence[Json],
        claims: Sequence[Json],
        templates: Sequence[Json],
        environment: Environment,
        wanted: Collection[str],
    ) -> None:
        """``wanted`` are the classes that must match a device."""
        self.classes = classes
        self.claims = claims
        self.templates = templates
        self.wanted = wanted
        self.environment = environment
        self._newest = newest(slices)
        self._devices: list[Shown] | None = None
        self._decoys: list[Shown] | None = None
        self._known: dict[tuple[str, ...], Matches | None] = {}

    @property
    def devices(self) -> list[Shown]:
        """The devices of all pools' newest generations."""
        if self._devices is None:
            self._devices = shown(self._newest, self.environment)
        return self._devices

    @property
    def decoys(self) -> list[Shown]:
        """The same devices as if they were of a driver that nobody has."""
        if self._decoys is None:
            self._decoys = shown(self._newest, self.environment, driver=DECOY)
        return self._decoys

    def matching(self, expressions: Sequence[str]) -> Matches | None:
        """What all expressions match; None where one does not compile or too many were asked."""
        key = tuple(expressions)
        if key not in self._known:
            try:
                enough = len(self._known) >= REQUESTS_MAX
                found = None if enough else matching(key, self.devices, self.environment)
            except CompileError:
                found = None
            self._known[key] = found
        return self._known[key]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wish:
    """One request or subrequest of a claim or a template."""

    item: Json
    path: str
    part: Json


def wishes(shop: Shop) -> Iterator[Wish]:
    """All requests of claims and templates."""
    for item in shop.claims:
        yield from _of_spec(item, item["spec"], "spec")
    for item in shop.templates:
        yield from _of_spec(item, item["spec"]["spec"], "spec.spec")


def _of_spec(item: Json, spec: Json, path: str) -> Iterator[Wish]:
    for index, request in enumerate(spec["devices"].get("requests") or []):
        where = f"{path}.devices.requests[{index}]"
        if request.get("exactly") is not None:
            yield Wish(item=item, path=f"{where}.exactly", part=request["exactly"])
        for number, part in enumerate(request.get("firstAvailable") or []):
            yield Wish(item=item, path=f"{where}.firstAvailable[{number}]", part=part)


def expressions(part: Json) -> list[str]:
    """The expressions of a class's spec or of a request."""
    return [
        str((selector.get("cel") or {}).get("expression", ""))
        for selector in part.get("selectors") or []
    ]


def classes_must_select(shop: Shop) -> Iterator[Flaw]:
    """A class matches a device of its driver, and none of another with the same attributes."""
    if not shop.devices:
        raise NotApplicable("no captured ResourceSlice has a device")
    for item in shop.classes:
        found = shop.matching(expressions(item["spec"]))
        if found is None:
            continue
        name = item["metadata"].get("name", "")
        if not found.devices:
            if name in shop.wanted:
                yield _class_flaw(item, "matches no captured device", "a device of its driver")
            continue
        decoys = matching(expressions(item["spec"]), shop.decoys, shop.environment).devices
        if decoys:
            yield _class_flaw(
                item,
                f"matches any driver's devices, such as {decoys[0].device.get('name', '')!r}",
                'a selector with device.driver == "NAME"',
            )


def _class_flaw(item: Json, got: str, want: str) -> Flaw:
    name = item["metadata"].get("name", "")
    return Flaw(item=item, field="spec.selectors", where=f"DeviceClass {name}", got=got, want=want)


def shipped_must_be_valid(_: Shop) -> Iterator[Flaw]:
    """All flaws are refusals."""
    return iter(())


def classes_must_be_there(shop: Shop) -> Iterator[Flaw]:
    """The classes that requests name are among the objects, if any classes are."""
    names = {item["metadata"].get("name") for item in shop.classes}
    for wish in wishes(shop) if names else ():
        name = wish.part.get("deviceClassName")
        if name and name not in names:
            yield Flaw(
                item=wish.item,
                field=f"{wish.path}.deviceClassName",
                where=wish.path,
                got=f"DeviceClass {name}, which is not among the objects",
                want=f"one of {', '.join(sorted(map(str, names)))}",
            )


def selectors_must_not_fail(shop: Shop) -> Iterator[Flaw]:
    """No selector of a class or a request fails on a captured device."""
    for item in shop.classes if shop.devices else ():
        yield from _failing(shop, item, "spec.selectors", (), expressions(item["spec"]))
    by_class = {item["metadata"].get("name"): item for item in shop.classes}
    for wish in wishes(shop) if shop.devices else ():
        first = by_class.get(wish.part.get("deviceClassName"))
        of_class = tuple(expressions(first["spec"])) if first else ()
        own = expressions(wish.part)
        if first is not None or not shop.classes:
            yield from _failing(shop, wish.item, f"{wish.path}.selectors", of_class, own)


def _failing(
    shop: Shop, item: Json, path: str, before: Sequence[str], own: Sequence[str]
) -> Iterator[Flaw]:
    """The failure of ``own`` on devices that ``before`` lets through without one."""
    earlier = shop.matching(before)
    found = shop.matching([*before, *own]) if own else None
    if found is None or found.failed is None or earlier is None or earlier.failed is not None:
        return
    one, error = found.failed
    yield Flaw(
        item=item,
        field=path,
        where=f"selector on {device_text(one.item, one.device)}",
        got=f"an error: {error.message}",
        want="true or false on every device that the selectors before it let through, or no "
        "pod with such a claim is scheduled",
    )


def requests_must_match(shop: Shop) -> Iterator[Flaw]:
    """Each class, and each request within its class, matches a captured device."""
    by_class = {item["metadata"].get("name"): item for item in shop.classes}
    for item in shop.classes if shop.devices else ():
        found = shop.matching(expressions(item["spec"]))
        if found is not None and not found.devices and found.failed is None:
            yield _class_flaw(item, "matches no captured device", "a device that it matches")
    for wish in wishes(shop) if shop.devices else ():
        first = by_class.get(wish.part.get("deviceClassName"))
        own = expressions(wish.part)
        if first is None or not own:
            continue
        of_class = shop.matching(expressions(first["spec"]))
        found = shop.matching([*expressions(first["spec"]), *own])
        if of_class and of_class.devices and found and not found.devices and not found.failed:
            yield Flaw(
                item=wish.item,
                field=f"{wish.path}.selectors",
                where=wish.path,
                got=f"no match among the {len(of_class.devices)} devices of its class",
                want="a device that it matches",
            )


UserRule = Callable[[Shop], Iterable[Flaw]]

OF_USERS: Final[tuple[tuple[str, tuple[str, ...], UserRule], ...]] = (
    ("ATTR-009", ("DeviceClass",), classes_must_select),
    ("ATTR-013", CLASSES, shipped_must_be_valid),
    (CLASS_MISSING, (), classes_must_be_there),
    (SELECTOR_FAILS, (), selectors_must_not_fail),
    (NOTHING_MATCHES, (), requests_must_match),
)
"""Rule, the kinds that it needs (one of them), and what judges."""
