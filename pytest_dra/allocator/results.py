"""Allocation results in the API's form."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.allocator import nodes
from pytest_dra.allocator.domains import Fatal
from pytest_dra.allocator.matching import price_of
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.requests import Option
from pytest_dra.allocator.requests import Plan
from pytest_dra.allocator.requests import Unit
from pytest_dra.allocator.rules import Rules

Json = dict[str, Any]
Chosen = tuple[int, Option, int]
"""Number of a unit, the option that was taken for it, and the place of a device."""

_CLEARS: Final = 37
"""First release in which a configuration for all requests names none of them."""


def results(
    plan: Plan, view: View, node: nodes.Node, chosen: Sequence[Chosen],
    selected: Mapping[int, int], rules: Rules,
) -> list[Json]:  # fmt: skip
    """One AllocationResult per claim.

    Raises:
        Fatal: a node selector with several terms, which cannot be merged.
    """
    made = []
    for claim, numbers in enumerate(plan.by_claim):
        own = [one for one in chosen if one[0] in numbers]
        devices: Json = {}
        if own:
            devices["results"] = [_result(option, view, place, rules) for _, option, place in own]
        if plan.configured[claim]:
            units = [plan.units[one] for one in numbers]
            options = [plan.units[one].options[selected.get(one, 0)] for one in numbers]
            config = _config(plan.claims[claim], units, options, rules)
            if config:
                devices["config"] = config
        one: Json = {"devices": devices}
        selector = _selector(view, own, node, rules)
        if selector is not None:
            one["nodeSelector"] = selector
        made.append(one)
    return made


def _result(option: Option, view: View, place: int, rules: Rules) -> Json:
    part = view.part(place)
    inner = place - part.offset
    device = part.layout.devices[inner]
    driver, pool = part.slice.key
    made: Json = {
        "request": option.full_name,
        "driver": driver,
        "pool": pool,
        "device": device.get("name") or "",
    }
    if option.admin:
        made["adminAccess"] = True
    if option.tolerations and not rules.per_slice:
        made["tolerations"] = copy.deepcopy(list(option.tolerations))
    if rules.binding:
        for name in ("bindingConditions", "bindingFailureConditions"):
            if device.get(name):
                made[name] = list(device[name])
    if view.shareable >> place & 1:
        made["shareID"] = str(uuid.uuid4())
        texts = price_of(option, part.layout, inner, rules).texts
        if texts:
            made["consumedCapacity"] = dict(texts)
    if part.slice.skips and rules.variant == "experimental" and rules.knows_operations:
        made["skipNodeOperations"] = list(part.slice.skips)
    return made


def _config(
    claim: Mapping[str, Any], units: Sequence[Unit], options: Sequence[Option], rules: Rules
) -> list[Json]:
    made: list[Json] = []
    seen: dict[str, list[Json]] = {}
    for option in options:
        name = str((option.class_.get("metadata") or {}).get("name"))
        if name in seen:
            for one in seen[name]:
                one["requests"].append(option.full_name)
            continue
        seen[name] = [
            {**copy.deepcopy(dict(one)), "source": "FromClass", "requests": [option.full_name]}
            for one in (option.class_.get("spec") or {}).get("config") or ()
        ]
        made += seen[name]
    names = [(unit.name, option.full_name) for unit, option in zip(units, options, strict=True)]
    for one in ((claim.get("spec") or {}).get("devices") or {}).get("config") or ():
        wanted = one.get("requests") or ()
        times = sum(any(name in wanted for name in pair) for pair in names)
        if not wanted or (times and rules.minor >= _CLEARS):
            times = 1
        made += [{"source": "FromClaim", **copy.deepcopy(dict(one))} for _ in range(times)]
    for one in made:
        wanted = one.get("requests") or ()
        covers = all(any(name in wanted for name in pair) for pair in names)
        if not wanted or (covers and rules.minor >= _CLEARS):
            one.pop("requests", None)
    return made


def _selector(view: View, own: Sequence[Chosen], node: nodes.Node, rules: Rules) -> Json | None:
    """The node selector of an allocation, None if it can be used everywhere."""
    term: dict[str, list[Any]] = {}
    for _, _, place in own:
        part = view.part(place)
        device = part.layout.devices[place - part.offset]
        holder = device if part.slice.per_device else part.slice.place
        binds = device.get("bindsToNode") and not rules.basic
        if holder.get("nodeName") is not None or binds:
            field = {"key": nodes.NAME_FIELD, "operator": "In", "values": [nodes.name_of(node)]}
            return {"nodeSelectorTerms": [{"matchFields": [field]}]}
        terms = (holder.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
        if len(terms) > 1:
            raise Fatal(f"a node selector with {len(terms)} terms cannot be used")
        for one in terms:
            for kind in ("matchFields", "matchExpressions"):
                _merge(one.get(kind) or (), term.setdefault(kind, []))
    term = {kind: found for kind, found in term.items() if found}
    return {"nodeSelectorTerms": [term]} if term else None


def _merge(fresh: Sequence[Mapping[str, Any]], known: list[Any]) -> None:
    for one in fresh:
        if not any(_same(one, other) for other in known):
            known.append(copy.deepcopy(dict(one)))


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return (
        one.get("key") == other.get("key")
        and one.get("operator") == other.get("operator")
        and set(one.get("values") or ()) == set(other.get("values") or ())
    )
