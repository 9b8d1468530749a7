"""Taints, binding conditions, optional node operations and configurations."""

from __future__ import annotations

from typing import Final

from tests.upstream.crossed.parts import ALPHA
from tests.upstream.crossed.parts import DRIVER
from tests.upstream.crossed.parts import EVICT
from tests.upstream.crossed.parts import EXISTS
from tests.upstream.crossed.parts import NO
from tests.upstream.crossed.parts import claim
from tests.upstream.crossed.parts import class_
from tests.upstream.crossed.parts import dev
from tests.upstream.crossed.parts import first
from tests.upstream.crossed.parts import node
from tests.upstream.crossed.parts import pool
from tests.upstream.crossed.parts import req
from tests.upstream.crossed.parts import scenario
from tests.upstream.scenario import Json

_C: Final = [claim("c", req("r"))]
_ALL: Final = [claim("c", req("r", "all"))]


def _config(value: str, *requests: str) -> Json:
    made: Json = {"opaque": {"driver": DRIVER, "parameters": {"of": value}}}
    return {**made, "requests": list(requests)} if requests else made


def _taints(*tolerations: Json) -> list[Json]:
    return [claim("c", req("r", tolerations=list(tolerations)))]


_SPECIAL: Final = [
    pool("p", [dev("t", taint=[NO, {"key": "x", "value": "v", "effect": "NoExecute"}])])
]

SCENARIOS: Final[list[Json]] = [
    scenario("taints-all-tolerated", _SPECIAL, _taints(EXISTS)),
    scenario("taints-one-tolerated", _SPECIAL, _taints({"key": "k", "operator": "Exists"})),
    scenario(
        "taints-by-two",
        _SPECIAL,
        _taints(
            {"key": "k", "operator": "Exists"}, {"key": "x", "operator": "Equal", "value": "v"}
        ),
    ),
    scenario(
        "taints-wrong-effect",
        _SPECIAL,
        _taints(
            {"key": "k", "operator": "Exists", "effect": "NoExecute"},
            {"key": "x", "operator": "Exists"},
        ),
    ),
    scenario(
        "taints-unknown-operator", _SPECIAL, _taints({"key": "k", "operator": "Near"}, EXISTS)
    ),
    scenario("taints-only-unknown-operator", _SPECIAL, _taints({"operator": "Near"})),
    scenario(
        "taints-no-key-equal", [pool("p", [dev("d", taint=NO)])], _taints({"operator": "Equal"})
    ),
    scenario(
        "taint-effect-unknown", [pool("p", [dev("d", taint={"key": "k", "effect": "Later"})])], _C
    ),
    scenario("taint-in-all", [pool("p", [dev("a"), dev("b", taint=EVICT)])], _ALL),
    scenario(
        "taint-in-all-of-alternative",
        [pool("p", [dev("a"), dev("b", taint=EVICT)])],
        [claim("c", first("r", req("every", "all"), req("one")))],
    ),
    scenario(
        "conditions-go-last",
        [pool("a", [dev("x", bindingConditions=["ready"]), dev("y")]), pool("b", [dev("z")])],
        [claim("c", req("r", 3))],
    ),
    scenario(
        "conditions-of-one-class-only",
        [pool("a", [dev("x", bindingConditions=["ready"]), dev("y")])],
        [claim("c", req("r"))],
    ),
    scenario(
        "conditions-empty", [pool("a", [dev("x", bindingConditions=[])]), pool("b", [dev("z")])], _C
    ),
    scenario(
        "conditions-gate-off-all",
        [pool("a", [dev("x", bindingConditions=["ready"]), dev("y")])],
        _ALL,
        features={"DRADeviceBindingConditions": False},
    ),
    scenario(
        "conditions-tainted",
        [pool("a", [dev("x", bindingConditions=["ready"], taint=NO), dev("y")])],
        [claim("c", first("r", req("two", 2), req("one")))],
    ),
    scenario(
        "operations-need-the-node",
        [pool("p", [dev("d")], skipNodeOperations=["Prepare"]), pool("q", [dev("e")])],
        _C,
        nodes=[
            node("n1"),
            {**node("n2"), "status": {"declaredFeatures": ["DRAOptionalNodeOperations"]}},
        ],
        **ALPHA,
    ),
    scenario(
        "operations-declared",
        [pool("p", [dev("d")], skipNodeOperations=["Prepare"], allNodes=True)],
        _C,
        nodes=[
            node("n1"),
            {**node("n2"), "status": {"declaredFeatures": ["DRAOptionalNodeOperations"]}},
        ],
        **ALPHA,
    ),
    scenario(
        "operations-all", [pool("p", [dev("d")], skipNodeOperations=["Prepare"])], _ALL, **ALPHA
    ),
    scenario(
        "operations-default-gates", [pool("p", [dev("d")], skipNodeOperations=["Prepare"])], _C
    ),
    scenario(
        "config-order",
        [pool("p", [dev(f"d{number}") for number in range(4)])],
        [
            claim(
                "c",
                req("a", of="set"),
                req("b", of="any"),
                req("c", of="set"),
                config=[
                    _config("one", "b"),
                    _config("all"),
                    _config("two", "a", "c", "b"),
                    _config("none", "ghost"),
                ],
            )
        ],
        deviceClasses=[
            class_("set", config=[_config("class")]),
            class_("any", config=[_config("other")]),
        ],
    ),
    scenario(
        "config-of-alternatives",
        [pool("p", [dev("d0"), dev("d1")])],
        [
            claim(
                "c",
                first("a", req("x", 3, of="set"), req("y", of="any")),
                req("b", of="set"),
                config=[
                    _config("x", "a/x"),
                    _config("y", "a/y"),
                    _config("a", "a"),
                    _config("both", "a/y", "b"),
                ],
            )
        ],
        deviceClasses=[
            class_("set", config=[_config("class")]),
            class_("any", config=[_config("other")]),
        ],
    ),
]
