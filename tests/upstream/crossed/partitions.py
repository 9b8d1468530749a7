"""Shared counters and compatibility groups with everything else."""

from __future__ import annotations

from typing import Final

from tests.upstream.crossed.parts import ALPHA
from tests.upstream.crossed.parts import EVICT
from tests.upstream.crossed.parts import NO
from tests.upstream.crossed.parts import claim
from tests.upstream.crossed.parts import counters
from tests.upstream.crossed.parts import dev
from tests.upstream.crossed.parts import first
from tests.upstream.crossed.parts import held
from tests.upstream.crossed.parts import pool
from tests.upstream.crossed.parts import req
from tests.upstream.crossed.parts import scenario
from tests.upstream.scenario import Json


def _parts(*amounts: str, **fields: object) -> list[Json]:
    return [dev(f"d{number}", takes={"s": [one]}, **fields) for number, one in enumerate(amounts)]


def _grouped(*groups: str) -> list[Json]:
    """Devices that take one each, with their groups as letters."""
    return [dev(f"d{number}", takes={"s": ["1", *one]}) for number, one in enumerate(groups)]


def _fit(name: str, total: str, devices: list[Json], *claims: Json, **more: object) -> Json:
    return scenario(
        name, [counters("p", s=total), pool("p", devices, count=2)], list(claims), **more
    )


_WHOLE: Final = 'device.attributes["gpu.example.com"].whole'
_MIG: Final = [
    dev("whole", at={"whole": True}, takes={"s": ["8"]}),
    dev("half-0", at={"whole": False}, takes={"s": ["4"]}),
    dev("half-1", at={"whole": False}, takes={"s": ["4"]}),
    dev("quarter", at={"whole": False}, takes={"s": ["2"]}),
]

