"""Limits, laziness of errors, order of alternatives, and inputs that no server would store."""

from __future__ import annotations

from typing import Final

from tests.upstream.crossed.parts import ALPHA
from tests.upstream.crossed.parts import DRIVER
from tests.upstream.crossed.parts import NO
from tests.upstream.crossed.parts import claim
from tests.upstream.crossed.parts import class_
from tests.upstream.crossed.parts import dev
from tests.upstream.crossed.parts import first
from tests.upstream.crossed.parts import held
from tests.upstream.crossed.parts import match
from tests.upstream.crossed.parts import pool
from tests.upstream.crossed.parts import req
from tests.upstream.crossed.parts import scenario
from tests.upstream.scenario import Json

_A: Final = f'device.attributes["{DRIVER}"]'
_C: Final = [claim("c", req("r"))]


def _many(count: int, **fields: object) -> list[Json]:
    return [pool("p", [dev(f"d{number:03}", **fields) for number in range(count)])]


def _sized(*sizes: int) -> list[Json]:
    return [pool("p", [dev(f"d{number}", at={"size": one}) for number, one in enumerate(sizes)])]


def _where(name: str, text: str | list[str], devices: list[Json], **more: object) -> Json:
    return scenario(name, [pool("p", devices)], [claim("c", req("r", where=text))], **more)


_LARGE_OR_SMALL: Final = first(
    "r", req("large", where=f"{_A}.size == 2"), req("small", where=f"{_A}.size == 1")
)
_TWO: Final = [dev("a"), dev("b", at={"size": 2, "text": "x", "ver": "v1.2.3", "flag": True})]

