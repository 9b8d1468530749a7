"""The ways in which a claim that does not fit could be different."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.allocator import taints as tainting
from pytest_dra.allocator.requests import RESULTS_MAX
from pytest_dra.explaining.trials import ClaimEdit
from pytest_dra.explaining.trials import Edit
from pytest_dra.explaining.trials import Trials
from pytest_dra.explaining.trials import source_at
from pytest_dra.explaining.trials import sources
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import device_of
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.scheduling.cluster import requests_of
from pytest_dra.scheduling.cluster import results_of

Json = dict[str, Any]

TAINT: Final = "taint-tolerated"
HOLDER: Final = "holder-ended"
SELECTOR: Final = "selector-dropped"
CONSTRAINT: Final = "constraint-dropped"
COUNT: Final = "fewer-devices"
CAPACITY: Final = "capacity-dropped"
CLASS: Final = "class-selector-dropped"
REQUEST: Final = "request-dropped"

IN_USE_BINDS: Final = "devices in use"
"""What binds if devices of others would be enough."""

_COSTS: Final = {
    TAINT: 1, HOLDER: 2, COUNT: 3, CONSTRAINT: 4, SELECTOR: 5, CAPACITY: 5, REQUEST: 6, CLASS: 9,
}  # fmt: skip
"""How far a change is from what was wanted; the nearest ones are told first."""

_TAINTS_MAX: Final = 16
"""Different taints that are tolerated one by one."""

HOLDERS_MAX: Final = 128
"""Claims whose end is tried one by one."""


def edits(trials: Trials) -> Iterator[Edit]:
    """All single changes that make sense, those of classes last."""
    yield from _taints(trials, trials.claims)
    yield from holders(trials)
    yield from of_claims(trials)


def of_claims(trials: Trials) -> Iterator[Edit]:
    """Changes of what is asked for, those of classes last."""
    claims = trials.claims
    many = len(claims) > 1
    for number, place, which, name, source in sources(claims):
        told = f"request {name}" + (
            f" of claim {claims[number]['metadata']['name']}" if many else ""
        )
        where = (number, place, which)
        yield from _count(where, told, source)
        yield from _selectors(where, told, source)
        yield from _capacity(where, told, source)
    yield from _requests(claims, many=many)
    yield from _constraints(claims, many=many)
    yield from class_selectors(trials)


def _edit(kind: str, text: str, requirement: str, change: ClaimEdit) -> Edit:
    return Edit(kind=kind, text=text, requirement=requirement, cost=_COSTS[kind], claims=change)


Where = tuple[int, int, int]


def _count(where: Where, told: str, source: Json) -> Iterator[Edit]:
    count = source.get("count") or 0
    if source.get("allocationMode") == "All":
        yield fewer(where, told, 1)
    for fewer_devices in range(min(count - 1, RESULTS_MAX), 0, -1):
        yield fewer(where, told, fewer_devices)


def fewer(where: Where, told: str, count: int) -> Edit:
    """A request for a number of devices."""

    def change(claims: list[Json]) -> None:
        source = source_at(claims, *where)
        source["allocationMode"], source["count"] = "ExactCount", count

    text = f"{told} asked for {count} device{'s' if count > 1 else ''}"
    return _edit(COUNT, text, f"{told}: the number of devices", change)


def _selectors(where: Where, told: str, source: Json) -> Iterator[Edit]:
    for number, one in enumerate(source.get("selectors") or ()):
        text = " ".join(str((one.get("cel") or {}).get("expression")).split())

        def change(claims: list[Json], number: int = number) -> None:
            # It stays, so that the others keep their numbers until all edits are made.
            source_at(claims, *where)["selectors"][number] = {"cel": {"expression": "true"}}

        name = f"selector #{number}"
        yield _edit(SELECTOR, f"{told} had no {name} ({text})", f"{told}: {name} ({text})", change)


def _capacity(where: Where, told: str, source: Json) -> Iterator[Edit]:
    for name, amount in ((source.get("capacity") or {}).get("requests") or {}).items():

        def change(claims: list[Json], name: str = name) -> None:
            found = source_at(claims, *where)["capacity"]["requests"]
            found.pop(name, None)

        text = f"capacity {name} {amount}"
        yield _edit(CAPACITY, f"{told} did not ask for {text}", f"{told}: {text}", change)


def _requests(claims: Sequence[Json], *, many: bool) -> Iterator[Edit]:
    """Without one of several requests."""
    places = [
        (number, place, request)
        for number, claim in enumerate(claims)
        for place, request in enumerate(requests_of(claim))
    ]
    for number, place, request in places if len(places) > 1 else ():
        of = f" of claim {claims[number]['metadata']['name']}" if many else ""
        told = f"request {request.get('name')}{of}"

        def change(changed: list[Json], number: int = number, place: int = place) -> None:
            found = requests_of(changed[number])[place]
            for source in (found.get("exactly"), *(found.get("firstAvailable") or ())):
                if source is not None:
                    # Nothing is asked for, and the other requests keep their places.
                    source["allocationMode"], source["count"] = "ExactCount", 0

        yield _edit(REQUEST, f"{told} were not there", told, change)


def _constraints(claims: Sequence[Json], *, many: bool) -> Iterator[Edit]:
    for claim_number, claim in enumerate(claims):
        of = f" of claim {claim['metadata']['name']}" if many else ""
        found = ((claim.get("spec") or {}).get("devices") or {}).get("constraints") or ()
        for number, one in enumerate(found):

            def change(
                changed: list[Json], claim_number: int = claim_number, number: int = number
            ) -> None:
                devices = changed[claim_number]["spec"]["devices"]
                # A constraint on a request that is not there constrains nothing.
                devices["constraints"][number] = {
                    **devices["constraints"][number], "requests": ["-"],
                }  # fmt: skip

            kind = "matchAttribute" if one.get("matchAttribute") else "distinctAttribute"
            name = f"constraint #{number}{of} ({kind} {one.get(kind)})"
            yield _edit(CONSTRAINT, f"there were no {name}", name, change)


def class_selectors(trials: Trials) -> Iterator[Edit]:
    """Selectors of the classes that are asked for."""
    names = {str(one.get("deviceClassName") or "") for *_, one in sources(trials.claims)}
    for name in sorted(names & set(trials.scheduler.cluster.classes)):
        spec = trials.scheduler.cluster.classes[name].get("spec") or {}
        for number, one in enumerate(spec.get("selectors") or ()):
            text = " ".join(str((one.get("cel") or {}).get("expression")).split())
            told = f"selector #{number} of class {name} ({text})"
            yield Edit(
                kind=CLASS, text=f"there were no {told}", requirement=told, cost=_COSTS[CLASS],
                dropped=(name, number),
            )  # fmt: skip


def _taints(trials: Trials, claims: Sequence[Json]) -> Iterator[Edit]:
    seen: dict[tuple[str, str], None] = {}
    for one in trials.scheduler.index.by_pool.values():
        for found in one:
            for device in found.layout.devices if found.layout.tainted else ():
                for taint in device.get("taints") or ():
                    if tainting.blocks(taint, trials.scheduler.rules.minor):
                        seen[str(taint.get("key")), str(taint.get("effect"))] = None
    for key, effect in list(seen)[:_TAINTS_MAX]:
        yield tolerated(claims, key, effect)


def tolerated(claims: Sequence[Json], key: str, effect: str) -> Edit:
    """All requests tolerate a taint; of all taints if the key is empty."""
    places = [(number, place, which) for number, place, which, *_ in sources(claims)]
    toleration: Mapping[str, str] = {"operator": "Exists"}
    if key:
        toleration = {"key": key, "effect": effect, **toleration}

    def change(changed: list[Json]) -> None:
        for where in places:
            source = source_at(changed, *where)
            source["tolerations"] = [*(source.get("tolerations") or ()), dict(toleration)]

    return _edit(TAINT, f"taint {key}:{effect} were tolerated", "taints of devices", change)


def holders(trials: Trials) -> Iterator[Edit]:
    """The end of each claim that holds devices of a node that was tried."""
    cluster, index = trials.scheduler.cluster, trials.scheduler.index
    tried = [one.node for one in trials.answers]
    own = {key_of(one) for one in trials.decision.subject.claims}
    found: dict[tuple[str, str], set[str]] = {}
    pools: dict[tuple[str, str], list[str]] = {}
    for name in tried:
        view = index.view(cluster.node(name))
        for pool in view.pools:
            pools.setdefault(pool.key, []).append(name)
    for device, keys in cluster.holders.items():
        for key in keys:
            if key not in own and device[:2] in pools:
                found.setdefault(key, set()).update(pools[device[:2]])
    for key, names in list(found.items())[:HOLDERS_MAX]:
        users = cluster.users(key)
        told = f"pod {key[0]}/{users[0]}" if users else f"claim {'/'.join(key)}"
        more = f" and {len(users) - 1} pods more" if len(users) > 1 else ""
        through = f" (claim {'/'.join(key)})" if users else ""
        yield Edit(
            kind=HOLDER, text=f"{told}{more} ended{through}", requirement=IN_USE_BINDS,
            cost=_COSTS[HOLDER], released=frozenset([key]), nodes=frozenset(names),
        )  # fmt: skip


def everything_free(trials: Trials) -> Edit:
    """Nobody holds anything."""
    released = [
        key
        for key, claim in trials.scheduler.cluster.claims.items()
        if any(device_of(one)[2] for one in results_of(allocation_of(claim)))
    ]
    own = {key_of(one) for one in trials.decision.subject.claims}
    return Edit(
        kind=HOLDER, text="nothing were in use", requirement=IN_USE_BINDS,
        cost=_COSTS[HOLDER], released=frozenset(released) - own,
    )  # fmt: skip
