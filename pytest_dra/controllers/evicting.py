"""Pods go whose devices are tainted with NoExecute, by their driver or by a DeviceTaintRule.

Facts: the device taint eviction controller of Kubernetes 1.37.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
from collections.abc import Iterator
from typing import Final

from pytest_dra.allocator.taints import tolerates
from pytest_dra.api import resources
from pytest_dra.api.times import moment_of
from pytest_dra.api.times import now
from pytest_dra.api.times import stamp
from pytest_dra.controllers import podclaims
from pytest_dra.controllers.conditions import merged
from pytest_dra.controllers.events import NORMAL
from pytest_dra.controllers.events import Events
from pytest_dra.controllers.looping import ControlLoop
from pytest_dra.controllers.looping import Within
from pytest_dra.controllers.looping import everywhere
from pytest_dra.controllers.looping import soonest
from pytest_dra.controllers.rulestatus import NO_EXECUTE
from pytest_dra.controllers.rulestatus import RuleStatus
from pytest_dra.controllers.rulestatus import effect_of
from pytest_dra.kube import CONFLICT
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.scheduling import consumers
from pytest_dra.scheduling.cluster import DeviceKey
from pytest_dra.scheduling.cluster import Key
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import device_of
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.spec import Json

COMPONENT: Final = "device-taint-eviction"
"""The source of its events."""

REASON: Final = "DeletionByDeviceTaintManager"
"""Reason of the condition ``DisruptionTarget`` of a pod that goes."""

_LISTED: Final = (
    resources.PODS,
    resources.RESOURCE_CLAIMS,
    resources.RESOURCE_SLICES,
    resources.DEVICE_TAINT_RULES,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """When something has to go, and the uids of the rules among the reasons."""

    at: datetime.datetime
    rules: frozenset[str] = frozenset()

    def joined(self, other: Eviction | None) -> Eviction:
        """The earlier moment, for the reasons of both."""
        if other is None:
            return self
        return Eviction(at=min(self.at, other.at), rules=self.rules | other.rules)


class TaintEviction(ControlLoop):
    """See the module. ``within``: the namespaces that it acts in."""

    def __init__(self, client: Client, *, within: Within = everywhere) -> None:
        optional = (resources.DEVICE_TAINT_RULES,)
        super().__init__(client, _LISTED, optional=optional, within=within)
        self._events = Events(client, COMPONENT)
        took = functools.partial(self.written, resources.DEVICE_TAINT_RULES)
        self._status = RuleStatus(client, took)
        self._evicted: set[str] = set()
        self._planned: set[str] = set()

    def round(self) -> float | None:
        """Evict the pods that are due."""
        rules = self.objects(resources.DEVICE_TAINT_RULES)
        due = self._due([one for one in rules if effect_of(one) == NO_EXECUTE])
        pause: float | None = None
        planned: set[str] = set()
        for pod, eviction in due:
            left = (eviction.at - now()).total_seconds()
            uid = str(pod["metadata"].get("uid"))
            if left > 0:
                planned.add(uid)
                pause = soonest(pause, left)
            elif uid not in self._evicted and self._evict(pod):
                self._evicted.add(uid)
                self._status.count(eviction.rules)
        self._cancel(planned)
        waiting = [(pod, one.rules) for pod, one in due if not self._is_going(pod)]
        return soonest(pause, self._status.write(rules, waiting, self._simulated))

    def _simulated(self, rule: Json) -> str:
        """What a rule without an effect would do with ``NoExecute``."""
        taint = {**rule["spec"]["taint"], "effect": NO_EXECUTE}
        due = self._due([{**rule, "spec": {**rule["spec"], "taint": taint}}])
        uid = str(rule["metadata"].get("uid"))
        pods = [pod for pod, eviction in due if uid in eviction.rules]
        published = {
            (*pool, device["name"])
            for pool, devices in _newest(self.objects(resources.RESOURCE_SLICES))
            for device in devices
        }
        allocated = {
            device_of(result)
            for claim in self.objects(resources.RESOURCE_CLAIMS)
            for result in results_of(allocation_of(claim))
        }
        found = [sum(selects(rule, one) for one in devices) for devices in (published, allocated)]
        spaces = len({key_of(one)[0] for one in pods})
        return (
            f"selected devices: {found[0]} published, {found[1]} allocated; with NoExecute "
            f"pods to be evicted: {len(pods)}, in namespaces: {spaces}; looked at once"
        )

    def _cancel(self, planned: set[str]) -> None:
        """Tell the pods that were to go and may stay."""
        given_up = self._planned - planned - self._evicted
        self._planned = planned
        for pod in self.objects(resources.PODS) if given_up else ():
            if pod["metadata"].get("uid") in given_up and not self._is_going(pod):
                self._events.tell(pod, NORMAL, _EVENT, "Cancelling deletion")

    def _is_going(self, pod: Json) -> bool:
        meta = pod["metadata"]
        return bool(meta.get("deletionTimestamp")) or meta.get("uid") in self._evicted

    def _due(self, rules: list[Json]) -> list[tuple[Json, Eviction]]:
        """The pods on nodes that have to go some time."""
        taints = _taints(self.objects(resources.RESOURCE_SLICES))
        claims: dict[Key, tuple[Json, Eviction]] = {}
        for claim in self.objects(resources.RESOURCE_CLAIMS):
            when = _eviction_of(claim, taints, rules)
            if when is not None:
                claims[key_of(claim)] = (claim, when)
        due: list[tuple[Json, Eviction]] = []
        for pod in self.objects(resources.PODS) if claims else ():
            eviction: Eviction | None = None
            if not (pod.get("spec") or {}).get("nodeName"):
                continue
            for name, owned in podclaims.names_of(pod):
                found = claims.get((key_of(pod)[0], name))
                if found is None or (owned and not podclaims.is_of(found[0], pod)):
                    continue
                if consumers.is_reserved(found[0], pod, groups=True):
                    eviction = found[1].joined(eviction)
            if eviction is not None:
                due.append((pod, eviction))
        return due

    def _evict(self, known: Json) -> bool:
        """Delete a pod, with its grace; False if there is nothing to delete any more."""
        namespace, name = key_of(known)
        uid = str(known["metadata"].get("uid"))
        try:
            pod = self.client.get(resources.PODS, name, namespace=namespace)
            if pod["metadata"].get("uid") != uid or pod["metadata"].get("deletionTimestamp"):
                return False
            self._events.tell(pod, NORMAL, _EVENT, "Marking for deletion")
            condition = {
                "type": "DisruptionTarget", "status": "True", "reason": REASON,
                "message": "a device of the pod has a taint with effect NoExecute",
                "lastTransitionTime": stamp(),
            }  # fmt: skip
            status = {"conditions": merged(pod, [condition])}
            body = {"metadata": {"uid": uid}, "status": status}
            self.client.patch(resources.PODS, name, body, namespace=namespace, subresource="status")
            self.client.delete(resources.PODS, name, namespace=namespace, grace_s=None, uid=uid)
        except KubeError as error:
            if error.code in (NOT_FOUND, CONFLICT):
                return False
            raise
        return True


_EVENT: Final = "DeviceTaintManagerEviction"


def _newest(slices: list[Json]) -> Iterator[tuple[tuple[str, str], list[Json]]]:
    """Driver and pool, and the devices, of each slice of the newest generation of its pool."""
    newest: dict[tuple[str, str], int] = {}
    for one in slices:
        pool, generation = _pool(one)
        newest[pool] = max(newest.get(pool, generation), generation)
    for one in slices:
        pool, generation = _pool(one)
        if generation == newest[pool]:
            yield pool, one["spec"].get("devices") or []


def _taints(slices: list[Json]) -> dict[DeviceKey, list[Json]]:
    """Taints with NoExecute of the devices."""
    found: dict[DeviceKey, list[Json]] = {}
    for pool, devices in _newest(slices):
        for device in devices:
            taints = [each for each in device.get("taints") or () if each["effect"] == NO_EXECUTE]
            if taints:
                found.setdefault((*pool, device["name"]), taints)
    return found


def _pool(one: Json) -> tuple[tuple[str, str], int]:
    spec = one["spec"]
    return (spec["driver"], spec["pool"]["name"]), int(spec["pool"].get("generation") or 0)


def selects(rule: Json, device: DeviceKey) -> bool:
    """True if a rule means a device; one without a selector means none here."""
    selector = (rule.get("spec") or {}).get("deviceSelector")
    if selector is None:
        return False
    wanted = (selector.get("driver"), selector.get("pool"), selector.get("device"))
    return all(one in (None, is_) for one, is_ in zip(wanted, device, strict=True))


def _eviction_of(
    claim: Json, taints: dict[DeviceKey, list[Json]], rules: list[Json]
) -> Eviction | None:
    """When the pods of a claim have to go; None if they may stay."""
    found: Eviction | None = None
    for result in results_of(allocation_of(claim)):
        device = device_of(result)
        reasons: list[tuple[Json, str]] = [(one, "") for one in taints.get(device, ())]
        reasons += [
            (one["spec"]["taint"], str(one["metadata"].get("uid")))
            for one in rules
            if selects(one, device)
        ]
        for taint, uid in reasons:
            at = _moment(result.get("tolerations") or [], taint)
            if at is not None:
                found = Eviction(at=at, rules=frozenset([uid] if uid else ())).joined(found)
    return found


def _moment(tolerations: list[Json], taint: Json) -> datetime.datetime | None:
    """The end of what is tolerated of a taint; None if it is tolerated for ever."""
    spans = list(_spans(tolerations, taint))
    if None in spans:
        return None
    since = moment_of(taint.get("timeAdded")) or now()
    shortest = min((one for one in spans if one is not None), default=0)
    return since + datetime.timedelta(seconds=min(max(0, shortest), _LONGEST_S))


_LONGEST_S: Final = 10**9
"""Further ahead nothing is planned: a Time of the API has to hold it."""


def _spans(tolerations: list[Json], taint: Json) -> Iterator[int | None]:
    """For how many seconds each toleration covers a taint; only those that name the effect."""
    for one in tolerations:
        if one.get("effect") == NO_EXECUTE and tolerates(one, taint):
            yield one.get("tolerationSeconds")
