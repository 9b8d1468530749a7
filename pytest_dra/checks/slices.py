"""ResourceSlices: as the driver sent them, and as they stand once publishing has settled."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from pytest_dra.api.names import dns_label_error
from pytest_dra.api.names import pool_name_error
from pytest_dra.spec import Json
from pytest_dra.spec import Violation

NODE_CHOICES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
"""The fields of which exactly one is set (resource.k8s.io/v1 ResourceSliceSpec)."""


def named(body: Json) -> str:
    """How a message names a slice that may not have a name yet."""
    metadata = body.get("metadata") or {}
    name = metadata.get("name") or f"{metadata.get('generateName', '')}... (name to be generated)"
    pool = ((body.get("spec") or {}).get("pool") or {}).get("name", "")
    return f"ResourceSlice {name} of pool {pool!r}"


def devices_must_be_published(slices: Sequence[Json], *, driver: str, within_s: float) -> None:
    """At least one slice, with at least one device."""
    if any((item.get("spec") or {}).get("devices") for item in slices):
        return
    got = f"{len(slices)} slices without devices" if slices else "no slice"
    raise Violation(
        f"ResourceSlices with spec.driver={driver}",
        got=got,
        want=f"a slice with at least one device within {within_s:g} s of the start",
    )


def nodes_must_be_chosen_once(bodies: Iterable[Json]) -> None:
    """Each slice as sent sets exactly one of the four fields, and that one properly."""
    for body in bodies:
        spec = body.get("spec") or {}
        chosen = [field for field in NODE_CHOICES if spec.get(field) not in (None, "")]
        if len(chosen) != 1:
            raise Violation(
                named(body), got=chosen, want=f"exactly one of {', '.join(NODE_CHOICES)}"
            )
        if spec.get(chosen[0]) is False:
            raise Violation(f"spec.{chosen[0]} of {named(body)}", got=False, want="true or unset")
        if chosen == ["nodeSelector"]:
            terms = spec["nodeSelector"].get("nodeSelectorTerms") or []
            if len(terms) != 1:
                raise Violation(
                    f"spec.nodeSelector of {named(body)}",
                    got=f"{len(terms)} terms",
                    want="exactly one term",
                )


def node_names_must_be(bodies: Iterable[Json], *, node: str) -> None:
    """A slice that names a node names the one that the driver was started for."""
    for body in bodies:
        name = (body.get("spec") or {}).get("nodeName")
        if name not in (None, "", node):
            raise Violation(
                f"spec.nodeName of {named(body)}",
                got=name,
                want=f"{node!r}, the node name that the driver was started with",
            )


def counts_must_be_true(pools: Mapping[tuple[str, str], Sequence[Json]]) -> None:
    """All slices of a pool's newest generation state their number.

    Args:
        pools: slices of the newest generation by (driver, pool).
    """
    for (driver, pool), members in sorted(pools.items()):
        counts = [_pool(item).get("resourceSliceCount", 0) for item in members]
        if any(count != len(members) for count in counts):
            generation = _pool(members[0]).get("generation", 0)
            raise Violation(
                f"pool {pool!r} of {driver}, generation {generation}",
                got=f"{len(members)} slices that state resourceSliceCount {sorted(set(counts))}",
                want=f"resourceSliceCount {len(members)} in each of the {len(members)} slices",
            )


def device_names_must_be_unique(pools: Mapping[tuple[str, str], Sequence[Json]]) -> None:
    """No device name comes twice in a pool's newest generation."""
    for (driver, pool), members in sorted(pools.items()):
        seen: dict[str, str] = {}
        for item in members:
            for device in (item.get("spec") or {}).get("devices") or []:
                name = device.get("name", "")
                if name in seen:
                    here = (item.get("metadata") or {}).get("name", "")
                    raise Violation(
                        f"device {name!r} in pool {pool!r} of {driver}",
                        got=f"in slices {seen[name]} and {here}",
                        want="a name that is unique in the pool",
                    )
                seen[name] = (item.get("metadata") or {}).get("name", "")


def names_must_be_well_formed(bodies: Iterable[Json]) -> None:
    """Device names are DNS labels, pool names DNS subdomains joined by ``/``; as sent."""
    for body in bodies:
        pool = _pool(body).get("name", "")
        problem = pool_name_error(pool)
        if problem:
            raise Violation(f"spec.pool.name of {named(body)}", got=pool, want=problem)
        for device in (body.get("spec") or {}).get("devices") or []:
            problem = dns_label_error(device.get("name", ""))
            if problem:
                raise Violation(
                    f"a device of {named(body)}", got=device.get("name", ""), want=problem
                )


def inventory(slices: Iterable[Json]) -> frozenset[tuple[str, str]]:
    """(pool, device) of all slices."""
    return frozenset(
        (_pool(item).get("name", ""), device.get("name", ""))
        for item in slices
        for device in (item.get("spec") or {}).get("devices") or []
    )


def inventory_must_be_back(
    now: Iterable[Json], *, before: Iterable[Json], after: str, within_s: float
) -> None:
    """After its slices were deleted the driver has published the same devices again."""
    missing = inventory(before) - inventory(now)
    if missing:
        raise Violation(
            f"ResourceSlices after {after}",
            got=f"{len(missing)} devices missing, such as {sorted(missing)[0]}",
            want=f"the same devices again within {within_s:g} s, without help",
        )


def count(slices: Iterable[Json]) -> int:
    """Number of devices in all slices."""
    return sum(len((item.get("spec") or {}).get("devices") or []) for item in slices)


def devices_must_be_back(
    now: Iterable[Json], *, before: Iterable[Json], after: str, within_s: float
) -> None:
    """A driver that was started again has published as many devices as before.

    Whether they have kept their names is the matter of another case.
    """
    wanted, found = count(before), count(now)
    if found < wanted:
        raise Violation(
            f"ResourceSlices after {after}",
            got=f"{found} devices",
            want=f"{wanted} devices as before within {within_s:g} s, without help",
        )


def driver_must_be_back(
    *, registered: bool, missing: Collection[tuple[str, str]], got: str, within_s: float
) -> None:
    """A driver that was started without API server works once there is one.

    Args:
        registered: with the kubelet.
        missing: (pool, device) that it does not publish.
        got: how its process ended by itself; empty if it runs.
        within_s: since the API server was back.
    """
    if registered and not missing:
        return
    seen = "not registered" if not registered else f"{len(missing)} devices are not published"
    raise Violation(
        "start while the API server was down",
        got=got or seen,
        want=f"registered and published within {within_s:g} s after it was back",
    )


def _pool(item: Json) -> Json:
    found = (item.get("spec") or {}).get("pool")
    return found if isinstance(found, dict) else {}