SCENARIOS: Final[list[Json]] = [
    _fit("whole-then-parts", "8", _MIG, claim("c", req("a"), req("b"))),
    _fit(
        "parts-in-use-then-whole",
        "8",
        _MIG,
        claim("c", req("r", where=_WHOLE)),
        allocatedClaims=[held("h", "quarter")],
    ),
    _fit(
        "whole-or-parts",
        "8",
        _MIG,
        claim("c", first("r", req("whole", where=_WHOLE), req("parts", 2, where=f"!{_WHOLE}"))),
        allocatedClaims=[held("h", "quarter")],
    ),
    _fit("all-partitions", "8", _MIG[1:3], claim("c", req("r", "all"))),
    _fit("all-partitions-too-much", "8", _MIG, claim("c", req("r", "all"))),
    _fit(
        "three-claims", "8", _MIG, claim("a", req("r")), claim("b", req("r")), claim("c", req("r"))
    ),
    _fit("fractions", "1", _parts("300m", "300m", "400m", "1m"), claim("c", req("r", 4))),
    _fit("fractions-sum", "1", _parts("300m", "300m", "400m", "1m"), claim("c", req("r", 3))),
    _fit("zero-amounts", "0", _parts("0", "0"), claim("c", req("r", 2))),
    _fit(
        "overdrawn-by-shrinking",
        "3",
        [*_parts("2", "2", "0"), dev("free")],
        claim("c", req("r")),
        allocatedClaims=[held("h", "d0", "d1")],
    ),
    _fit(
        "overdrawn-takes-the-free-one",
        "3",
        [*_parts("2", "2", "1"), dev("free")],
        claim("c", req("r", 2)),
        allocatedClaims=[held("h", "d0", "d1")],
    ),
    _fit(
        "tainted-partition",
        "4",
        [*_parts("4", taint=NO), dev("x", takes={"s": ["3"]}), dev("y", takes={"s": ["1"]})],
        claim("c", req("r", 2)),
    ),
    _fit(
        "evicting-taint",
        "4",
        [*_parts("2", taint=EVICT), dev("x", takes={"s": ["3"]})],
        claim("c", req("r")),
    ),
    _fit("seven-of-eight", "70", _parts("20", *["10"] * 7), claim("c", req("r", 7))),
    _fit("one-short", "69", _parts("20", *["10"] * 7), claim("c", req("r", 7))),
    _fit("half-of-twelve-one-short", "11", _parts(*["2"] * 12), claim("c", req("r", 6))),
    _fit(
        "binding-partitions",
        "4",
        [dev("d0", takes={"s": ["4"]}, bindingConditions=["ready"]), dev("d1", takes={"s": ["2"]})],
        claim("c", req("r")),
        claim("d", req("r")),
    ),
    _fit("groups-two-of-three", "9", _grouped("ab", "b", "a"), claim("c", req("r", 2)), **ALPHA),
    _fit("groups-three", "9", _grouped("ab", "b", "a"), claim("c", req("r", 3)), **ALPHA),
    _fit("groups-running", "9", _grouped("ab", "bc", "ca"), claim("c", req("r", 3)), **ALPHA),
    _fit("groups-and-none", "9", _grouped("a", "", "a"), claim("c", req("r", 2)), **ALPHA),
    _fit("none-and-groups", "9", _grouped("", "a", ""), claim("c", req("r", 2)), **ALPHA),
    _fit(
        "groups-stored",
        "9",
        _grouped("a", "b", "ab"),
        claim("c", req("r")),
        allocatedClaims=[held("h", "d0")],
        **ALPHA,
    ),
    _fit(
        "groups-stored-two-apart",
        "9",
        _grouped("a", "b", "ab"),
        claim("c", req("r")),
        allocatedClaims=[held("h", "d0", "d1")],
        **ALPHA,
    ),
    _fit("groups-all", "9", _grouped("a", "ab"), claim("c", req("r", "all")), **ALPHA),
    _fit("groups-all-apart", "9", _grouped("a", "b"), claim("c", req("r", "all")), **ALPHA),
    _fit(
        "groups-alternatives",
        "9",
        _grouped("a", "b", "b"),
        claim("c", first("r", req("three", 3), req("two", 2))),
        **ALPHA,
    ),
    _fit("groups-gate-off", "9", [*_grouped("a"), dev("plain")], claim("c", req("r"))),
    _fit(
        "groups-without-partitions",
        "9",
        _grouped("a", "b"),
        claim("c", req("r")),
        profile="all",
        features={"DRAPartitionableDevices": False},
    ),
    scenario(
        "groups-of-two-sets",
        [
            counters("p", s="9", t="9"),
            pool(
                "p",
                [
                    dev("d0", takes={"s": ["1", "a"], "t": ["1", "x"]}),
                    dev("d1", takes={"s": ["1", "a"], "t": ["1", "y"]}),
                    dev("d2", takes={"s": ["1", "a"]}),
                ],
                count=2,
            ),
        ],
        [claim("c", req("r", 2))],
        **ALPHA,
    ),
    scenario(
        "two-sets-each-limits",
        [
            counters("p", s="2", t="3"),
            pool(
                "p",
                [
                    dev("d0", takes={"s": ["1"], "t": ["2"]}),
                    dev("d1", takes={"s": ["1"], "t": ["2"]}),
                    dev("d2", takes={"s": ["1"]}),
                    dev("d3", takes={"t": ["1"]}),
                ],
                count=2,
            ),
        ],
        [claim("c", req("r", 3))],
    ),
    scenario(
        "same-set-twice-in-one-device",
        [
            counters("p", s="3"),
            pool(
                "p",
                [
                    {
                        "name": "d0",
                        "consumesCounters": [
                            {"counterSet": "s", "counters": {"m": {"value": "2"}}},
                            {"counterSet": "s", "counters": {"m": {"value": "2"}}},
                        ],
                    }
                ],
                count=2,
            ),
        ],
        [claim("c", req("r"))],
    ),
    scenario(
        "sets-in-two-slices",
        [
            counters("p", count=3, s="2", spec={"as_": "c1"}),
            counters("p", count=3, t="2", spec={"as_": "c2"}),
            pool(
                "p",
                [dev("d0", takes={"s": ["2"], "t": ["2"]}), dev("d1", takes={"t": ["1"]})],
                count=3,
            ),
        ],
        [claim("c", req("r", 2))],
    ),
    scenario(
        "same-set-in-two-slices",
        [
            counters("p", count=3, s="2", spec={"as_": "c1"}),
            counters("p", count=3, s="2", spec={"as_": "c2"}),
            pool("p", [dev("d0", takes={"s": ["2"]})], count=3),
        ],
        [claim("c", req("r"))],
    ),
    scenario(
        "counters-and-devices-in-one-slice",
        [
            pool(
                "p",
                [dev("d0", takes={"s": ["1"]})],
                sharedCounters=[{"name": "s", "counters": {"m": {"value": "1"}}}],
            )
        ],
        [claim("c", req("r"))],
    ),
    scenario(
        "set-missing",
        [pool("p", [dev("d0", takes={"s": ["1"]}), dev("free")])],
        [claim("c", req("r"))],
    ),
    scenario(
        "set-missing-other-pool",
        [pool("p", [dev("d0", takes={"s": ["1"]})]), pool("q", [dev("free")])],
        [claim("c", req("r"))],
    ),
    scenario(
        "counter-missing",
        [
            counters("p", s="2"),
            pool(
                "p",
                [
                    {
                        "name": "d0",
                        "consumesCounters": [
                            {"counterSet": "s", "counters": {"x": {"value": "1"}}}
                        ],
                    }
                ],
                count=2,
            ),
        ],
        [claim("c", req("r"))],
    ),
    scenario(
        "counters-on-every-node",
        [
            counters("p", count=3, s="3", spec={"allNodes": True}),
            pool("p", [dev("d0", takes={"s": ["2"]})], count=3, as_="s1"),
            pool("p", [dev("e0", takes={"s": ["2"]})], count=3, as_="s2", nodeName="n2"),
        ],
        [claim("a", req("r")), claim("b", req("r"))],
        pods=[{"name": "x", "claims": ["a"]}, {"name": "y", "claims": ["b"]}],
    ),
    scenario(
        "counters-per-device-places",
        [
            counters("p", s="3", spec={"allNodes": True}),
            pool(
                "p",
                [
                    dev("d0", on="n1", takes={"s": ["2"]}),
                    dev("d1", on="n2", takes={"s": ["2"]}),
                    dev("d2", on={"allNodes": True}, takes={"s": ["1"]}),
                ],
                count=2,
                perDeviceNodeSelection=True,
            ),
        ],
        [claim("a", req("r")), claim("b", req("r"))],
        pods=[{"name": "x", "claims": ["a"]}, {"name": "y", "claims": ["b"]}],
    ),
    scenario(
        "partitions-gate-off",
        [counters("p", s="3"), pool("p", [dev("d0", takes={"s": ["1"]}), dev("free")], count=2)],
        [claim("c", req("r"))],
        features={"DRAPartitionableDevices": False},
    ),
    scenario(
        "partitions-gate-off-same-slice",
        [pool("p", [dev("d0", takes={"s": ["1"]}), dev("free")])],
        [claim("c", req("r", 1))],
        features={"DRAPartitionableDevices": False},
    ),
    scenario(
        "stable-with-partitions",
        [counters("p", s="3"), pool("p", _parts("2", "2", "1"), count=2)],
        [claim("c", req("r", 2))],
        profile="parts",
    ),
    scenario(
        "gone-device-gives-its-counters-back",
        [counters("p", s="2"), pool("p", _parts("2"), count=2)],
        [claim("c", req("r"))],
        allocatedClaims=[held("h", "gone")],
    ),
]
