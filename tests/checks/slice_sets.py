"""Valid sets of slices, and illegal edits of them, for Hypothesis.

A set is what one driver has sent and published: pools with stale slices of older generations
beside the newest one. An edit breaks exactly one rule.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

from hypothesis import strategies as st

from pytest_dra.bench.devices import newest_generation
from pytest_dra.spec import Json

DRIVER = "gpu.example.com"

LABELS = st.from_regex(r"\A[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")
POOL_NAMES = st.lists(LABELS, min_size=1, max_size=3).map("/".join)
ONE_TERM: Json = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}
NODE_CHOICES: tuple[Json, ...] = (
    {"nodeName": "node-a"},
    {"nodeSelector": ONE_TERM},
    {"allNodes": True},
    {"perDeviceNodeSelection": True},
)

Slices = list[Json]
Edit = tuple[str, Callable[[], None]]
"""The case whose rule is broken, and what breaks it in place."""


@st.composite
def slice_sets(draw: st.DrawFn) -> Slices:
    """No pool at all up to three of them."""
    names = draw(st.lists(POOL_NAMES, max_size=3, unique=True))
    return [item for name in names for item in draw(_pools(name))]


@st.composite
def _pools(draw: st.DrawFn, name: str) -> Slices:
    """One pool: its newest generation, complete, after some of the slices of an older one."""
    generation = draw(st.integers(0, 3))
    devices = draw(st.lists(LABELS, max_size=6, unique=True))
    count = draw(st.integers(1, 3))
    stale: Slices = []
    if generation and draw(st.booleans()):
        stated = draw(st.integers(1, 5))
        stale = [
            _slice(
                draw(st.sampled_from(NODE_CHOICES)),
                pool={"name": name, "generation": generation - 1, "resourceSliceCount": stated},
                devices=devices,
                number=100 + index,
            )
            for index in range(draw(st.integers(1, 2)))
        ]
    newest = [
        _slice(
            draw(st.sampled_from(NODE_CHOICES)),
            pool={"name": name, "generation": generation, "resourceSliceCount": count},
            devices=devices[index::count],
            number=index,
        )
        for index in range(count)
    ]
    return draw(st.permutations(stale + newest))


def _slice(nodes: Json, *, pool: Json, devices: list[str], number: int) -> Json:
    metadata: Json = {"name": f"slice-{number}"} if number % 2 else {"generateName": "node-a-"}
    spec: Json = {"driver": DRIVER, "pool": pool, **copy.deepcopy(nodes)}
    if devices:
        spec["devices"] = [{"name": device, "attributes": {}} for device in devices]
    return {"metadata": metadata, "spec": spec}


def edits_of(slices: Slices) -> list[Edit]:
    """Every kind of illegal edit at every place where it can be made."""
    found = [edit for item in slices for edit in [*_node_edits(item), *_device_name_edits(item)]]
    for (_, pool), members in newest_generation(slices).items():
        found += _count_edits(slices, members)
        found += _double_edits(members)
        found += _pool_name_edits(slices, pool)
    return found


def _node_edits(item: Json) -> list[Edit]:
    spec = item["spec"]
    (chosen,) = (field for choice in NODE_CHOICES for field in choice if field in spec)
    second: Json = {"allNodes": True} if chosen == "nodeName" else {"nodeName": "node-a"}
    terms = ONE_TERM["nodeSelectorTerms"]
    wrong: list[Json] = [{chosen: None}, second]
    if chosen == "nodeName":
        wrong.append({chosen: ""})
    elif chosen == "nodeSelector":
        wrong += [
            {chosen: {"nodeSelectorTerms": []}},
            {chosen: {"nodeSelectorTerms": terms * 2}},
        ]
    else:
        wrong.append({chosen: False})
    return [("SLICE-002", partial(_change, [spec], each)) for each in wrong]


def _device_name_edits(item: Json) -> list[Edit]:
    wrong = ("", "GPU-0", "gpu_0", "-gpu", "gpu-", "g" * 64, "gpu.0", "gpu/0", "gpu-0\n")
    return [
        ("SLICE-008", partial(_change, [device], {"name": name}))
        for device in item["spec"].get("devices", [])
        for name in wrong
    ]


def _pool_name_edits(slices: Slices, pool: str) -> list[Edit]:
    """The name is another one in all slices of the pool, so that the pool stays complete."""
    mine = [item["spec"]["pool"] for item in slices if item["spec"]["pool"]["name"] == pool]
    wrong = ("", f"{pool}/", f"/{pool}", "a//b", "Pool", "po_ol", "p" * 254)
    return [("SLICE-008", partial(_change, mine, {"name": name})) for name in wrong]


def _count_edits(slices: Slices, members: Slices) -> list[Edit]:
    count = len(members)
    edits: list[Callable[[], None]] = []
    for item in members:
        edits += [
            partial(_change, [item["spec"]["pool"]], {"resourceSliceCount": stated})
            for stated in (None, 0, count - 1, count + 1)
        ]
        edits.append(partial(slices.append, _without_devices(item)))
        if count > 1:
            edits.append(partial(_remove, slices, item))
    return [("SLICE-005", edit) for edit in edits]


def _double_edits(members: Slices) -> list[Edit]:
    """A device comes once more, in its own slice or in another one of the pool."""
    return [
        ("SLICE-007", partial(_add_device, target, device))
        for item in members
        for device in item["spec"].get("devices", [])
        for target in members
    ]


def _change(objects: list[Json], fields: Json) -> None:
    """Set fields; None takes one away."""
    for each in objects:
        each.update(fields)
        for field in [name for name, value in fields.items() if value is None]:
            del each[field]


def _remove(slices: Slices, item: Json) -> None:
    slices[:] = [each for each in slices if each is not item]


def _without_devices(item: Json) -> Json:
    twin = copy.deepcopy(item)
    twin["spec"].pop("devices", None)
    return twin


def _add_device(item: Json, device: Json) -> None:
    item["spec"].setdefault("devices", []).append(copy.deepcopy(device))
