"""What a recording says of pods: when they come, change and go, what their containers do, and what
the kubelet tells of them.

A pod is JSON: ``claims`` ([name, uid, [[driver, device]...]]), ``reserved``, ``starts`` (seconds
from the preparation to the first container, None: never), ``stops`` (seconds that its containers
take to end when they have to), ``phase`` (the last one), ``uses`` (entry and request).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_dra.spec import Json
from tests.upstream import kubelet_scope as scope

LISTED_S = 1.1
"""A container runs, or has ended, for up to so long before the kubelet shows it: one turn of its
loop, and the way to the API server."""

TURNS_S = 1.5
"""From the end of a container to Unprepare: half a turn and a whole one, as the kubelet does."""

AWAITED_S = 0.1
"""An act that follows so soon upon a status has waited for it."""

JUST_BEFORE_S = 0.02
"""What the kubelet acts upon was there a moment before."""

EVENT = "FailedPrepareDynamicResources"
FETCH = "Failed to prepare dynamic resources: prepare dynamic resources: fetch ResourceClaim "
LAST_PHASES = ("Succeeded", "Failed")
PREPARE = "NodePrepareResources"
UNPREPARE = "NodeUnprepareResources"


class PodFacts:
    """The pods of one recording."""

    def __init__(self, name: str, rows: list[Json], facts: Json) -> None:
        self._name = name
        self._facts = facts
        self._rows = rows
        self.pods = {
            pod: self._about(pod)
            for pod in dict.fromkeys(row["pod"] for row in rows if "pod" in row)
            if name not in scope.NO_PODS
        }

    def do(self) -> Iterator[list[Any]]:
        """What happens to pods, as acts of a play."""
        for pod in self.pods:
            arrived = self._arrived(pod)
            yield from self._refusals(pod, arrived)
            yield from self.awaited(self._created_at(pod), arrived)
            yield [arrived, "pod", pod]
            ended = self._ended_at(pod)
            if ended is not None:
                yield [ended, "exit", pod]
        for row in self._rows:
            text = row.get("do", "")
            pod = text.removeprefix("annotation of pod ").removesuffix(" changed")
            if pod in self.pods and text != pod:
                yield [row["t"], "touch", pod]
            pod, _, grace = text.removeprefix("delete pod ").partition(" with grace ")
            if pod in self.pods and text != pod:
                yield from self.awaited(row["t"], row["t"])
                yield [row["t"], "force" if grace == "0" else "delete", pod]
            if text in scope.SANDBOXES_LOST:
                yield from ([row["t"], "lose", pod] for pod in self.pods)
        for moment, _ in self._checkpoints():
            yield [moment, "checkpoint"]

    def awaited(self, done: float, moment: float) -> Iterator[list[Any]]:
        """What was done so soon upon a status, or an event, has waited for it.

        Args:
            done: when that was.
            moment: when the act is due that has to wait.
        """
        seen = sorted(self.saw(), key=lambda row: row[0])
        for index, (at, lane, what) in enumerate(seen):
            if 0 <= done - at <= AWAITED_S:
                count = sum(1 for row in seen[: index + 1] if row[1:] == [lane, what])
                yield [moment, "meet", lane, what, count, round(moment - at, 2)]

    def saw(self) -> Iterator[list[Any]]:
        """What the kubelet told of pods."""
        for moment, key in self._checkpoints():
            yield [moment, "checkpoint", ["claims", state_of(self._facts[key]["data"])]]
        with_health = self._name.startswith("health")
        last: dict[str, list[Any]] = {}
        for row in self._rows:
            if row.get("event") == EVENT and row["of"] in self.pods:
                yield [row["t"], f"events/{row['of']}", ["event", row["message"]]]
            pod = str(row.get("pod"))
            if pod not in self.pods or row["phase"] == "Pending":
                continue
            resources = row.get("main.resources", []) if with_health else []
            status = ["status", row["phase"], _resources(resources)]
            if not row.get("gone") and last.get(pod) != status:
                last[pod] = status
                yield [row["t"], f"status/{pod}", status]
            if row.get("gone") and not self._is_forced(pod):
                yield [row["t"], f"status/{pod}", ["gone"]]

    def _checkpoints(self) -> Iterator[tuple[float, str]]:
        """When the scenario read the checkpoint, and the fact that it made of it."""
        for key, before in scope.CHECKPOINTS.get(self._name, {}).items():
            if key not in self._facts:
                continue
            at = [row["t"] for row in self._rows if row.get("do") == before]
            yield (at[0] - JUST_BEFORE_S if at else self._rows[-1]["t"] + LISTED_S), key

    def devices_of(self, driver: str, claim: str) -> list[list[Any]]:
        """The devices that a driver gives for a claim if it does nothing special."""
        results = self._results(claim)
        return [
            [[f"r{number}"], "NODE", device, [f"ko.example/dev={device}"]]
            for number, (of, device) in enumerate(results)
            if of == driver
        ]

    # ------------------------------------------------------------ one pod
    def _about(self, pod: str) -> Json:
        claims = self._claims(pod)
        reserved = [self._reserved_at(pod, claim) is not None for claim in claims]
        made: Json = {
            "claims": [
                [claim, self._uid(claim, self._created_at(pod)), self._results(claim)]
                for claim in claims
            ],
            "reserved": all(reserved),
            "starts": self._starts(pod),
            "stops": self._stops(pod),
            "phase": next(
                (r["phase"] for r in self._of(pod) if r["phase"] in LAST_PHASES), "Succeeded"
            ),
        }
        request = scope.POD_REQUESTS.get(self._name, "")
        made["uses"] = [[f"c{number}", request] for number in range(len(claims))]
        return made

    def _of(self, pod: str) -> list[Json]:
        return [row for row in self._rows if row.get("pod") == pod]

    def _claims(self, pod: str) -> list[str]:
        given = scope.POD_CLAIMS.get(self._name, {}).get(pod)
        if given is not None:
            return list(given)
        rows = [row for row in self._rows if "claim" in row]
        order = dict.fromkeys(row["claim"] for row in rows)
        mine = {row["claim"] for row in rows if pod in row["reserved"]}
        return [claim for claim in order if claim in mine]

    def _results(self, claim: str) -> list[list[str]]:
        for row in self._rows:
            if row.get("claim") == claim and row.get("results"):
                split = (result.split("/") for result in row["results"])
                return [[f"{letter}.{self._name}.ko.example", dev] for letter, dev in split]
        return []

    def _uid(self, claim: str, at: float) -> str:
        """Claims of one name that come one after the other have uids of their own."""
        gone = [r for r in self._rows if r.get("claim") == claim and r.get("gone") and r["t"] < at]
        return f"uid-of-{claim}" + "'" * len(gone)

    def _created_at(self, pod: str) -> float:
        ordered = [row["t"] for row in self._rows if row.get("do") == f"create pod {pod}"]
        return float(min([*ordered, self._of(pod)[0]["t"]]))

    def _reserved_at(self, pod: str, claim: str) -> float | None:
        return next(
            (
                row["t"]
                for row in self._rows
                if row.get("claim") == claim and pod in row["reserved"] and row.get("results")
            ),
            None,
        )

    def _arrived(self, pod: str) -> float:
        """When the kubelet had the pod and could use its claims."""
        claims = self._claims(pod)
        reserved = [self._reserved_at(pod, claim) for claim in claims]
        times = [at for at in reserved if at is not None]
        usable = max(times) if times and len(times) == len(claims) else self._of(pod)[0]["t"]
        calls = [t for t in self._calls(PREPARE, pod) if t >= self._created_at(pod)]
        told = [r["t"] for r in self._rows if r.get("event") == EVENT and r["of"] == pod]
        return float(min([usable, *(t - JUST_BEFORE_S for t in (*calls, *told))]))

    def _calls(self, method: str, pod: str) -> list[float]:
        claims = set(self._claims(pod))
        return [
            row["t"]
            for row in self._rows
            if (row.get("ev"), row.get("method")) == ("call", method)
            and {claim["name"] for claim in row["claims"]} & claims
        ]

    def _refusals(self, pod: str, arrived: float) -> Iterator[list[Any]]:
        """Claims that the API server did not give at first."""
        for row in self._rows:
            message = row.get("message", "") if row.get("event") == EVENT else ""
            if row.get("of") == pod and message.startswith(FETCH):
                claim, _, text = message.removeprefix(FETCH).partition(": ")
                yield [arrived - JUST_BEFORE_S, "forbid", claim, text]
                yield [row["t"] + JUST_BEFORE_S, "allow", claim]

    # ------------------------------------------------------------ its containers
    def _deleted_at(self, pod: str) -> float | None:
        for row in self._rows:
            if str(row.get("do")).partition(" with grace ")[0] == f"delete pod {pod}":
                return float(row["t"])
        return None

    def _is_forced(self, pod: str) -> bool:
        return any(row.get("do") == f"delete pod {pod} with grace 0" for row in self._rows)

    def _starts(self, pod: str) -> float | None:
        run = [r["t"] for r in self._of(pod) if str(r.get("main")).startswith(("run", "term"))]
        deleted = self._deleted_at(pod)
        run = [t for t in run if deleted is None or t <= deleted]
        if not run:
            return None
        answered = [
            row["t"]
            for row in self._rows
            if (row.get("ev"), row.get("method")) == ("answer", PREPARE)
            and row["t"] <= run[0]
            and {c["uid"] for c in row.get("claims", ())}
            & {f"uid-of-{claim}" for claim in self._claims(pod)}
        ]
        since: float = max([self._arrived(pod), *answered])
        return round(max(JUST_BEFORE_S, float(run[0]) - since - LISTED_S), 2)

    def _ended_at(self, pod: str) -> float | None:
        """When its containers ended by themselves."""
        calls = [t for t in self._calls(UNPREPARE, pod) if t > self._arrived(pod)]
        shown: list[float] = [r["t"] for r in self._of(pod) if r["phase"] in LAST_PHASES]
        last = min([*shown, *(t + JUST_BEFORE_S for t in calls)], default=None)
        deleted = self._deleted_at(pod)
        if last is None or (deleted is not None and deleted < last):
            return None
        seen = [
            r["t"]
            for r in self._of(pod)
            if str(r.get("main")).startswith("terminated")
            and r["t"] < last
            and r["phase"] not in LAST_PHASES
        ]
        fitting: float = min(calls, default=last) - TURNS_S
        if seen:
            # It was shown up to a turn after it had happened.
            fitting = min(seen[-1] - JUST_BEFORE_S, max(seen[-1] - LISTED_S, fitting))
        return round(fitting, 2)

    def _stops(self, pod: str) -> float:
        deleted = self._deleted_at(pod)
        if deleted is None:
            return 0.0
        ended = [t for t in self._calls(UNPREPARE, pod) if t >= deleted] + [
            r["t"]
            for r in self._of(pod)
            if str(r.get("main")).startswith("terminated") and r["t"] > deleted
        ]
        return round(max(0.0, min(ended, default=deleted) - deleted - 2 * JUST_BEFORE_S), 2)


def _resources(listed: list[Json]) -> list[Any]:
    return [
        [
            each["name"],
            [[r["resourceID"], r["health"], r.get("message")] for r in each["resources"]],
        ]
        for each in listed
    ]


def state_of(data: Json) -> list[Any]:
    """What a checkpoint says, in an order of its own: claim, pods, and devices by driver."""
    return sorted(
        [
            state["ClaimUID"],
            state["ClaimName"],
            state["Namespace"],
            sorted(state["PodUIDs"]),
            {driver: _devices(each["Devices"]) for driver, each in state["DriverState"].items()},
        ]
        for state in data["ClaimInfoStateList"] or ()
    )


def _devices(devices: list[Json] | None) -> list[Json] | None:
    """Without what is not set, which 1.34 leaves out."""
    if devices is None:
        return None
    return [{key: value for key, value in each.items() if value is not None} for each in devices]
