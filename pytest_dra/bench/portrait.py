"""One look at a driver: what it registers, publishes, and does for one claim."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pytest_dra.bench import signs
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.statefiles import StateFiles
from pytest_dra.checks.edits import FileKind
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment

MOST_NAMES: Final = 64
"""Attributes that are looked at; a driver has a dozen."""


class NotSeen(Exception):
    """The driver did not come so far that anything could be said of it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """Prepare and Unprepare of one claim on one device.

    Attributes:
        device: its name.
        problem: why it could not be prepared; empty if it could.
        ids: the CDI ids of the answer.
        specs: files that the ids resolve to, by path from the CDI directory, with what came of
            them when the claim was released: True if they went.
        kinds: the CDI kinds of these files.
        absent: host paths of the edits that are not there.
        state: files below the data directory that it made or changed, the claim's uid as ``*``.
    """

    device: str
    problem: str = ""
    ids: tuple[str, ...] = ()
    specs: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    state: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Portrait:
    """See the module. ``registered_s`` and ``published_s`` are seconds from the start.

    ``attributes``: by name the different values, as Kubernetes types them; ``signs``: features
    with what was seen of them.
    """

    name: str
    registered_s: float
    published_s: float
    devices: int
    pools: int
    attributes: Mapping[str, tuple[Json, ...]]
    signs: Mapping[str, str]
    cycle: Cycle | None

    @classmethod
    def of(cls, bench: Bench) -> Portrait:
        """Take it. The driver is started if it does not run yet.

        Raises:
            NotSeen: it does not register.
            LaunchError: it cannot be started.
        """
        instance = bench.instance
        plugin = instance.plugin()
        if plugin is None:
            raise NotSeen(
                instance.obituary()
                or f"it has not registered within {instance.budgets.start:g} s of its start"
            )
        registered = bench.timeline.now()
        slices = bench.published()
        writes = instance.slice_writes()
        devices = [each for item in slices for each in item["spec"].get("devices", ())]
        return cls(
            name=plugin.info.name,
            registered_s=max(0.0, registered - instance.began),
            published_s=max(0.0, writes[0].at - instance.began) if writes else 0.0,
            devices=len(devices),
            pools=len({item["spec"]["pool"]["name"] for item in slices}),
            attributes=_attributes(devices),
            signs={
                **signs.in_slices(instance.slices_as_sent()),
                **signs.advertised(plugin.info.supported_versions),
            },
            cycle=_cycle(bench),
        )


def _attributes(devices: Iterable[Json]) -> dict[str, tuple[Json, ...]]:
    found: dict[str, list[Json]] = {}
    for device in devices:
        for name, value in device.get("attributes", {}).items():
            if name in found or len(found) < MOST_NAMES:
                values = found.setdefault(name, [])
                if value not in values:
                    values.append(value)
    return {name: tuple(values) for name, values in sorted(found.items())}


def _cycle(bench: Bench) -> Cycle | None:
    """None if there is no device to give away."""
    try:
        device = bench.devices(1)[0]
    except UnsupportedEnvironment:
        return None
    state = StateFiles(bench)
    claim = bench.claim([device])
    reply = bench.prepare(claim)
    problem = reply.error_for(claim.uid)
    kept = state.now()
    preparation = bench.last_preparation()
    files = preparation.files()
    bench.unprepare(claim)
    bench.claims.delete(claim)
    if problem:
        return Cycle(device=device.name, problem=str(problem))
    registry = preparation.registry
    return Cycle(
        device=device.name,
        ids=tuple(id for _, ids in preparation.ids() for id in ids),
        specs={_shown(path.name, claim): not path.exists() for path in files},
        kinds=tuple(sorted({f.kind for f in registry.files if f.path in files})),
        absent=tuple(
            path for path, seen in preparation.host.items() if seen.target is FileKind.MISSING
        ),
        state=tuple(sorted({_shown(_below(path, bench), claim) for path in kept})),
    )


def _shown(text: str, claim: Claim) -> str:
    """A path with a star for the claim."""
    return text.replace(claim.uid, "*").replace(claim.name, "*")


def _below(path: Path, bench: Bench) -> str:
    """The path from the driver's own directory on."""
    parts = path.relative_to(bench.instance.directories.plugins_dir).parts
    return "/".join(parts[1:] or parts)
