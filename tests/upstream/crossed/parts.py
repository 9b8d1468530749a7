"""Short ways to write the objects of a scenario."""

from __future__ import annotations

from typing import Any
from typing import Final

from tests.upstream.scenario import Json

DRIVER: Final = "gpu.example.com"


def scenario(name: str, slices: list[Json], claims: list[Json], **more: Any) -> Json:
    """A scenario on the nodes n1 and n2 with the classes gpu and any."""
    made: Json = {
        "id": name,
        "nodes": [node("n1", zone="a"), node("n2", zone="b")],
        "deviceClasses": [
            class_("gpu", f'device.driver == "{DRIVER}"'),
            class_("any"),
        ],
        "resourceSlices": slices,
        "claims": claims,
    }
    return {**made, **more}


def node(name: str, **labels: str) -> Json:
    """A node."""
    return {"metadata": {"name": name, "labels": labels}}


def class_(name: str, *expressions: str, **spec: Any) -> Json:
    """A class."""
    if expressions:
        spec["selectors"] = cel(*expressions)
    return {"metadata": {"name": name}, "spec": spec}


def cel(*expressions: str) -> list[Json]:
    """Selectors."""
    return [{"cel": {"expression": one}} for one in expressions]


def pool(
    name: str, devices: list[Json], *, count: int = 1, driver: str = DRIVER, **spec: Any
) -> Json:
    """The slice of a pool on n1, or where ``spec`` puts it; ``as_`` is its name."""
    places = ("nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection", "nowhere")
    if not any(one in spec for one in places):
        spec["nodeName"] = "n1"
    spec.pop("nowhere", None)
    generation = spec.pop("generation", 1)
    shown = spec.pop("as_", f"{name}-slice")
    of_pool = {"name": name, "generation": generation, "resourceSliceCount": count}
    made = {"driver": driver, "pool": of_pool, **spec}
    if devices:
        made["devices"] = devices
    return {"metadata": {"name": shown}, "spec": made}


def counters(name: str, count: int = 2, **sets: Any) -> Json:
    """The slice of a pool with its counter sets, each with the counter m."""
    spec = sets.pop("spec", {})
    found = [{"name": one, "counters": {"m": {"value": value}}} for one, value in sets.items()]
    shown = spec.pop("as_", f"{name}-counters")
    return pool(name, [], count=count, sharedCounters=found, as_=shown, **spec)


def dev(name: str, **fields: Any) -> Json:
    """A device; short words for its parts, see :func:`_field`."""
    made: Json = {"name": name}
    for word, value in fields.items():
        made.update(_field(word, value))
    return made


def _field(word: str, value: Any) -> Json:
    if word == "at":
        return {"attributes": {name: typed(one) for name, one in value.items()}}
    if word == "takes":
        found = [_taken(one, *parts) for one, parts in value.items()]
        return {"consumesCounters": found}
    if word == "cap":
        return {"capacity": {name: _capacity(one) for name, one in value.items()}}
    if word == "shared":
        return {"allowMultipleAllocations": value}
    if word == "taint":
        return {"taints": [value] if isinstance(value, dict) else value}
    if word == "on":
        return value if isinstance(value, dict) else {"nodeName": value}
    return {word: value}


def _taken(name: str, amount: str, *groups: str) -> Json:
    made: Json = {"counterSet": name, "counters": {"m": {"value": amount}}}
    if groups:
        made["compatibilityGroups"] = list(groups)
    return made


def _capacity(value: Any) -> Json:
    if isinstance(value, dict):
        return value
    return {"value": value}


def typed(value: Any) -> Json:
    """An attribute; texts that begin with v and a digit are versions."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        kind = "bools" if isinstance(value[0], bool) else "ints"
        return {"strings" if isinstance(value[0], str) else kind: value}
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    if value[:1] == "v" and value[1:2].isdigit():
        return {"version": value[1:]}
    return {"string": value}


def req(name: str, count: int | str = 1, of: str = "gpu", **wish: Any) -> Json:
    """A request for so many devices, or for all."""
    return {"name": name, "exactly": _wish(count, of, wish)}


def first(name: str, *alternatives: Json) -> Json:
    """A request with alternatives, made by :func:`req`."""
    subs = [{"name": one["name"], **one["exactly"]} for one in alternatives]
    return {"name": name, "firstAvailable": subs}


def _wish(count: int | str, of: str, wish: Json) -> Json:
    made: Json = {"deviceClassName": of}
    if count == "all":
        made["allocationMode"] = "All"
    else:
        made["count"] = count
    if "where" in wish:
        where = wish.pop("where")
        made["selectors"] = cel(*([where] if isinstance(where, str) else where))
    if "wants" in wish:
        made["capacity"] = {"requests": wish.pop("wants")}
    if "derived" in wish:
        made["derivedAttributes"] = [
            {"name": f"{DRIVER}/{name}", "expression": one}
            for name, one in wish.pop("derived").items()
        ]
    return {**made, **wish}


def claim(name: str, *requests: Json, **devices: Any) -> Json:
    """A claim."""
    spec = {"devices": {"requests": list(requests), **devices}}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


def match(name: str, *requests: str) -> Json:
    """A constraint for equal values."""
    return _constraint("matchAttribute", name, requests)


def distinct(name: str, *requests: str) -> Json:
    """A constraint for different values."""
    return _constraint("distinctAttribute", name, requests)


def _constraint(kind: str, name: str, requests: tuple[str, ...]) -> Json:
    made: Json = {kind: name if "/" in name else f"{DRIVER}/{name}"}
    if requests:
        made["requests"] = list(requests)
    return made


def held(name: str, *devices: Any, spec: Json | None = None) -> Json:
    """A claim with devices: names, or pairs of a name and further fields of the result."""
    results = []
    for one in devices:
        device, more = (one, {}) if isinstance(one, str) else one
        result = {"request": "r", "driver": DRIVER, "pool": "p", "device": device, **more}
        results.append(result)
    status = {"allocation": {"devices": {"results": results}, **(spec or {})}}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [req("r")]}},
        "status": status,
    }


def share(number: int, **amounts: str) -> Json:
    """What the result of a share has."""
    made: Json = {"shareID": f"00000000-0000-0000-0000-{number:012d}"}
    if amounts:
        made["consumedCapacity"] = amounts
    return made


def zone(*values: str) -> Json:
    """A node selector."""
    one = {"key": "zone", "operator": "In", "values": list(values)}
    return {"nodeSelectorTerms": [{"matchExpressions": [one]}]}


NO: Final[Json] = {"key": "k", "effect": "NoSchedule"}
EVICT: Final[Json] = {"key": "k", "effect": "NoExecute"}
EXISTS: Final[Json] = {"operator": "Exists"}
ALPHA: Final[Json] = {"profile": "all"}
