"""The first reason that keeps a request off each device of a node."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.allocator import attributes
from pytest_dra.allocator import nodes
from pytest_dra.allocator import taints
from pytest_dra.allocator.attempt import Attempt
from pytest_dra.allocator.counters import admits
from pytest_dra.allocator.counters import declared
from pytest_dra.allocator.domains import OPTIONAL_OPERATIONS
from pytest_dra.allocator.matching import Match
from pytest_dra.allocator.matching import match
from pytest_dra.allocator.matching import price_of
from pytest_dra.allocator.pools import Part
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.requests import Option
from pytest_dra.explaining.comparing import found_instead
from pytest_dra.scheduling.cluster import DeviceKey
from pytest_dra.scheduling.cluster import Key

IN_USE: Final = "in-use-exclusive"
CLASS_SELECTOR: Final = "class-selector"
REQUEST_SELECTOR: Final = "request-selector"
CEL_ERROR: Final = "cel-error"
NODE_MISMATCH: Final = "node-mismatch"
BINDING_GATE: Final = "binding-gate"
CAPACITY_UNKNOWN: Final = "capacity-unknown"
CAPACITY_POLICY: Final = "capacity-policy"
CAPACITY_TOO_SMALL: Final = "capacity-too-small"
CAPACITY_ERROR: Final = "capacity-error"
CAPACITY_EXHAUSTED: Final = "capacity-exhausted"
NODE_OPERATIONS: Final = "node-operations"
COUNTER: Final = "counter"
COUNTERS_GATE: Final = "counters-gate"
GROUP: Final = "compatibility-group"
TAINT: Final = "taint"
NO_ATTRIBUTE: Final = "constraint-missing-attribute"
FREE: Final = "free"


@dataclasses.dataclass(frozen=True, slots=True)
class Reason:
    """Why a device is no candidate: a stable word, what is told of all alike, and particulars."""

    kind: str
    text: str
    detail: str = ""


_FREE: Final = Reason(FREE, "free")


class Reasons:
    """Reasons for one request on one node, in the order in which the scheduler looks."""

    def __init__(
        self, attempt: Attempt, option: Option, view: View, node: nodes.Node,
        holders: Mapping[DeviceKey, Sequence[Key]],
    ) -> None:  # fmt: skip
        self._attempt = attempt
        self._rules = attempt.rules
        self._option = option
        self._view = view
        self._node = node
        self._holders = holders
        self._match: Match = match(option, view, self._rules)
        self._busy = attempt.state.busy(view)
        self._class_count = len((option.class_.get("spec") or {}).get("selectors") or ())

    def of(self, place: int) -> Reason:
        """The reason for one device; of kind ``free`` if there is none.

        What the class does not take is of no interest, so that comes before what is in use.
        """
        part = self._view.part(place)
        inner = place - part.offset
        bit = 1 << place
        in_use = bool(self._busy & bit) and not self._option.admin
        selector = None if self._match.taken & bit else self._selector(part, inner)
        if selector is not None and selector.kind == CLASS_SELECTOR:
            return selector
        if in_use:
            return Reason(IN_USE, "in use", self._holder(part, inner))
        found = selector or self._own(part, inner, place) or self._shared(part, inner)
        return found or self._constrained(place) or _FREE

    def key(self, place: int) -> DeviceKey:
        """Driver, pool and name of a device."""
        part = self._view.part(place)
        return (*part.slice.key, part.layout.name(place - part.offset))

    def _holder(self, part: Part, inner: int) -> str:
        keys = self._holders.get((*part.slice.key, part.layout.name(inner))) or ()
        return ", ".join("/".join(key) for key in keys)

    def _selector(self, part: Part, inner: int) -> Reason | None:
        chain = self._option.chain
        number, error = chain.first_no(part.layout, inner)
        if number < 0:
            return Reason(BINDING_GATE, "have binding conditions, which are off")
        is_class = number < self._class_count
        local = number if is_class else number - self._class_count
        name = f"class selector #{local}" if is_class else f"selector #{local}"
        if error is not None:
            message = str(getattr(error, "message", error)).split("\n", maxsplit=1)[0]
            return Reason(CEL_ERROR, f"make {name} fail", message)
        expression = chain.expressions[number]
        detail = found_instead(expression, part.layout, inner, self._rules)
        kind = CLASS_SELECTOR if is_class else REQUEST_SELECTOR
        return Reason(kind, f"fail {name}", detail)

    def _own(self, part: Part, inner: int, place: int) -> Reason | None:
        """What is in the way of the device's own."""
        bit, view, rules = 1 << place, self._view, self._rules
        if (view.elsewhere | view.broken) & bit:
            return Reason(NODE_MISMATCH, "for other nodes")
        capacity = self._capacity(part, inner, place)
        if capacity is not None:
            return capacity
        if view.skipping & bit and rules.variant == "experimental":
            able = nodes.declares(self._node, OPTIONAL_OPERATIONS)
            if not rules.optional_operations or not able:
                return Reason(NODE_OPERATIONS, "skip node operations, which the node cannot")
        if view.consumers & bit and not rules.partitionable:
            return Reason(COUNTERS_GATE, "consume counters, which are off")
        return None

    def _capacity(self, part: Part, inner: int, place: int) -> Reason | None:
        if not self._rules.sharing:
            return None
        cost = price_of(self._option, part.layout, inner, self._rules)
        if cost.fault:
            return Reason(CAPACITY_ERROR, "have capacity nobody can compute with", cost.fault)
        if cost.refusal:
            if cost.refusal.startswith("has no capacity"):
                return Reason(CAPACITY_UNKNOWN, cost.refusal.replace("has", "have", 1))
            kind = CAPACITY_POLICY if "policy" in cost.refusal else CAPACITY_TOO_SMALL
            return Reason(kind, "have too little capacity", cost.refusal)
        name = part.layout.name(inner)
        stored = self._attempt.state.consumed(part.slice.key, name) or {}
        for capacity, amount in cost.amounts.items():
            if amount + stored.get(capacity, 0) > cost.limits[capacity]:
                device = "/".join((*part.slice.key, part.layout.name(inner)))
                holder = self._holder(part, inner)
                text = f"have too little {capacity} left"
                return Reason(CAPACITY_EXHAUSTED, text, holder or device)
        return None

    def _shared(self, part: Part, inner: int) -> Reason | None:
        """Counters, groups, taints."""
        device = part.layout.devices[inner]
        use = self._attempt.state.pools.get(part.slice.key)
        name = part.layout.name(inner)
        shared = part.layout.shareable >> inner & 1 and use is not None and use.shared(name)
        if device.get("consumesCounters") and not shared:
            found = self._counters(part, inner)
            if found is not None:
                return found
        if self._rules.taints:
            taint = taints.untolerated(
                device.get("taints") or (), self._option.tolerations, self._rules.minor
            )
            if taint is not None:
                value = f"={taint['value']}" if taint.get("value") else ""
                return Reason(TAINT, f"tainted {taint.get('key')}{value}:{taint.get('effect')}")
        return None

    def _counters(self, part: Part, inner: int) -> Reason | None:
        ledger, pool = self._attempt.ledger, part.pool
        if self._rules.groups:
            common = ledger.common(pool)
            for name, groups in declared(part.layout.devices[inner]):
                if not admits(common.get(name), groups):
                    return Reason(GROUP, f"have no group in common with counter set {name}")
        available = ledger.available(pool)
        for (name, counter), amount in part.layout.consumption(inner).items():
            if amount > available.get((name, counter), amount):
                return Reason(COUNTER, f"need more of counter {name}/{counter} than is left")
        for (name, counter), left in available.items():
            if left < 0:
                return Reason(COUNTER, f"in a pool with counter {name}/{counter} overdrawn")
        return None

    def _constrained(self, place: int) -> Reason | None:
        for constraint in self._option.constraints:
            if attributes.value(self._option, constraint, place, self._view) is attributes.ABSENT:
                text = f"have no attribute {constraint.attribute}"
                return Reason(NO_ATTRIBUTE, text, f"constraint #{constraint.number}")
        return None
