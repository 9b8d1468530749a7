"""Metadata of prepared claims: what the edits of a request's CDI ids show to a container."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pytest_dra.bench import hooks
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.claims import Wanted
from pytest_dra.bench.claims import results_of
from pytest_dra.bench.devices import Device
from pytest_dra.bench.devices import same_in
from pytest_dra.checks import cdi_specs
from pytest_dra.checks import metadata
from pytest_dra.checks import prepare
from pytest_dra.checks.metadata import Name
from pytest_dra.checks.metadata import Place
from pytest_dra.checks.pools import newest
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import pause
from pytest_dra.waiting import poll
from pytest_dra.wire.answers import NodeReply

POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim that was made from a template (contract 4.6)."""

FILE_MAX: Final = 1 << 20
"""Bytes of a file that are read."""

AGAIN_S: Final = 0.1
"""After so long a reader tries once more."""

READ_S: Final = 0.002
"""Pause between two looks during an update: short, to meet a file that is half written."""

UPDATE_S: Final = 5.0
"""Deadline of an update of one claim's metadata."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A prepared claim, and by request the ids of its answer and what they do."""

    claim: Claim
    pod_claim: str
    ids: dict[str, list[str]]
    edits: dict[str, Json | None]
    devices: dict[str, list[Device]]
    reply: NodeReply

    def place(self, request: str, driver: str) -> Place:
        """Where the metadata of a request is to be found."""
        name, pod_claim = self.claim.name, self.pod_claim
        return Place(driver=driver, claim=name, request=request, pod_claim=pod_claim)


class Reader:
    """Looks at metadata where it lies on the node."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def places(self, shown: Shown) -> list[tuple[str, Place]]:
        """The requests of a claim."""
        return [(request, shown.place(request, self._bench.driver)) for request in shown.ids]

    def host_path(self, shown: Shown, place: Place) -> Path:
        """Where the file of a request lies, for us.

        Raises:
            Violation: it is not mounted.
        """
        mount = metadata.mount_at(shown.edits[place.request], place)
        return self._bench.instance.place.outside(str(mount.get("hostPath")))

    def document(self, shown: Shown, place: Place) -> Json:
        """The first object of a request's file.

        Raises:
            Violation: there is none.
        """
        path = self.host_path(shown, place)
        try:
            return metadata.document_in(read(path), place)
        except OSError as error:
            raise Violation(
                f"the file with the {place}", got=error.strerror, want="a file that can be read"
            ) from error

    def after_update(self, shown: Shown, place: Place, before: Json) -> Json:
        """Read again and again until the generation has risen, or time is up.

        Raises:
            Violation: two tries in a row find no document.
        """
        path, last = self.host_path(shown, place), before

        def risen() -> bool:
            nonlocal last
            last, problem = _try(path)
            if problem:
                pause(AGAIN_S)
                last, problem = _try(path)
                metadata.must_be_readable(problem, place, pause_s=AGAIN_S)
            return metadata.generation_of(last) > metadata.generation_of(before)

        poll(risen, Deadline.after(UPDATE_S), every_s=READ_S)
        return last

    def left(self, shown: Shown, place: Place, file: Path) -> list[str]:
        """What is still there of a request's metadata: its file, its directories, its CDI device.

        ``file`` is where :meth:`host_path` has found it.
        """
        claim = shown.claim
        words = (claim.uid, f"{claim.namespace}_{claim.name}")
        own = [file, *(each for each in file.parents if any(word in str(each) for word in words))]
        registry = self._bench.instance.cdi()
        found = [each.name for each in own if each.exists()]
        ids = [
            id
            for id in shown.ids[place.request]
            if metadata.mounts_of(cdi_specs.edits_of(registry, [id]))
        ]
        return [*found, *ids]


def read(path: Path) -> bytes:
    """The begin of a file; OSError if it cannot be read."""
    with path.open("rb") as file:
        return file.read(FILE_MAX)


def _try(path: Path) -> tuple[Json, str]:
    try:
        return metadata.first_object(read(path)), ""
    except (OSError, ValueError) as error:
        return {}, str(error)


@contextmanager
def shown(bench: Bench, devices: Sequence[Device], *, pod_claim: str = "") -> Iterator[Shown]:
    """Prepare a claim with one request per device, and release it afterwards.

    ``pod_claim``: the name that a pod has for the claim, which then looks made from a template.

    Raises:
        Violation: it is not prepared.
    """
    wanted = bench.completed(
        [Wanted(request=f"req-{n}", devices=(each,)) for n, each in enumerate(devices)]
    )
    annotations = {"annotations": {POD_CLAIM: pod_claim}} if pod_claim else {}
    claim = bench.claims.create(wanted, metadata=annotations)
    claim = bench.allocate(claim, results_of(wanted, driver=bench.driver))
    reply = bench.prepare(claim)
    prepare.must_succeed(reply, claim.uid, what="Prepare")
    registry = bench.last_preparation().registry
    ids = {each.request: _ids(reply, claim.uid, each.request) for each in wanted}
    try:
        yield Shown(
            claim=claim,
            pod_claim=pod_claim,
            ids=ids,
            edits={name: cdi_specs.edits_of(registry, some) for name, some in ids.items()},
            devices={each.request: list(each.devices) for each in wanted},
            reply=reply,
        )
    finally:
        bench.unprepare(claim)


def _ids(reply: NodeReply, uid: str, request: str) -> list[str]:
    """The CDI ids of a container that names the request."""
    return [
        id
        for device in reply.devices_of(uid)
        if not device.request_names or request in device.request_names
        for id in device.cdi_device_ids
    ]


def published(bench: Bench, devices: Sequence[Device]) -> dict[Name, Json]:
    """The devices as the slices have them now."""
    slices = newest(bench.instance.slices())
    found = {(each.pool, each.name): same_in(each, slices) for each in devices}
    return {name: device for name, device in found.items() if device is not None}


def update(bench: Bench, some: Shown) -> None:
    """Have the driver update the metadata of a claim."""
    device = next(iter(some.devices.values()))[0]
    values = hooks.values_of(some.claim, device)
    command = bench.profile.hooks.metadata_update
    hooks.run(bench.instance, command, name="hooks.metadata_update", values=values)
