"""What a DeviceTaintRule says of its evictions: the condition ``EvictionInProgress``."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.times import moment_of
from pytest_dra.api.times import now
from pytest_dra.api.times import stamp
from pytest_dra.controllers.conditions import merged
from pytest_dra.controllers.looping import soonest
from pytest_dra.kube import CONFLICT
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.spec import Json

NO_EXECUTE: Final = "NoExecute"
NONE: Final = "None"
"""Effects of taints: pods have to go, and nothing happens."""

CONDITION: Final = "EvictionInProgress"

PERIOD_S: Final = 10.0
"""Least time between two changes of the condition, as in Kubernetes."""

Waiting = tuple[Json, Collection[str]]
"""A pod that has to go, and the uids of the rules that want it."""


class RuleStatus:
    """Counts the evictions of each rule and writes its condition from time to time.

    ``took`` gets what the server has answered.
    """

    def __init__(self, client: Client, took: Callable[[Json], None]) -> None:
        self._client = client
        self._took = took
        self._evicted: dict[str, int] = {}

    def count(self, rules: Iterable[str]) -> None:
        """A pod has been evicted for these rules."""
        for uid in rules:
            self._evicted[uid] = self._evicted.get(uid, 0) + 1

    def write(
        self,
        rules: Iterable[Json],
        waiting: Sequence[Waiting],
        simulate: Callable[[Json], str],
    ) -> float | None:
        """Bring the conditions up to date; seconds until another one may be written.

        ``simulate`` says what a rule without an effect would do; it is asked once for each.
        """
        pause: float | None = None
        for rule in rules:
            had = _condition(rule)
            if effect_of(rule) == NONE:
                if had.get("observedGeneration") == _generation(rule):
                    continue
                wanted = _told(rule, "False", "NoEffect", simulate(rule))
            else:
                wanted = self._wanted(rule, waiting)
            if not _same(had, wanted):
                pause = soonest(pause, self._write(rule, had, wanted))
        return pause

    def _write(self, rule: Json, had: Json, wanted: Json) -> float | None:
        since = moment_of(had.get("lastTransitionTime"))
        if since is not None and had.get("observedGeneration") == wanted["observedGeneration"]:
            left = PERIOD_S - (now() - since).total_seconds()
            if left > 0:
                return left
        wanted["lastTransitionTime"] = stamp()
        meta = rule["metadata"]
        body = {
            "metadata": {"uid": meta.get("uid")},
            "status": {"conditions": merged(rule, [wanted])},
        }
        try:
            self._took(
                self._client.patch(
                    resources.DEVICE_TAINT_RULES, meta["name"], body, subresource="status"
                )
            )
        except KubeError as error:
            if error.code not in (NOT_FOUND, CONFLICT):
                raise
        return None

    def _wanted(self, rule: Json, waiting: Sequence[Waiting]) -> Json:
        uid = str(rule["metadata"].get("uid"))
        pods = [pod for pod, rules in waiting if uid in rules]
        evicted = self._evicted.get(uid, 0)
        status, reason, message = "False", "OtherEffect", "only NoExecute evicts pods"
        if effect_of(rule) == NO_EXECUTE:
            reason, message = ("Completed" if evicted else "NotStarted"), ""
            if pods:
                spaces = len({key_of(one)[0] for one in pods})
                status, reason = "True", "PodsPendingEviction"
                message = f"pods to be evicted: {len(pods)}, in namespaces: {spaces}"
        told = f"pods evicted since the controller's start: {evicted}" if evicted else ""
        return _told(rule, status, reason, "; ".join(one for one in (message, told) if one))


def effect_of(rule: Json) -> str:
    """The effect of a rule's taint."""
    return str(((rule.get("spec") or {}).get("taint") or {}).get("effect") or "")


def _generation(rule: Json) -> int:
    return int(rule["metadata"].get("generation") or 0)


def _told(rule: Json, status: str, reason: str, message: str) -> Json:
    return {
        "type": CONDITION,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": _generation(rule),
    }


def _condition(rule: Json) -> Json:
    for one in (rule.get("status") or {}).get("conditions") or ():
        if one.get("type") == CONDITION:
            return dict(one)
    return {}


def _same(had: Json, wanted: Json) -> bool:
    return all((had.get(name) or None) == (value or None) for name, value in wanted.items())
