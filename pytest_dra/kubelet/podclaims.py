"""Claims of pods: which are prepared and unprepared, by which calls, and what went wrong.

Source: pkg/kubelet/cm/dra of kubelet 1.34 and 1.37, read, and the recordings ``prepare-*`` and
``unprepare-*``. The texts are the kubelet's, since pods' events show them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Sequence

from pytest_dra.kubelet.answers import ClaimRef
from pytest_dra.kubelet.answers import NodeReply
from pytest_dra.kubelet.chance import Chance
from pytest_dra.kubelet.checkpoint import Checkpoint
from pytest_dra.kubelet.checkpoint import KeptClaim
from pytest_dra.kubelet.podhost import ClaimObject
from pytest_dra.kubelet.podhost import ClaimUnreadable
from pytest_dra.kubelet.podhost import Pod
from pytest_dra.kubelet.podhost import PodHost
from pytest_dra.kubelet.settings import release

STRICT_SINCE = (1, 37)
"""From here on the devices of a repeated Prepare replace those of the one before, only a pod that
is known to use a claim can give it back, and none can begin to use it meanwhile (recordings
prepare-second-driver-fails, unprepare-other-pod-arrives)."""

PREPARE = "NodePrepareResources"
UNPREPARE = "NodeUnprepareResources"

GO_CODES = {
    "CANCELLED": "Canceled",
    "OK": "OK",
}
"""Names of gRPC's codes in Go that are not just in another case."""

GO_DETAILS = {"DEADLINE_EXCEEDED": "context deadline exceeded"}
"""What gRPC in Go says where the library says something else."""

Call = Callable[[str, Sequence[ClaimRef]], NodeReply]


class ClaimError(Exception):
    """What a kubelet says of a claim that it could not prepare, or give back."""


def driver_missing(driver: str) -> str:
    """What a kubelet says of a driver that is not registered."""
    return f"DRA driver {driver} is not registered"


