"""Pools, nodes and pods with everything else."""

from __future__ import annotations

from typing import Final

from tests.upstream.crossed.parts import DRIVER
from tests.upstream.crossed.parts import claim
from tests.upstream.crossed.parts import dev
from tests.upstream.crossed.parts import first
from tests.upstream.crossed.parts import held
from tests.upstream.crossed.parts import node
from tests.upstream.crossed.parts import pool
from tests.upstream.crossed.parts import req
from tests.upstream.crossed.parts import scenario
from tests.upstream.crossed.parts import zone
from tests.upstream.scenario import Json

_C: Final = [claim("c", req("r"))]
_ALL: Final = [claim("c", req("r", "all"))]


def _selector(key: str, operator: str, *values: str) -> Json:
    one: Json = {"key": key, "operator": operator}
    if values:
        one["values"] = list(values)
    return {"nodeSelectorTerms": [{"matchExpressions": [one]}]}


def _named(name: str, operator: str = "In") -> Json:
    field = {"key": "metadata.name", "operator": operator, "values": [name]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


SCENARIOS: Final[list[Json]] = [
    scenario(
        "generations-mixed-on-node",
        [pool("p", [dev("old")], as_="a"), pool("p", [dev("new")], as_="b", generation=2)],
        _C,
    ),
    scenario(
        "generation-newer-elsewhere-seen",
        [
            pool("p", [dev("old")], count=2, as_="a"),
            pool("p", [dev("new")], as_="b", generation=2, nodeName="n2"),
        ],
        _C,
    ),
    scenario(
        "generation-newer-elsewhere-unseen",
        [
            pool("p", [dev("old")], as_="a"),
            pool("p", [dev("new")], as_="b", generation=2, nodeName="n2"),
        ],
        _C,
    ),
    scenario("generation-zero", [pool("p", [dev("d")], generation=0)], _C),
    scenario("count-zero", [pool("p", [dev("d")], count=0)], _C),
    scenario(
        "count-of-first-decides",
        [pool("p", [dev("d")], count=2, as_="a"), pool("p", [dev("e")], count=1, as_="b")],
        _C,
    ),
    scenario(
        "count-of-first-decides-reversed",
        [pool("p", [dev("d")], count=1, as_="b"), pool("p", [dev("e")], count=2, as_="a")],
        _C,
    ),
    scenario(
        "same-pool-of-two-drivers",
        [pool("p", [dev("d")]), pool("p", [dev("d")], driver="nic.example.com", as_="n")],
        [claim("c", req("r", 2, of="any"))],
    ),
    scenario(
        "same-name-twice-in-pool",
        [pool("p", [dev("d")], count=2, as_="a"), pool("p", [dev("d")], count=2, as_="b")],
        _C,
    ),
    scenario(
        "same-name-twice-and-healthy", [pool("p", [dev("d"), dev("d")]), pool("q", [dev("ok")])], _C
    ),
    scenario(
        "same-name-twice-and-all", [pool("p", [dev("d"), dev("d")]), pool("q", [dev("ok")])], _ALL
    ),
    scenario(
        "same-name-twice-in-alternative",
        [pool("p", [dev("d"), dev("d")]), pool("q", [dev("ok")])],
        [claim("c", first("r", req("every", "all"), req("one")))],
    ),
    scenario("incomplete-and-all", [pool("p", [dev("d")], count=2), pool("q", [dev("ok")])], _ALL),
    scenario(
        "incomplete-and-alternatives",
        [pool("p", [dev("d")], count=2), pool("q", [dev("ok")])],
        [claim("c", first("r", req("two", 2), req("every", "all")))],
    ),
    scenario(
        "incomplete-of-other-driver-and-all",
        [pool("p", [dev("d")]), pool("q", [dev("x")], count=2, driver="nic.example.com")],
        _ALL,
    ),
    scenario(
        "incomplete-here-complete-there",
        [
            pool("p", [dev("d")], count=2, as_="a"),
            pool("p", [dev("e")], count=2, as_="b", nodeName="n2"),
        ],
        [claim("c", req("r", 2))],
    ),
    scenario(
        "slices-by-name",
        [pool("p", [dev("z")], count=2, as_="b"), pool("p", [dev("y")], count=2, as_="a")],
        _C,
    ),
    scenario("pools-by-name", [pool("q", [dev("a")]), pool("p", [dev("z")])], _C),
    scenario(
        "drivers-before-pools",
        [pool("a", [dev("x")], driver="z.example.com"), pool("z", [dev("y")])],
        [claim("c", req("r", of="any"))],
    ),
    scenario("no-place", [pool("p", [dev("d")], nowhere=True)], _C),
    scenario("no-devices", [pool("p", [])], _ALL),
    scenario("place-and-all-nodes", [pool("p", [dev("d")], nodeName="n2", allNodes=True)], _C),
    scenario("all-nodes-false", [pool("p", [dev("d")], allNodes=False)], _C),
    scenario(
        "per-device-false", [pool("p", [dev("d", on="n1")], perDeviceNodeSelection=False)], _C
    ),
    scenario(
        "per-device-everything",
        [
            pool(
                "p",
                [
                    dev("d0", on="n2"),
                    dev("d1", on={"nodeSelector": zone("a")}),
                    dev("d2", on={"allNodes": True}),
                    dev("d3"),
                ],
                perDeviceNodeSelection=True,
            )
        ],
        [claim("c", req("r", 2))],
    ),
    scenario(
        "per-device-error-elsewhere",
        [
            pool(
                "p",
                [dev("d0", on="n2"), dev("d1", on="n1", at={"x": 1})],
                perDeviceNodeSelection=True,
            )
        ],
        [claim("c", req("r", where=f'device.attributes["{DRIVER}"].x == 1'))],
    ),
    scenario(
        "per-device-all",
        [pool("p", [dev("d0", on="n2"), dev("d1", on="n1")], perDeviceNodeSelection=True)],
        _ALL,
    ),
    scenario(
        "binds-to-node", [pool("p", [dev("d", bindsToNode=True)], nodeSelector=zone("a", "b"))], _C
    ),
    scenario(
        "binds-to-node-stable",
        [pool("p", [dev("d", bindsToNode=True)], nodeSelector=zone("a", "b"))],
        _C,
        profile="ga",
    ),
    scenario(
        "selectors-merged",
        [
            pool("p", [dev("d")], nodeSelector=zone("a")),
            pool("q", [dev("e")], nodeSelector=_named("n1")),
            pool("r", [dev("f")], nodeSelector=_selector("zone", "Exists")),
            pool("s", [dev("g")], nodeSelector=zone("a")),
        ],
        [claim("c", req("r", 4))],
    ),
    scenario(
        "selector-two-terms",
        [
            pool(
                "p",
                [dev("d")],
                nodeSelector={
                    "nodeSelectorTerms": [
                        *zone("a")["nodeSelectorTerms"],
                        *zone("b")["nodeSelectorTerms"],
                    ]
                },
            )
        ],
        _C,
    ),
    scenario(
        "selector-two-terms-behind-local",
        [
            pool("a", [dev("x")]),
            pool(
                "p",
                [dev("d")],
                nodeSelector={
                    "nodeSelectorTerms": [
                        *zone("a")["nodeSelectorTerms"],
                        *zone("b")["nodeSelectorTerms"],
                    ]
                },
            ),
        ],
        [claim("c", req("r", 2))],
    ),
    scenario(
        "selector-numbers",
        [
            pool("p", [dev("d")], nodeSelector=_selector("size", "Gt", "4")),
            pool("q", [dev("e")], nodeSelector=_selector("size", "Lt", "4")),
        ],
        _C,
        nodes=[
            node("n1", size="5"),
            node("n2", size="3"),
            node("n3", size="4"),
            node("n4", size="x"),
        ],
    ),
    scenario("selector-broken", [pool("p", [dev("d")], nodeSelector=_selector("zone", "In"))], _C),
    scenario(
        "selector-broken-elsewhere",
        [pool("p", [dev("d")]), pool("q", [dev("e")], nodeSelector=_selector("zone", "Like", "x"))],
        _C,
    ),
    scenario("selector-not-named", [pool("p", [dev("d")], nodeSelector=_named("n1", "NotIn"))], _C),
    scenario(
        "selector-no-terms", [pool("p", [dev("d")], nodeSelector={"nodeSelectorTerms": []})], _C
    ),
    scenario(
        "shared-claim-of-pods",
        [pool("p", [dev("d")])],
        [claim("s", req("r")), claim("t", req("r"))],
        pods=[
            {"name": "x", "claims": ["s"]},
            {"name": "y", "claims": ["s"]},
            {"name": "z", "claims": ["s", "t"]},
        ],
    ),
    scenario(
        "shared-claim-on-other-node",
        [pool("p", [dev("d")]), pool("q", [dev("e")], nodeName="n2")],
        [claim("s", req("r")), claim("t", req("r"))],
        pods=[
            {"name": "x", "claims": ["s"], "tryNodes": ["n2"]},
            {"name": "y", "claims": ["s", "t"]},
        ],
    ),
    scenario("pod-without-claims", [pool("p", [dev("d")])], _C, pods=[{"name": "x", "claims": []}]),
    scenario(
        "allocated-for-nowhere",
        [pool("p", [dev("d")])],
        [held("h", "d", spec={"nodeSelector": zone("nowhere")}), claim("c", req("r"))],
    ),
    scenario(
        "try-in-other-order", [pool("p", [dev("d")], allNodes=True)], _C, tryNodes=["n2", "n1"]
    ),
]
