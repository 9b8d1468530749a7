"""Constraints, list values and derived attributes with everything else."""

from __future__ import annotations

from typing import Final

from tests.upstream.crossed.parts import ALPHA
from tests.upstream.crossed.parts import DRIVER
from tests.upstream.crossed.parts import EXISTS
from tests.upstream.crossed.parts import NO
from tests.upstream.crossed.parts import claim
from tests.upstream.crossed.parts import counters
from tests.upstream.crossed.parts import dev
from tests.upstream.crossed.parts import distinct
from tests.upstream.crossed.parts import first
from tests.upstream.crossed.parts import held
from tests.upstream.crossed.parts import match
from tests.upstream.crossed.parts import pool
from tests.upstream.crossed.parts import req
from tests.upstream.crossed.parts import scenario
from tests.upstream.crossed.parts import share
from tests.upstream.scenario import Json

_TAGS: Final = [
    dev("d0", at={"tags": [1, 2], "numa": 0}),
    dev("d1", at={"tags": [2, 3], "numa": 1}),
    dev("d2", at={"tags": [3, 1], "numa": 0}),
    dev("d3", at={"tags": [1], "numa": 1}),
    dev("d4", at={"tags": 1, "numa": 0}),
]
_LISTS: Final = [pool("p", _TAGS)]
_NUMA: Final = [
    pool("p", [dev(f"d{number}", at={"numa": number // 2, "slot": number}) for number in range(6)])
]
_MIXED: Final = [
    dev("text", at={"id": "1"}),
    dev("number", at={"id": 1}),
    dev("truth", at={"id": True}),
    dev("version", at={"id": "v1.0.0"}),
    dev("build", at={"id": "v1.0.0+b"}),
]
_SHARED: Final = [
    dev("s0", at={"numa": 0}, shared=True, cap={"mem": "4"}),
    dev("s1", at={"numa": 1}, shared=True, cap={"mem": "4"}),
]

_DERIVED: Final = {"half": f'device.attributes["{DRIVER}"].slot / 2'}


def _match(name: str, slices: list[Json], *requests: Json, by: list[Json], **more: object) -> Json:
    return scenario(name, slices, [claim("c", *requests, constraints=by)], **more)


SCENARIOS: Final[list[Json]] = [
    _match("list-match-3-of-running", _LISTS, req("r", 3), by=[match("tags")], **ALPHA),
    _match(
        "list-match-scalar-joins",
        _LISTS,
        req("r", 3, where=f'device.attributes["{DRIVER}"].numa == 0 || true'),
        by=[match("tags")],
        **ALPHA,
    ),
    _match("list-distinct-2", _LISTS, req("r", 2), by=[distinct("tags")], **ALPHA),
    _match("list-distinct-3", _LISTS, req("r", 3), by=[distinct("tags")], **ALPHA),
    _match("list-both-ways", _LISTS, req("r", 2), by=[match("tags"), distinct("tags")], **ALPHA),
    _match(
        "list-match-numa-distinct",
        _LISTS,
        req("r", 2),
        by=[match("tags"), distinct("numa")],
        **ALPHA,
    ),
    _match("list-off-match-one", _LISTS, req("r", 1), by=[match("tags")]),
    _match("list-off-match-two", _LISTS, req("r", 2), by=[match("tags")]),
    _match(
        "list-off-distinct-scalar-left",
        _LISTS,
        req("a"),
        req("b", where="size(device.attributes) > 0"),
        by=[distinct("tags", "b")],
    ),
    _match("list-match-all", [pool("p", _TAGS[:2])], req("r", "all"), by=[match("tags")], **ALPHA),
    _match(
        "list-match-all-violated",
        [pool("p", _TAGS[:3])],
        req("r", "all"),
        by=[match("tags")],
        **ALPHA,
    ),
    _match(
        "list-match-alternatives",
        _LISTS,
        first("r", req("three", 4), req("two", 2)),
        req("s"),
        by=[match("tags")],
        **ALPHA,
    ),
    _match(
        "list-empty-strings",
        [pool("p", [dev("d0", at={"tags": {"strings": []}}), *_TAGS])],
        req("r", 2),
        by=[match("tags")],
        **ALPHA,
    ),
    _match(
        "list-text-and-number",
        [pool("p", [dev("d0", at={"tags": ["1"]}), *_TAGS])],
        req("r", 2),
        by=[match("tags")],
        **ALPHA,
    ),
    _match(
        "list-includes",
        _LISTS,
        req("r", 2, where=f'device.attributes["{DRIVER}"].tags.includes(1)'),
        by=[],
        **ALPHA,
    ),
    _match("types-match-2", [pool("p", _MIXED)], req("r", 2), by=[match("id")]),
    _match("types-distinct-5", [pool("p", _MIXED)], req("r", 5), by=[distinct("id")]),
    _match(
        "types-distinct-6",
        [pool("p", [*_MIXED, dev("again", at={"id": 1})])],
        req("r", 6),
        by=[distinct("id")],
    ),
    _match(
        "types-distinct-lists-on", [pool("p", _MIXED)], req("r", 5), by=[distinct("id")], **ALPHA
    ),
    _match(
        "qualified-before-bare",
        [
            pool(
                "p",
                [
                    dev("d0", at={"numa": 0, f"{DRIVER}/numa": 5}),
                    dev("d1", at={"numa": 0}),
                    dev("d2", at={f"{DRIVER}/numa": 5}),
                ],
            )
        ],
        req("r", 2),
        by=[match("numa")],
    ),
    _match(
        "foreign-domain",
        [
            pool(
                "p",
                [
                    dev("d0", at={"other.example.com/numa": 1, "numa": 3}),
                    dev("d1", at={"other.example.com/numa": 1}),
                ],
            )
        ],
        req("r", 2),
        by=[match("other.example.com/numa")],
    ),
    _match("foreign-domain-bare", _NUMA, req("r", 1), by=[match("other.example.com/numa")]),
    _match("one-device-missing", _NUMA, req("r", 1), by=[distinct("nothing")]),
    _match(
        "match-and-distinct",
        _NUMA,
        req("a", 2),
        req("b", 2),
        by=[match("numa", "a"), distinct("slot")],
    ),
    _match(
        "two-matches-cross",
        [
            pool(
                "p",
                [
                    dev("d0", at={"x": 0, "y": 0}),
                    dev("d1", at={"x": 0, "y": 1}),
                    dev("d2", at={"x": 1, "y": 1}),
                    dev("d3", at={"x": 1, "y": 0}),
                ],
            )
        ],
        req("a"),
        req("b"),
        req("c"),
        by=[match("x", "a", "b"), match("y", "b", "c"), distinct("x", "a", "c")],
    ),
    _match("constraint-of-unknown-request", _NUMA, req("a", 3), by=[match("numa", "ghost")]),
    _match(
        "constraint-of-alternative-only",
        _NUMA,
        first("a", req("x", 3), req("y", 2)),
        by=[match("numa", "a/x")],
    ),
    _match(
        "constraint-parent-and-alternative",
        _NUMA,
        first("a", req("x", 3), req("y", 2)),
        req("b"),
        by=[match("numa", "a", "b")],
    ),
    _match(
        "match-with-taint",
        [
            pool(
                "p",
                [
                    dev("d0", at={"numa": 0}),
                    dev("d1", at={"numa": 0}, taint=NO),
                    dev("d2", at={"numa": 1}),
                    dev("d3", at={"numa": 1}),
                ],
            )
        ],
        req("r", 2),
        by=[match("numa")],
    ),
    _match(
        "match-tolerated-alternative",
        [
            pool(
                "p",
                [
                    dev("d0", at={"numa": 0}),
                    dev("d1", at={"numa": 0}, taint=NO),
                    dev("d2", at={"numa": 1}),
                ],
            )
        ],
        first("r", req("strict", 2), req("loose", 2, tolerations=[EXISTS])),
        by=[match("numa")],
    ),
    _match(
        "match-admin-on-used",
        _NUMA,
        req("a", adminAccess=True),
        req("b"),
        by=[match("numa")],
        allocatedClaims=[held("h", "d0")],
    ),
    _match(
        "distinct-shared-device",
        [pool("p", _SHARED)],
        req("a", wants={"mem": "1"}),
        req("b", wants={"mem": "1"}),
        by=[distinct("numa")],
    ),
    _match(
        "match-shared-with-stored",
        [pool("p", _SHARED)],
        req("a", wants={"mem": "2"}),
        req("b", wants={"mem": "2"}),
        by=[match("numa")],
        allocatedClaims=[held("h", ("s0", share(1, mem="1")))],
    ),
    _match(
        "match-partitions",
        [
            counters("p", s="4"),
            pool(
                "p",
                [
                    dev("d0", at={"numa": 0}, takes={"s": ["3"]}),
                    dev("d1", at={"numa": 0}, takes={"s": ["2"]}),
                    dev("d2", at={"numa": 1}, takes={"s": ["2"]}),
                    dev("d3", at={"numa": 1}, takes={"s": ["2"]}),
                ],
                count=2,
            ),
        ],
        req("a"),
        req("b"),
        by=[match("numa")],
    ),
    _match("derived-match", _NUMA, req("r", 2, derived=_DERIVED), by=[match("half")], **ALPHA),
    _match(
        "derived-match-three", _NUMA, req("r", 3, derived=_DERIVED), by=[match("half")], **ALPHA
    ),
    _match(
        "derived-hides-static",
        _NUMA,
        req("r", 2, derived={"numa": "1 + 1"}),
        by=[distinct("numa")],
        **ALPHA,
    ),
    _match(
        "derived-list",
        _NUMA,
        req("r", 2, derived={"half": f'[device.attributes["{DRIVER}"].slot, 9]'}),
        by=[match("half")],
        **ALPHA,
    ),
    _match(
        "derived-fails-late",
        [pool("p", [dev("d0", at={"slot": 0}), dev("d1")])],
        req("r", 2, derived=_DERIVED),
        by=[match("half")],
        **ALPHA,
    ),
    _match(
        "derived-unused-broken",
        _NUMA,
        req("r", derived={"half": "nonsense"}),
        by=[match("numa")],
        **ALPHA,
    ),
    _match(
        "derived-in-one-request",
        _NUMA,
        req("a", derived=_DERIVED),
        req("b"),
        by=[match("half")],
        **ALPHA,
    ),
    _match("derived-gate-off", _NUMA, req("r", derived=_DERIVED), by=[match("half")]),
    _match(
        "derived-all",
        [pool("p", [dev("d0", at={"slot": 0}), dev("d1", at={"slot": 1})])],
        req("r", "all", derived=_DERIVED),
        by=[match("half")],
        **ALPHA,
    ),
    _match(
        "match-across-pools",
        [
            pool("a", [dev("a0", at={"numa": 0}), dev("a1", at={"numa": 1})]),
            pool("b", [dev("b0", at={"numa": 1})]),
        ],
        req("r", 2),
        by=[match("numa")],
    ),
    _match(
        "match-all-then-exact",
        _NUMA,
        req("x", "all", where=f'device.attributes["{DRIVER}"].numa == 1'),
        req("y"),
        by=[match("numa")],
    ),
    _match("distinct-all", _NUMA, req("x", "all"), by=[distinct("slot")]),
    _match("distinct-all-violated", _NUMA, req("x", "all"), by=[distinct("numa")]),
    scenario(
        "constraints-stay-in-their-claim",
        _NUMA,
        [
            claim("a", req("r"), constraints=[match("numa")]),
            claim("b", req("r", 2), constraints=[match("numa")]),
        ],
    ),
    scenario(
        "second-claim-undoes-first-group",
        _NUMA,
        [
            claim("a", req("r", 2), constraints=[match("numa")]),
            claim(
                "b",
                req("r", 2, where=f'device.attributes["{DRIVER}"].numa == 0'),
                constraints=[match("numa")],
            ),
        ],
    ),
]