SCENARIOS: Final[list[Json]] = [
    scenario("limit-32", _many(33), [claim("c", req("r", 32))]),
    scenario("limit-33", _many(40), [claim("c", req("r", 33))]),
    scenario("limit-31-and-1", _many(40), [claim("c", req("a", 31), req("b", 1))]),
    scenario("limit-31-and-2", _many(40), [claim("c", req("a", 31), req("b", 2))]),
    scenario("limit-per-claim", _many(64), [claim("a", req("r", 32)), claim("b", req("r", 32))]),
    scenario("limit-all-32", _many(32), [claim("c", req("r", "all"))]),
    scenario("limit-all-33", _many(33), [claim("c", req("r", "all"))]),
    scenario(
        "limit-all-and-one",
        _many(32),
        [claim("c", req("r", "all", where=f"{_A}.size == 1 || true"), req("b"))],
    ),
    scenario(
        "limit-alternative-all-33",
        _many(33),
        [claim("c", first("r", req("every", "all"), req("two", 2)))],
    ),
    scenario(
        "limit-alternatives-all-33",
        _many(33),
        [claim("c", first("r", req("every", "all"), req("more", "all")))],
    ),
    scenario(
        "limit-jump",
        _many(40),
        [
            claim(
                "c", first("a", req("x", 20), req("y", 16)), first("b", req("x", 20), req("y", 16))
            )
        ],
    ),
    scenario(
        "limit-jump-over-plain",
        _many(40),
        [
            claim(
                "c",
                first("a", req("x", 20), req("y", 10)),
                req("m", 2),
                first("b", req("x", 20), req("y", 16)),
            )
        ],
    ),
    scenario(
        "limit-jump-other-claim",
        _many(60),
        [
            claim("a", first("r", req("x", 32), req("y", 1))),
            claim("b", first("r", req("x", 29), req("y", 28))),
        ],
    ),
    scenario(
        "alternatives-of-no-use",
        _many(2),
        [claim("c", first("a", req("x", 3), req("y", 4)), req("b"))],
    ),
    scenario(
        "alternatives-eight",
        _many(8),
        [claim("c", first("a", *(req(f"s{number}", 16 - number) for number in range(8))))],
    ),
    scenario(
        "alternatives-across-claims",
        _sized(1, 2),
        [
            claim("a", _LARGE_OR_SMALL),
            claim("b", _LARGE_OR_SMALL),
        ],
    ),
    scenario(
        "alternatives-last-claim-wins",
        _sized(1, 2),
        [
            claim("a", _LARGE_OR_SMALL),
            claim("b", req("r", where=f"{_A}.size == 2")),
        ],
    ),
    scenario(
        "alternative-missing-class",
        _many(1),
        [claim("c", first("r", req("a"), req("b", of="ghost")))],
    ),
    scenario(
        "alternative-error-unreached",
        _many(1),
        [claim("c", first("r", req("a"), req("b", where=f"{_A}.x == 1")))],
    ),
    scenario(
        "alternative-error-reached",
        _many(1),
        [claim("c", first("r", req("a", 2), req("b", where=f"{_A}.x == 1")))],
    ),
    scenario(
        "alternative-error-in-first",
        _many(1),
        [claim("c", first("r", req("a", where=f"{_A}.x == 1"), req("b")))],
    ),
    scenario(
        "alternatives-gate-off",
        _many(1),
        [claim("c", first("r", req("a")))],
        features={"DRAPrioritizedList": False},
    ),
    _where("error-behind-the-match", f"{_A}.size == 2", _TWO[::-1]),
    _where("error-before-the-match", f"{_A}.size == 2", _TWO),
    _where("error-on-used-device", f"{_A}.size == 2", _TWO, allocatedClaims=[held("h", "a")]),
    _where("error-guarded", f"has({_A}.size) && {_A}.size == 2", _TWO),
    _where("error-optional", f"{_A}.?size.orValue(0) == 2", _TWO),
    _where("error-second-selector", ["false", f"{_A}.size == 2"], _TWO),
    _where("error-first-selector", [f"{_A}.size == 2", "false"], _TWO),
    _where("error-absorbed", f'{_A}.size == 2 || device.driver == "{DRIVER}"', _TWO),
    _where("error-not-bool", f"{_A}.size", _TWO[1:]),
    _where("error-dyn-bool", f"{_A}.flag", _TWO[1:]),
    _where("error-type-clash", f'{_A}.size > "1"', _TWO[1:]),
    _where("error-never-equal", f'{_A}.size == "2"', _TWO[1:]),
    _where("error-unknown-name", "gadget.driver", _TWO),
    _where("error-syntax", "device.driver ==", _TWO),
    _where("error-empty-expression", "", _TWO),
    _where("error-bad-version", f'{_A}.ver.isGreaterThan(semver("1.0"))', _TWO[1:]),
    _where("version-compare", f'{_A}.ver.compareTo(semver("1.2.3")) == 0', _TWO[1:]),
    _where("error-tainted", f"{_A}.size == 2", [dev("a", taint=NO), *_TWO[1:]]),
    _where("error-in-all", "true", _TWO, deviceClasses=[class_("gpu", f"{_A}.size == 2")]),
    _where("unknown-domain", 'device.attributes["none.example.com"].size == 2', _TWO),
    _where("unknown-domain-in", '"none.example.com" in device.attributes', _TWO),
    _where("cost-quantifiers", "[1,2,3].all(a, [1,2,3].exists(b, a == b))", _TWO),
    _where("cost-too-much", "lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0))", _TWO),
    _where("bad-attribute", "true", [dev("a", at={"x": {"version": "1.0"}}), dev("b")]),
    _where("no-value", "true", [dev("a", at={"x": {}}), dev("b")]),
    scenario(
        "no-value-unlooked", [pool("p", [dev("a", at={"x": {}})])], [claim("c", req("r", of="any"))]
    ),
    scenario(
        "class-twice", _many(1), _C, deviceClasses=[class_("gpu", "false"), class_("gpu", "true")]
    ),
    scenario("class-empty", _many(1), [claim("c", req("r", of=""))]),
    scenario("class-missing", _many(1), [claim("c", req("r", of="ghost"))]),
    scenario(
        "class-missing-second-claim", [], [claim("a", req("r")), claim("b", req("r", of="ghost"))]
    ),
    scenario("selector-of-no-kind", _many(1), [claim("c", req("r", selectors=[{}]))]),
    scenario("constraint-of-no-kind", _many(1), [claim("c", req("r"), constraints=[{}])]),
    scenario("mode-unknown", _many(1), [claim("c", req("r", allocationMode="Most"))]),
    scenario("count-zero-plain", _many(1), [claim("c", req("r", 0))], noDefaults=True),
    scenario("count-with-all", _many(2), [claim("c", req("r", 5, allocationMode="All"))]),
    scenario(
        "no-mode",
        _many(1),
        [claim("c", {"name": "r", "exactly": {"deviceClassName": "gpu"}})],
        noDefaults=True,
    ),
    scenario("no-requests", _many(1), [claim("c")]),
    scenario("no-requests-but-constraints", _many(1), [claim("c", constraints=[match("numa")])]),
    scenario("no-claims", _many(1), []),
    scenario("no-claims-broken-pool", [pool("p", [dev("d"), dev("d")])], []),
    scenario("no-slices", [], _C),
    scenario("second-claim-empty", _many(1), [claim("a", req("r")), claim("b")]),
    scenario("blow-up-12-of-11", _many(11), [claim("c", req("r", 12))]),
    scenario(
        "blow-up-three-requests", _many(8), [claim("c", req("a", 3), req("b", 3), req("d", 3))]
    ),
    scenario(
        "blow-up-distinct-kinds",
        [pool("p", [dev(f"d{number}", at={"kind": number % 3}) for number in range(9)])],
        [
            claim(
                "c", req("a", 3), req("b", 1), constraints=[{"distinctAttribute": f"{DRIVER}/kind"}]
            )
        ],
    ),
    scenario(
        "blow-up-groups",
        [pool("p", [dev(f"d{number}", at={"group": number // 3}) for number in range(6)])],
        [claim("c", req("a", 2), req("b", 2), constraints=[match("group")])],
    ),
    scenario("permutations-stable", _many(4), [claim("c", req("r", 5))], profile="ga"),
    scenario(
        "stable-distinct",
        _many(2, at={"x": 1}),
        [claim("c", req("r"), constraints=[{"distinctAttribute": f"{DRIVER}/x"}])],
        profile="ga",
    ),
    scenario("variant-forced-too-small", _many(1), _C, variant="stable"),
    scenario("variant-forced-larger", _many(1), _C, variant="experimental"),
    scenario("all-gates-plain", _many(2), [claim("c", req("r", 2))], **ALPHA),
    scenario(
        "no-gates",
        [pool("p", [dev("d", taint=NO, bindingConditions=["ready"]), dev("e", taint=NO)])],
        _C,
        profile="none",
    ),
    scenario("deadline-passed", _many(20), [claim("c", req("r", 21))], timeout="1ns"),
]
