"""Why each device of a node cannot be used for each request, as far as that depends on it alone.

Worked out when it is asked for, from the same parts that the search uses; a search records nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.allocator import attributes
from pytest_dra.allocator import taints
from pytest_dra.allocator.attempt import Attempt
from pytest_dra.allocator.counters import admits
from pytest_dra.allocator.counters import declared
from pytest_dra.allocator.domains import usable_operations
from pytest_dra.allocator.matching import match
from pytest_dra.allocator.matching import price_of
from pytest_dra.allocator.pools import Part
from pytest_dra.allocator.pools import Pool
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.requests import Option

REASONS: Final = (
    "pool-incomplete", "pool-invalid", "in-use-exclusive", "binding-gate", "class-selector",
    "request-selector", "cel-error", "node-mismatch", "capacity-unknown", "capacity-policy",
    "capacity-exhausted", "node-operations", "counter-gate", "compatibility-group", "counter",
    "taint", "constraint-missing-attribute",
)  # fmt: skip
"""Reasons, in the order in which they are looked for. They do not change."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """The first reason why a request cannot have a device.

    ``reason`` is one of :data:`REASONS`, "" for a device that the request could have if nothing
    else were taken in the same attempt. ``detail`` says what exactly, for people; ``number`` is
    that of the selector or constraint, -1 if it is about neither. A ``device`` of "" stands for
    all devices of the pool.
    """

    claim: int
    request: str
    driver: str
    pool: str
    device: str
    reason: str
    detail: str = ""
    number: int = -1


Found = tuple[str, str, int]
"""Reason, detail and number."""

_NOTHING: Final[Found] = ("", "", -1)


def exclusions(attempt: Attempt, node: Mapping[str, Any]) -> Iterator[Exclusion]:
    """One entry for each request or alternative and each device that the node can see."""
    view = attempt.index.view(node)
    for unit in attempt.plan.units:
        for option in unit.options:
            looks = _Looks(attempt, view, node, option)
            for pool in view.pools:
                yield from looks.of_pool(pool, unit.claim)
            for part in view.parts:
                for inner in range(part.layout.size):
                    reason, detail, number = looks.at(part, inner)
                    driver, name = part.slice.key
                    yield Exclusion(
                        claim=unit.claim, request=option.full_name, driver=driver, pool=name,
                        device=part.layout.name(inner), reason=reason, detail=detail,
                        number=number,
                    )  # fmt: skip


class _Looks:
    def __init__(
        self, attempt: Attempt, view: View, node: Mapping[str, Any], option: Option
    ) -> None:
        self.rules = attempt.rules
        self.state = attempt.state
        self.ledger = attempt.ledger
        self.view = view
        self.option = option
        self.found = match(option, view, self.rules)
        self.busy = 0 if option.admin else self.state.busy(view)
        self.operations = usable_operations(node, self.rules)

    def of_pool(self, pool: Pool, claim: int) -> Iterator[Exclusion]:
        if pool.fault:
            driver, name = pool.key
            reason = "pool-incomplete" if pool.incomplete else "pool-invalid"
            yield Exclusion(
                claim=claim, request=self.option.full_name, driver=driver, pool=name, device="",
                reason=reason, detail=pool.fault,
            )  # fmt: skip

    def at(self, part: Part, inner: int) -> Found:
        """The first reason for a device of a part."""
        bit = 1 << (part.offset + inner)
        if bit & self.busy:
            return "in-use-exclusive", "", -1
        layout = part.layout
        if layout.conditional >> inner & 1 and not self.rules.binding:
            return "binding-gate", "DRADeviceBindingConditions is off", -1
        if not self.found.taken & bit:
            return self._selector(part, inner)
        if (self.view.elsewhere | self.view.broken) & bit:
            return "node-mismatch", "", -1
        return (
            self._capacity(part, inner)
            or self._operations(bit)
            or self._counters(part, inner, bit)
            or self._taint(part, inner)
            or self._constraint(bit.bit_length() - 1)
            or _NOTHING
        )

    def _selector(self, part: Part, inner: int) -> Found:
        number, error = self.option.chain.first_no(part.layout, inner)
        of_class = self.option.class_selectors
        name = "class-selector" if number < of_class else "request-selector"
        number = number if number < of_class else number - of_class
        if error is None:
            return name, "", number
        text = getattr(error, "message", str(error))
        return "cel-error", f"{name} #{number}: {text}", number

    def _capacity(self, part: Part, inner: int) -> Found | None:
        if not self.rules.sharing:
            return None
        cost = price_of(self.option, part.layout, inner, self.rules)
        if cost.fault:
            return "capacity-policy", cost.fault, -1
        if cost.refusal:
            return f"capacity-{cost.kind}", cost.refusal, -1
        stored = self.state.consumed(part.slice.key, part.layout.name(inner)) or {}
        for name, amount in cost.amounts.items():
            if amount + stored.get(name, 0) > cost.limits[name]:
                detail = f"capacity {name}: {cost.texts[name]} is more than is left"
                return "capacity-exhausted", detail, -1
        return None

    def _operations(self, bit: int) -> Found | None:
        if self.view.skipping & bit and not self.operations:
            return "node-operations", "the node does not know of optional node operations", -1
        return None

    def _counters(self, part: Part, inner: int, bit: int) -> Found | None:
        if not self.view.consumers & bit:
            return None
        if not self.rules.partitionable:
            return "counter-gate", "DRAPartitionableDevices is off", -1
        use = self.state.pools.get(part.slice.key)
        name = part.layout.name(inner)
        if self.view.shareable & bit and use is not None and use.shared(name):
            return None
        if self.rules.groups:
            common = self.ledger.common(part.pool)
            for counter_set, groups in declared(part.layout.devices[inner]):
                if not admits(common.get(counter_set), groups):
                    return "compatibility-group", f"on counter set {counter_set}", -1
        left = self.ledger.available(part.pool)
        for (counter_set, counter), amount in left.items():
            if amount < 0:
                return "counter", f"{counter_set}/{counter} is overdrawn", -1
        for key, amount in part.layout.consumption(inner).items():
            if key in left and amount > left[key]:
                return "counter", f"{'/'.join(key)} has too little left", -1
        return None

    def _taint(self, part: Part, inner: int) -> Found | None:
        if not self.rules.taints:
            return None
        device = part.layout.devices[inner]
        taint = taints.untolerated(
            device.get("taints") or (), self.option.tolerations, self.rules.minor
        )
        if taint is None:
            return None
        value = f"={taint['value']}" if taint.get("value") else ""
        return "taint", f"{taint.get('key')}{value}:{taint.get('effect')}", -1

    def _constraint(self, place: int) -> Found | None:
        for constraint in self.option.constraints:
            value = attributes.value(self.option, constraint, place, self.view)
            if value is attributes.ABSENT or value is attributes.FAILED:
                detail = f"{value}: {constraint.attribute}"
                return "constraint-missing-attribute", detail, constraint.number
        return None
