"""Random puzzles that are too large for Kubernetes' allocator: what it takes to answer them.

    python -m tests.upstream.allocatorhard [--count N] [--budget STEPS]

prints how many of each verdict there are, and which ones run out of the budget.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from typing import Any
from typing import Final

from pytest_dra.allocator import BUDGET
from tests.upstream.allocatorfuzz import verdicts
from tests.upstream.allocatorpuzzles import slice_of
from tests.upstream.scenario import answer

Json = dict[str, Any]

_DRIVER: Final = "gpu.example.com"
_AT: Final = f'device.attributes["{_DRIVER}"]'
_NAMES: Final = ("group", "kind", "numa", "index", "tags")


def scenario(seed: int) -> Json:
    """The puzzle of a seed: 10 to 32 devices, up to three claims of up to five requests."""
    draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
    kinds = draw.choice((1, 2, 3))
    counted, shared = draw.random() < 0.5, draw.random() < 0.25
    devices = [
        _device(draw, number, kinds, counted=counted, shared=shared)
        for number in range(draw.randint(10, 32))
    ]
    count = 2 if counted else 1
    slices = [slice_of("b", count, {"devices": devices})]
    if counted:
        counters = {"m": _value(draw.randint(6, 30)), "c": _value(draw.randint(5, 20))}
        sets = [{"name": "s", "counters": counters}]
        slices.append(slice_of("a", count, {"sharedCounters": sets}))
    return {
        "id": f"h{seed}",
        "profile": draw.choice(("default", "all")),
        "nodes": [{"metadata": {"name": "n1"}}],
        "deviceClasses": [{"metadata": {"name": "gpu"}, "spec": {}}],
        "resourceSlices": slices,
        "claims": [
            _claim(draw, f"c{number}", kinds) for number in range(draw.choice((1, 1, 2, 3)))
        ],
    }


def _value(number: int) -> Json:
    return {"value": str(number)}


def _device(draw: random.Random, number: int, kinds: int, *, counted: bool, shared: bool) -> Json:
    kind = draw.randrange(kinds)
    attributes: Json = {
        "kind": {"int": kind},
        "group": {"int": draw.randrange(4)},
        "numa": {"int": draw.randrange(3)},
        "index": {"int": number},
        "tags": {"ints": draw.sample((1, 2, 3, 4), draw.randint(1, 2))},
    }
    made: Json = {"name": f"d{number:02}", "attributes": attributes}
    if counted and draw.random() < 0.95:
        counters = {"m": _value(draw.choice((1, 2, 3, kind + 1, 5)))}
        if draw.random() < 0.6:
            counters["c"] = _value(draw.randint(1, 3))
        made["consumesCounters"] = [{"counterSet": "s", "counters": counters}]
    if shared and draw.random() < 0.5:
        made["allowMultipleAllocations"] = True
        made["capacity"] = {"mem": _value(draw.randint(1, 4))}
    if draw.random() < 0.05:
        made["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    return made


def _wish(draw: random.Random, kinds: int) -> Json:
    count = draw.choice((1, 2, 2, 3, 3, 4, 5))
    made: Json = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    if draw.random() < 0.4:
        one, other, third = draw.randrange(kinds), draw.randrange(3), draw.randrange(4)
        texts = (f"{_AT}.kind == {one}", f"{_AT}.numa != {other}", f"{_AT}.group <= {third}")
        made["selectors"] = [{"cel": {"expression": draw.choice(texts)}}]
    if draw.random() < 0.15:
        made["capacity"] = {"requests": {"mem": "1"}}
    return made


def _request(draw: random.Random, name: str, kinds: int) -> Json:
    if draw.random() < 0.2:
        count = draw.choice((2, 3))
        subs = [{"name": f"s{number}", **_wish(draw, kinds)} for number in range(count)]
        return {"name": name, "firstAvailable": subs}
    return {"name": name, "exactly": _wish(draw, kinds)}


def _claim(draw: random.Random, name: str, kinds: int) -> Json:
    count = draw.choice((2, 3, 3, 4, 5))
    requests = [_request(draw, f"r{number}", kinds) for number in range(count)]
    devices: Json = {"requests": requests}
    if draw.random() < 0.8:
        devices["constraints"] = [
            _constraint(draw, requests) for _ in range(draw.choice((1, 2, 3)))
        ]
    return {"metadata": {"name": name}, "spec": {"devices": devices}}


def _constraint(draw: random.Random, requests: list[Json]) -> Json:
    kind = draw.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
    made: Json = {kind: f"{_DRIVER}/{draw.choice(_NAMES)}"}
    if draw.random() < 0.5:
        made["requests"] = draw.sample([one["name"] for one in requests], 2)
    return made


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--budget", type=int, default=BUDGET)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    late = []
    start = time.process_time()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        found = verdicts(answer(scenario(seed), budget=arguments.budget))
        counts.update(found)
        if "timeout" in found:
            late.append(seed)
    seconds = time.process_time() - start
    sys.stdout.write(f"{dict(counts)} in {seconds:.0f} s of processor time; out of it: {late}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