class PodClaims:
    """Prepares and unprepares. Thread-safe: pods do not wait for each other.

    Args:
        kept: the claims that are known.
        host: gives claims.
        has: whether a driver is registered.
        prepare: calls a registered driver, as ``unprepare`` does.
    """

    def __init__(
        self,
        kept: Checkpoint,
        host: PodHost,
        *,
        kubernetes: str,
        chance: Chance,
        has: Callable[[str], bool],
        prepare: Call,
        unprepare: Call,
    ) -> None:
        self._kept = kept
        self._host = host
        self._strict = release(kubernetes) >= STRICT_SINCE
        self._chance = chance
        self._has = has
        self._calls = {PREPARE: prepare, UNPREPARE: unprepare}

    def prepare(self, pod: Pod) -> None:
        """Prepare what is not prepared yet, all claims of a driver by one call.

        Whatever goes wrong ends it; the next time all claims of the pod are sent again.

        Raises:
            ClaimError: as it goes into the pod's event.
        """
        try:
            objects = self._objects(pod)
            todo = self._begin(pod, objects)
            batches = _batches(todo)
            for driver in self._chance.order(pod.uid, batches, prepares=True):
                self._prepare_batch(driver, batches[driver])
        except ClaimError as error:
            raise ClaimError(f"prepare dynamic resources: {error}") from error
        with self._kept.locked():
            for kept in todo:
                self._change(kept.key, prepared=True)
            self._kept.write()

    def unprepare(self, pod: Pod) -> None:
        """Give back the claims of a pod of which it is the last user.

        Raises:
            ClaimError: one could not be given back; all of them are tried again the next time.
        """
        names = [kept.claim.name for kept in self._kept.of_pod(pod.uid)] if self._strict else []
        self.release(pod.uid, pod.namespace, names or [each.name for each in pod.claims])

    def release(self, uid: str, namespace: str, names: Sequence[str]) -> None:
        """The same for some claims of a pod of which only the uid is known.

        Raises:
            ClaimError: as :meth:`unprepare`.
        """
        todo = [kept for name in names if (kept := self._give_back(uid, namespace, name))]
        batches = _batches(todo)
        for driver in self._chance.order(uid, batches, prepares=False):
            if not self._has(driver):
                raise ClaimError(driver_missing(driver))
            self._call(UNPREPARE, driver, batches[driver])
        with self._kept.locked():
            for kept in todo:
                self._kept.drop(kept)
            self._kept.write()

    def release_all_but(self, active: frozenset[str]) -> list[str]:
        """Give back what pods hold that are not ``active`` (uids); what went wrong."""
        held: dict[tuple[str, str], list[str]] = {}
        for kept in self._kept.claims():
            for uid in kept.pods - active:
                held.setdefault((uid, kept.claim.namespace), []).append(kept.claim.name)
        errors = []
        for (uid, namespace), names in held.items():
            try:
                self.release(uid, namespace, names)
            except ClaimError as error:
                errors.append(str(error))
        return errors

    # ------------------------------------------------------------ before the calls
    def _objects(self, pod: Pod) -> list[ClaimObject]:
        """All claims of the pod, each of them usable, its drivers registered."""
        found = []
        for claim in pod.claims:
            try:
                made = self._host.claim(pod, claim)
            except ClaimUnreadable as error:
                raise ClaimError(f"fetch ResourceClaim {claim.name}: {error}") from error
            if made.foreign:
                raise ClaimError(made.foreign)
            if not made.reserved:
                raise ClaimError(
                    f"pod {pod.name} ({pod.uid}) is not allowed to use"
                    f" ResourceClaim {claim.name} ({made.ref.uid})"
                )
            if not made.drivers:
                raise ClaimError(f"ResourceClaim {claim.name}: not allocated")
            for driver in made.drivers:
                if not self._has(driver):
                    raise ClaimError(driver_missing(driver))
            found.append(made)
        return found

    def _begin(self, pod: Pod, objects: Sequence[ClaimObject]) -> list[KeptClaim]:
        """Write down that the pod uses its claims; those that are to be prepared."""
        todo = []
        with self._kept.locked():
            for made in objects:
                kept = self._kept.get(made.ref.namespace, made.ref.name)
                if kept is None:
                    kept = KeptClaim(claim=made.ref, drivers=dict.fromkeys(made.drivers))
                elif kept.claim.uid != made.ref.uid:
                    raise ClaimError(
                        f"old ResourceClaim with same name {made.ref.name} and different UID"
                        f" {kept.claim.uid} still exists (previous pod force-deleted?!)"
                    )
                elif kept.unpreparing and self._strict:
                    raise ClaimError(f"ResourceClaim {made.ref.name} is being unprepared")
                kept = dataclasses.replace(kept, pods=kept.pods | {pod.uid})
                self._kept.put(kept)
                self._kept.write()
                if not kept.prepared:
                    todo.append(kept)
        return todo

    def _give_back(self, uid: str, namespace: str, name: str) -> KeptClaim | None:
        """The claim if it is to be unprepared; None if it is not known or others use it."""
        with self._kept.locked():
            kept = self._kept.get(namespace, name)
            if kept is None or (self._strict and uid not in kept.pods):
                return None
            if len(kept.pods) > 1:
                self._kept.put(dataclasses.replace(kept, pods=kept.pods - {uid}))
                return None
            kept = dataclasses.replace(kept, unpreparing=True)
            self._kept.put(kept)
            return kept

    # ------------------------------------------------------------ the calls
    def _prepare_batch(self, driver: str, claims: Sequence[KeptClaim]) -> None:
        def take(kept: KeptClaim, reply: NodeReply) -> None:
            with self._kept.locked():
                now = self._kept.get(*kept.key)
                if now is None:
                    raise ClaimError(
                        "internal error: unable to get claim info for ResourceClaim"
                        f" {kept.claim.name} in namespace {kept.claim.namespace}"
                    )
                devices = reply.devices_of(kept.claim.uid)
                before = () if self._strict else now.drivers.get(driver) or ()
                drivers = {**now.drivers, driver: (*before, *devices)}
                self._kept.put(dataclasses.replace(now, drivers=drivers))

        self._call(PREPARE, driver, claims, take)

    def _call(
        self,
        method: str,
        driver: str,
        claims: Sequence[KeptClaim],
        take: Callable[[KeptClaim, NodeReply], None] = lambda kept, reply: None,
    ) -> None:
        reply = self._calls[method](driver, [kept.claim for kept in claims])
        if not reply.ok:
            raise ClaimError(f"{method}: {_go_error(reply)}")
        asked = {kept.claim.uid: kept for kept in claims}
        for uid, answer in reply.claims.items():
            kept = asked.get(uid)
            if kept is None:
                raise ClaimError(f"{method} returned result for unknown claim UID {uid}")
            if answer.error:
                name = kept.claim.name
                raise ClaimError(f"{method} failed for ResourceClaim {name}: {answer.error}")
            take(kept, reply)
        missing = len(claims) - len(reply.claims)
        if missing:
            raise ClaimError(f"{method} skipped {missing} ResourceClaims")

    def _change(self, key: tuple[str, str], *, prepared: bool) -> None:
        now = self._kept.get(*key)
        if now is not None:
            self._kept.put(dataclasses.replace(now, prepared=prepared))


def _batches(claims: Sequence[KeptClaim]) -> dict[str, list[KeptClaim]]:
    """The claims of each driver."""
    made: dict[str, list[KeptClaim]] = {}
    for kept in claims:
        for driver in kept.drivers:
            made.setdefault(driver, []).append(kept)
    return made


def _go_error(reply: NodeReply) -> str:
    """A failed call as gRPC in Go shows it."""
    usual = "".join(part.capitalize() for part in reply.code.split("_"))
    code = GO_CODES.get(reply.code, usual)
    return f"rpc error: code = {code} desc = {GO_DETAILS.get(reply.code, reply.details)}"
