"""Taints of published devices."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Final

from pytest_dra.checks.flaws import Flaw
from pytest_dra.checks.flaws import device_text
from pytest_dra.checks.flaws import devices_of
from pytest_dra.checks.flaws import driver_of
from pytest_dra.spec import Json

_KUBERNETES: Final = ("kubernetes.io", "k8s.io")


def are_used(slices: Iterable[Json]) -> bool:
    """True if a device has a taint."""
    return any(device.get("taints") for _, _, device in devices_of(slices))


def keys_must_have_a_domain(slices: Iterable[Json], *, domains: Collection[str]) -> Iterator[Flaw]:
    """The key of each taint has the driver's name or a domain of the vendor before its slash.

    Args:
        slices: as published.
        domains: of the vendor; none: any domain that is not Kubernetes' own.
    """
    for item, path, device in devices_of(slices):
        for index, taint in enumerate(device.get("taints") or []):
            key = str(taint.get("key", ""))
            domain = key.rpartition("/")[0]
            kubernetes = any(domain == own or domain.endswith(f".{own}") for own in _KUBERNETES)
            legal = {driver_of(item), *domains}
            if not domain or kubernetes or (domains and domain not in legal):
                yield Flaw(
                    item=item,
                    field=f"{path}.taints[{index}].key",
                    where=f"taint of {device_text(item, device)}",
                    got=key,
                    want=f"a key like {driver_of(item)}/{key.rpartition('/')[2] or 'name'}",
                )


def informational_must_have_no_effect(
    slices: Iterable[Json], *, keys: Collection[str]
) -> Iterator[Flaw]:
    """Taints with these keys have the effect ``None``."""
    for item, path, device in devices_of(slices):
        for index, taint in enumerate(device.get("taints") or []):
            if taint.get("key") in keys and taint.get("effect") != "None":
                yield Flaw(
                    item=item,
                    field=f"{path}.taints[{index}].effect",
                    where=f"taint {taint['key']} of {device_text(item, device)}",
                    got=taint.get("effect"),
                    want="None, since the taint only informs",
                )
