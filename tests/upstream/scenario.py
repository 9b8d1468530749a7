"""Scenarios of the Go allocator's oracle, played with ours.

A scenario holds ``id``, ``profile``, ``features``, ``variant``, ``timeout``, ``noDefaults`` and
objects in ``nodes``, ``deviceClasses``, ``resourceSlices``, ``allocatedClaims``, ``claims``;
``tryNodes`` or ``pods`` say what is tried. The answer has one entry per node.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.allocator import BUDGET
from pytest_dra.allocator import Answer
from pytest_dra.allocator import Attempt
from pytest_dra.allocator import Index
from pytest_dra.allocator import RulesError
from pytest_dra.allocator import State
from pytest_dra.allocator import unavailable
from pytest_dra.allocator.rules import GATES
from pytest_dra.allocator.rules import INCUBATING
from pytest_dra.allocator.rules import LATEST
from pytest_dra.allocator.rules import STABLE
from pytest_dra.allocator.rules import Rules
from pytest_dra.allocator.rules import rules_with
from pytest_dra.allocator.search import PATIENCE
from pytest_dra.api.quantity import QuantityError
from pytest_dra.scheduling.cluster import allocation_of

Json = dict[str, Any]

_NO_TIME = re.compile(r"[1-9][0-9]*ns")
"""A deadline that has passed before anything can be done."""

PROFILES: Final[Mapping[str, tuple[str, ...]]] = {
    "none": (),
    "ga": ("DRAAdminAccess", "DRAPrioritizedList", "DRADeviceTaints"),
    "parts": STABLE,
    "default": INCUBATING,
    "all": tuple(GATES),
    "1.34": ("DRAAdminAccess", "DRAPrioritizedList"),
    "1.36": tuple(gate for gate in INCUBATING if gate != "DRAFractionalCapacityRange"),
}
"""The oracle's own names of sets of gates. Its default one has DRAFractionalCapacityRange, which
a scheduler of 1.37 has off: it is on where the minimum compatibility version is 1.37."""

_CLASSES = {"fatal": "fatal", "node": "node", "budget": "timeout"}
"""Class of an error by our verdict."""


def answer(
    scenario: Json, *, budget: int = BUDGET, patience: int = PATIENCE, minor: int = LATEST
) -> Json:
    """Our answer to a scenario, in the form of the oracle's. The scenario is not changed."""
    scenario = copy.deepcopy(scenario)
    made: Json = {"id": scenario.get("id")}
    try:
        current = rules_for(scenario, minor=minor)
    except RulesError as error:
        return {**made, "setupError": str(error)}
    if not scenario.get("noDefaults"):
        for claim in scenario.get("claims") or ():
            fill_in(claim)
    if _NO_TIME.fullmatch(scenario.get("timeout") or ""):
        budget = 0
    made["variant"] = current.variant
    try:
        index = Index(scenario.get("resourceSlices") or (), current)
        game = _Game(scenario, State(current), index)
        game.budget, game.patience = budget, patience
        made.update(game.play())
    except (KeyError, QuantityError) as error:
        return {**made, "setupError": f"what cannot be read: {error}"}
    return made


def rules_for(scenario: Json, *, minor: int = LATEST) -> Rules:
    """The rules that a scenario asks for.

    Raises:
        RulesError: unknown names, or no copy supports the gates.
    """
    profile = scenario.get("profile") or "default"
    if profile not in PROFILES:
        raise RulesError(f"no profile {profile!r}, want one of {', '.join(PROFILES)}")
    enabled = set(PROFILES[profile])
    for gate, on in (scenario.get("features") or {}).items():
        if gate not in GATES:
            raise RulesError(f"no feature gate {gate!r}, want one of {', '.join(GATES)}")
        (enabled.add if on else enabled.discard)(gate)
    return rules_with(enabled, minor=minor, variant=scenario.get("variant"))


def fill_in(claim: Json) -> None:
    """Set what an API server sets by default."""
    for request in claim["spec"].get("devices", {}).get("requests") or ():
        for one in (request.get("exactly"), *(request.get("firstAvailable") or ())):
            if one is None:
                continue
            if not one.get("allocationMode"):
                one["allocationMode"] = "ExactCount"
            if one["allocationMode"] == "ExactCount" and not one.get("count"):
                one["count"] = 1
            for toleration in one.get("tolerations") or ():
                if not toleration.get("operator"):
                    toleration["operator"] = "Equal"


class _Game:
    def __init__(self, scenario: Json, state: State, index: Index) -> None:
        self.scenario = scenario
        self.state = state
        self.index = index
        self.budget, self.patience = BUDGET, PATIENCE
        self.claims: list[Json] = scenario.get("claims") or []
        self.classes: dict[str, Json] = {}
        for one in scenario.get("deviceClasses") or ():
            self.classes.setdefault(one["metadata"]["name"], one)
        for claim in scenario.get("allocatedClaims") or ():
            state.add(claim["status"]["allocation"])

    def _attempt(self, claims: Sequence[Json]) -> Attempt:
        todo = [one for one in claims if allocation_of(one) is None]
        return Attempt(
            self.index, self.state, self.classes, todo,
            budget=self.budget, patience=self.patience,
        )  # fmt: skip

    def _named(self, names: Sequence[str] | None) -> list[Json]:
        nodes: list[Json] = self.scenario.get("nodes") or []
        by_name = {one["metadata"]["name"]: one for one in nodes}
        return [by_name[name] for name in names] if names else nodes

    def play(self) -> Json:
        """Answers for nodes, or for pods."""
        if self.scenario.get("pods"):
            return {"pods": [self.pod(pod) for pod in self.scenario["pods"]]}
        return {"nodes": self.nodes(self.claims, self.scenario.get("tryNodes"))}

    def nodes(self, claims: Sequence[Json], names: Sequence[str] | None) -> list[Json]:
        """Answers for nodes, all of which are tried."""
        attempt = self._attempt(claims)
        return [rendered(attempt.on(node), node, claims) for node in self._named(names)]

    def pod(self, pod: Json) -> Json:
        """Place a pod on the first node that fits."""
        by_name = {one["metadata"]["name"]: one for one in reversed(self.claims)}
        claims = [by_name[name] for name in pod.get("claims") or ()]
        attempt = self._attempt(claims)
        made: Json = {"pod": pod["name"], "nodes": []}
        for node in self._named(pod.get("tryNodes")):
            found = attempt.on(node)
            shown = rendered(found, node, claims)
            made["nodes"].append(shown)
            if "error" in shown and shown["class"] != "node":
                break
            if found.verdict != "fits" or "unavailable" in shown:
                continue
            made["chosen"] = node["metadata"]["name"]
            self._keep(claims, found)
            break
        return made

    def _keep(self, claims: Sequence[Json], found: Answer) -> None:
        todo = [one for one in claims if allocation_of(one) is None]
        for claim, result in zip(todo, found.results, strict=True):
            claim.setdefault("status", {})["allocation"] = result
            self.state.add(result)


def rendered(found: Answer, node: Mapping[str, Any], claims: Sequence[Json]) -> Json:
    """An answer for a node in the oracle's form."""
    made: Json = {"node": node["metadata"]["name"]}
    missing = unavailable(node, claims)
    if missing:
        made["unavailable"] = missing
    if found.verdict in _CLASSES:
        return {**made, "error": found.error, "class": _CLASSES[found.verdict]}
    if found.verdict == "nofit":
        return {**made, "nofit": True}
    if found.results:
        return {**made, "result": [*found.results]}
    return {**made, "empty": True}
