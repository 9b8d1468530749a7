"""What a real cluster allocates by kube-scheduler and by ours: devices, classes and shapes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any
from typing import Final

Json = dict[str, Any]

DRIVER: Final = "allocations.example.com"
"""Of no driver: nothing is prepared, and the kubelet leaves slices of unknown drivers alone."""

HELD: Final = 10
"""Claims that are allocated at a time: most others fit beside them, some do not."""

_GPUS: Final = 12
_PARTS: Final = 6
_FAMILIES: Final = ("gpu", "part", "share", "worn")


def _quantity(value: str) -> Json:
    return {"value": value}


def _gpu(number: int) -> Json:
    return {
        "name": f"gpu-{number:02}",
        "attributes": {
            "family": {"string": "gpu"},
            "model": {"string": "large" if number % 3 == 0 else "small"},
            "numa": {"int": number % 4},
            "root": {"string": f"root-{number % 3}"},
            "serial": {"string": f"s{number}"},
        },
        "capacity": {"memory": _quantity("80Gi" if number % 3 == 0 else "40Gi")},
    }


def _part(number: int) -> Json:
    takes = 4 if number == 0 else 1
    return {
        "name": f"part-{number}",
        "attributes": {"family": {"string": "part"}, "root": {"string": f"root-{number % 3}"}},
        "capacity": {"slots": _quantity(str(takes))},
        "consumesCounters": [
            {"counterSet": "board", "counters": {"slots": _quantity(str(takes))}},
        ],
    }


def _share(number: int) -> Json:
    policy = {"default": "4Gi", "validRange": {"min": "4Gi", "step": "4Gi", "max": "32Gi"}}
    return {
        "name": f"share-{number}",
        "allowMultipleAllocations": True,
        "attributes": {"family": {"string": "share"}},
        "capacity": {"memory": {"value": "32Gi", "requestPolicy": policy}},
    }


def _worn(number: int) -> Json:
    return {
        "name": f"worn-{number}",
        "attributes": {"family": {"string": "worn"}},
        "taints": [{"key": "example.com/worn", "effect": "NoSchedule"}],
    }


def slices(node: str) -> list[Json]:
    """The ResourceSlices of the node: five of four pools."""

    def one(pool: str, number: int, *, of: int, **rest: Any) -> Json:
        about = {"name": pool, "generation": 1, "resourceSliceCount": of}
        spec = {"driver": DRIVER, "nodeName": node, "pool": about, **rest}
        return {"metadata": {"name": f"{pool}-{number}"}, "spec": spec}

    half = _GPUS // 2
    counters = [{"name": "board", "counters": {"slots": _quantity("5")}}]
    return [
        one("gpus", 0, of=2, devices=[_gpu(number) for number in range(half)]),
        one("gpus", 1, of=2, devices=[_gpu(number) for number in range(half, _GPUS)]),
        one("parts", 0, of=2, sharedCounters=counters),
        one("parts", 1, of=2, devices=[_part(number) for number in range(_PARTS)]),
        one("shares", 0, of=1, devices=[_share(number) for number in range(3)]),
        one("worns", 0, of=1, devices=[_worn(number) for number in range(2)]),
    ]


def classes() -> list[Json]:
    """A DeviceClass for each family."""
    return [
        {
            "metadata": {"name": f"{family}.{DRIVER}"},
            "spec": {"selectors": [_cel(f'family == "{family}"')]},
        }
        for family in _FAMILIES
    ]


def _cel(text: str) -> Json:
    return {"cel": {"expression": f'device.attributes["{DRIVER}"].{text}'}}


def _exactly(family: str, **rest: Any) -> Json:
    return {"deviceClassName": f"{family}.{DRIVER}", **rest}


def _request(name: str, family: str, **rest: Any) -> Json:
    return {"name": name, "exactly": _exactly(family, **rest)}


def _memory(amount: str) -> Json:
    return {"requests": {"memory": amount}}


_LARGE: Final = _cel('model == "large"')
_TOLERATION: Final = {"key": "example.com/worn", "operator": "Exists", "effect": "NoSchedule"}

SHAPES: Final[tuple[Json, ...]] = (
    {"requests": [_request("one", "gpu")]},
    {"requests": [_request("large", "gpu", selectors=[_LARGE])]},
    {
        "requests": [_request("pair", "gpu", count=2)],
        "constraints": [{"matchAttribute": f"{DRIVER}/numa"}],
    },
    {
        "requests": [_request("apart", "gpu", count=3)],
        "constraints": [{"distinctAttribute": f"{DRIVER}/root"}],
    },
    {
        "requests": [
            {
                "name": "best",
                "firstAvailable": [
                    {"name": "two", **_exactly("gpu", selectors=[_LARGE], count=2)},
                    {"name": "one", **_exactly("gpu")},
                ],
            }
        ]
    },
    {"requests": [_request("all", "gpu", allocationMode="All", selectors=[_cel("numa == 3")])]},
    {"requests": [_request("part", "part")]},
    {
        "requests": [
            _request(
                "whole",
                "part",
                selectors=[
                    {
                        "cel": {
                            "expression": f'device.capacity["{DRIVER}"].slots'
                            '.compareTo(quantity("4")) == 0'
                        }
                    }
                ],
            )
        ]
    },
    {"requests": [_request("share", "share", capacity=_memory("10Gi"))]},
    {"requests": [_request("share", "share"), _request("more", "share", capacity=_memory("6Gi"))]},
    {"requests": [_request("worn", "worn", tolerations=[_TOLERATION])]},
    {
        "requests": [_request("gpu", "gpu"), _request("part", "part")],
        "constraints": [{"matchAttribute": f"{DRIVER}/root", "requests": ["gpu", "part"]}],
    },
)
"""Specs of claims (``spec.devices``)."""


def drawn(number: int, seed: int) -> list[int]:
    """Which shapes are asked for, one after the other; each at least once."""
    dice = random.Random(seed)  # noqa: S311 (which claims, no secret)
    found = [*range(len(SHAPES)), *(dice.randrange(len(SHAPES)) for _ in range(number))]
    return found[:number]


def as_told(allocation: Json | None) -> Sequence[str]:
    """What was allocated, as text: request, device and what it consumes, without share ids."""
    results = ((allocation or {}).get("devices") or {}).get("results") or ()
    return [
        f"{each['request']}={each['pool']}/{each['device']}"
        + "".join(
            f" {name} {amount}" for name, amount in (each.get("consumedCapacity") or {}).items()
        )
        for each in results
    ]
