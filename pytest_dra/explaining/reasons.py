"""Why each device of a node is no candidate for a request, in words that many devices share."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.allocator import nodes
from pytest_dra.allocator.attempt import Attempt
from pytest_dra.allocator.exclusions import Exclusion
from pytest_dra.allocator.exclusions import exclusions
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.requests import Option
from pytest_dra.explaining.comparing import found_instead
from pytest_dra.scheduling.cluster import DeviceKey
from pytest_dra.scheduling.cluster import Key

IN_USE: Final = "in-use-exclusive"
CLASS_SELECTOR: Final = "class-selector"
REQUEST_SELECTOR: Final = "request-selector"
CEL_ERROR: Final = "cel-error"
CAPACITY_EXHAUSTED: Final = "capacity-exhausted"
COUNTER: Final = "counter"
TAINT: Final = "taint"
NO_ATTRIBUTE: Final = "constraint-missing-attribute"
FREE: Final = "free"

_TEXTS: Final = {
    "binding-gate": "have binding conditions, which are off",
    "node-mismatch": "for other nodes",
    "capacity-policy": "have capacity that is not given in such amounts",
    "node-operations": "skip node operations, which the node cannot",
    "counter-gate": "consume counters, which are off",
    "compatibility-group": "have no group in common with devices in use",
}
"""What is told of devices by the word for the reason; its particulars stand behind."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reason:
    """Why a device is no candidate: a stable word, what is told of all alike, and particulars."""

    kind: str
    text: str
    detail: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """One device as one request sees it; ``place`` is that in the node's view."""

    place: int
    device: DeviceKey
    reason: Reason


class Reasons:
    """Reasons for all requests of an attempt on one node."""

    def __init__(
        self, attempt: Attempt, node: nodes.Node, holders: Mapping[DeviceKey, Sequence[Key]]
    ) -> None:
        self._rules = attempt.rules
        self._view: View = attempt.index.view(node)
        self._holders = holders
        self._found: dict[tuple[int, str], list[Exclusion]] = {}
        for one in exclusions(attempt, node):
            if one.device:
                self._found.setdefault((one.claim, one.request), []).append(one)

    def of(self, claim: int, option: Option) -> list[Seen]:
        """All devices of the node, in the order in which they are tried."""
        found = self._found.get((claim, option.full_name)) or ()
        return [
            Seen(place, (one.driver, one.pool, one.device), self._reason(option, one, place))
            for place, one in enumerate(found)
        ]

    def _reason(self, option: Option, one: Exclusion, place: int) -> Reason:
        kind = one.reason or FREE
        if kind == FREE:
            return Reason(FREE, "free")
        if kind == IN_USE:
            # Who holds a device that the class does not take is of no interest.
            return self._class_says_no(option, place) or Reason(IN_USE, "in use", self._holder(one))
        if kind in (CLASS_SELECTOR, REQUEST_SELECTOR):
            return self._selector(option, kind, one.number, place)
        if kind == CEL_ERROR:
            name, _, message = one.detail.partition(": ")
            name = name.replace("class-selector", "class selector").replace("request-", "")
            return Reason(kind, f"make {name} fail", message.split("\n", maxsplit=1)[0])
        if kind == CAPACITY_EXHAUSTED and self._holder(one):
            return Reason(kind, "have too little capacity left, used", self._holder(one))
        if kind in ("capacity-unknown", CAPACITY_EXHAUSTED):
            return Reason(kind, "have too little capacity", one.detail)
        if kind == COUNTER:
            return _counter(one.detail)
        if kind == TAINT:
            return Reason(kind, f"tainted {one.detail}")
        if kind == NO_ATTRIBUTE:
            name = one.detail.partition(": ")[2]
            return Reason(kind, f"have no attribute {name}", f"constraint #{one.number}")
        return Reason(kind, _TEXTS.get(kind, kind), one.detail)

    def _holder(self, one: Exclusion) -> str:
        keys = self._holders.get((one.driver, one.pool, one.device)) or ()
        return ", ".join("/".join(key) for key in keys)

    def _class_says_no(self, option: Option, place: int) -> Reason | None:
        part = self._view.part(place)
        number, error = option.chain.first_no(part.layout, place - part.offset)
        if error is None and 0 <= number < option.class_selectors:
            return self._selector(option, CLASS_SELECTOR, number, place)
        return None

    def _selector(self, option: Option, kind: str, number: int, place: int) -> Reason:
        name = f"class selector #{number}" if kind == CLASS_SELECTOR else f"selector #{number}"
        before = 0 if kind == CLASS_SELECTOR else option.class_selectors
        expression = option.chain.expressions[before + number]
        part = self._view.part(place)
        detail = found_instead(expression, part.layout, place - part.offset, self._rules)
        return Reason(kind, f"fail {name}", detail)


def _counter(detail: str) -> Reason:
    name, _, said = detail.partition(" ")
    if "overdrawn" in said:
        return Reason(COUNTER, f"in a pool with counter {name} overdrawn")
    return Reason(COUNTER, f"need more of counter {name} than is left")
