"""Consumable capacity and administrators with everything else."""

from __future__ import annotations

from typing import Final

from tests.upstream.crossed.parts import NO
from tests.upstream.crossed.parts import claim
from tests.upstream.crossed.parts import counters
from tests.upstream.crossed.parts import dev
from tests.upstream.crossed.parts import first
from tests.upstream.crossed.parts import held
from tests.upstream.crossed.parts import pool
from tests.upstream.crossed.parts import req
from tests.upstream.crossed.parts import scenario
from tests.upstream.crossed.parts import share
from tests.upstream.scenario import Json


def _policy(value: str, default: str | None = None, **policy: object) -> Json:
    made: Json = dict(policy)
    if default is not None:
        made["default"] = default
    return {"value": value, "requestPolicy": made}


def _range(low: str, high: str | None = None, step: str | None = None) -> Json:
    made = {"min": low, "max": high, "step": step}
    return {name: value for name, value in made.items() if value is not None}


def _one(name: str, capacity: Json | str, *amounts: str | None, **more: object) -> Json:
    """Claims for one amount after the other of one shareable device."""
    slices = [pool("p", [dev("s", shared=True, cap={"mem": capacity})])]
    claims = [
        claim(f"c{number}", req("r") if one is None else req("r", wants={"mem": one}))
        for number, one in enumerate(amounts)
    ]
    return scenario(name, slices, claims, **more)


_STEPS: Final = _policy("10", "2", validRange=_range("2", "8", "2"))
_MILLI: Final = _policy("2", "250m", validRange=_range("250m", "1500m", "250m"))
_VALUES: Final = _policy("10", "4", validValues=["1", "4", "6"])
_TWO: Final = [
    dev("s0", shared=True, cap={"mem": "4", "bw": "4"}),
    dev("s1", shared=True, cap={"mem": "8", "bw": "2"}),
]
_FRACTION_OFF: Final = {"features": {"DRAFractionalCapacityRange": False}}

SCENARIOS: Final[list[Json]] = [
    _one("steps-rounded-and-summed", _STEPS, "3", "3"),
    _one("steps-default-and-request", _STEPS, None, "8"),
    _one("steps-last-too-much", _STEPS, "8", None, "1"),
    _one("steps-over-the-range", _STEPS, "9"),
    _one("milli-steps", _MILLI, "300m", "1", "500m"),
    _one("milli-steps-over", _MILLI, "1501m"),
    _one("milli-finer-request", _MILLI, "250500u"),
    _one("milli-steps-gate-off", _MILLI, "300m", "1", **_FRACTION_OFF),
    _one("milli-steps-gate-off-default", _MILLI, None, None, None, **_FRACTION_OFF),
    _one(
        "milli-min-whole-step",
        _policy("4", "1", validRange=_range("500m", step="1")),
        "600m",
        "1600m",
    ),
    _one("micro-step", _policy("4", "1", validRange=_range("0", step="500u")), "600u"),
    _one("values-next", _VALUES, "2", "5"),
    _one("values-none-left", _VALUES, "7"),
    _one("values-default", _VALUES, None, None, None),
    _one("values-empty-list", _policy("10", "3", validValues=[]), "5"),
    _one("default-alone", _policy("10", "3"), None, "7"),
    _one("default-too-large", _policy("3", "5"), None),
    _one("zero-requested", "4", "0", "4"),
    _one("zero-value", "0", "0", None),
    _one("exact-in-other-units", "1Gi", "1024Mi"),
    _one("exponents", "1e3", "1k"),
    _one("half-unit", "1", "500m", "0.5"),
    _one("half-unit-over", "1", "500m", "501m"),
    _one("huge-without-policy", "4", "9223372036854775808"),
    _one(
        "huge-with-steps",
        _policy("9223372036854775807", "1", validRange=_range("1", step="5")),
        "9223372036854775807",
    ),
    _one("negative-requested", "4", "-1"),
    _one("unlimited-sharing", "4", None),
    scenario(
        "no-capacity-thrice",
        [pool("p", [dev("s", shared=True)])],
        [claim(f"c{number}", req("a"), req("b")) for number in range(3)],
    ),
    scenario(
        "shared-needs-count-two", [pool("p", _TWO)], [claim("c", req("r", 2, wants={"mem": "1"}))]
    ),
    scenario(
        "shared-count-two-of-one",
        [pool("p", _TWO[:1])],
        [claim("c", req("r", 2, wants={"mem": "1"}))],
    ),
    scenario(
        "both-capacities-decide",
        [pool("p", _TWO)],
        [
            claim("a", req("r", wants={"mem": "3", "bw": "1"})),
            claim("b", req("r", wants={"mem": "2", "bw": "1"})),
            claim("c", req("r", wants={"mem": "1", "bw": "2"})),
        ],
    ),
    scenario(
        "requests-of-one-claim-share",
        [pool("p", _TWO[:1])],
        [
            claim(
                "c",
                req("a", wants={"mem": "1", "bw": "1"}),
                req("b", wants={"mem": "3", "bw": "3"}),
            )
        ],
    ),
    scenario(
        "requests-of-one-claim-overflow",
        [pool("p", _TWO[:1])],
        [
            claim(
                "c",
                req("a", wants={"mem": "2", "bw": "1"}),
                req("b", wants={"mem": "3", "bw": "3"}),
            )
        ],
    ),
    scenario(
        "all-with-amount", [pool("p", _TWO)], [claim("c", req("r", "all", wants={"mem": "5"}))]
    ),
    scenario(
        "all-with-amount-stored",
        [pool("p", _TWO)],
        [claim("c", req("r", "all", wants={"mem": "2", "bw": "1"}))],
        allocatedClaims=[held("h", ("s1", share(1, mem="7", bw="1")))],
    ),
    scenario(
        "all-shared-twice",
        [pool("p", _TWO)],
        [
            claim("a", req("r", "all", wants={"mem": "2", "bw": "1"})),
            claim("b", req("r", "all", wants={"mem": "2", "bw": "1"})),
        ],
    ),
    scenario(
        "alternatives-by-amount",
        [pool("p", _TWO)],
        [
            claim(
                "c",
                first(
                    "r",
                    req("much", wants={"mem": "9"}),
                    req("little", wants={"mem": "5", "bw": "1"}),
                ),
            )
        ],
    ),
    scenario(
        "alternative-gives-way",
        [pool("p", _TWO[:1])],
        [
            claim(
                "a",
                first(
                    "r",
                    req("much", wants={"mem": "4", "bw": "1"}),
                    req("less", wants={"mem": "1", "bw": "1"}),
                ),
            ),
            claim("b", req("r", wants={"mem": "2", "bw": "1"})),
        ],
    ),
    scenario(
        "unknown-capacity-of-one",
        [pool("p", [dev("a", shared=True, cap={"mem": "1"}), dev("b", cap={"bw": "1"})])],
        [claim("c", req("r", wants={"bw": "1"}))],
    ),
    scenario(
        "exclusive-after-share",
        [pool("p", [dev("s", cap={"mem": "4"})])],
        [claim("c", req("r", wants={"mem": "1"}))],
        allocatedClaims=[held("h", ("s", share(1, mem="1")))],
    ),
    scenario(
        "shareable-after-exclusive",
        [pool("p", _TWO[:1])],
        [claim("c", req("r", wants={"mem": "1"}))],
        allocatedClaims=[held("h", "s0")],
    ),
    scenario(
        "share-without-amount",
        [pool("p", _TWO[:1])],
        [claim("c", req("r", wants={"mem": "4", "bw": "4"}))],
        allocatedClaims=[held("h", ("s0", share(1)))],
    ),
    scenario(
        "stored-of-unknown-capacity",
        [pool("p", _TWO[:1])],
        [claim("c", req("r", wants={"mem": "1", "bw": "1"}))],
        allocatedClaims=[held("h", ("s0", share(1, other="9")))],
    ),
    scenario(
        "tainted-share",
        [pool("p", [dev("s", shared=True, cap={"mem": "4"}, taint=NO), *_TWO])],
        [
            claim(
                "c",
                req("r", wants={"mem": "1", "bw": "1"}),
                req("t", tolerations=[{"operator": "Exists"}], wants={"mem": "1"}),
            )
        ],
    ),
    scenario(
        "partition-shared",
        [
            counters("p", s="3"),
            pool(
                "p",
                [
                    dev("a", shared=True, cap={"mem": "2"}, takes={"s": ["2"]}),
                    dev("b", takes={"s": ["2"]}),
                    dev("c", takes={"s": ["1"]}),
                ],
                count=2,
            ),
        ],
        [
            claim("x", req("r", wants={"mem": "1"})),
            claim("y", req("r", wants={"mem": "1"})),
            claim("z", req("r")),
        ],
    ),
    scenario(
        "partition-shared-stored",
        [
            counters("p", s="3"),
            pool(
                "p",
                [
                    dev("a", shared=True, cap={"mem": "2"}, takes={"s": ["2"]}),
                    dev("b", takes={"s": ["2"]}),
                ],
                count=2,
            ),
        ],
        [claim("x", req("r", wants={"mem": "1"})), claim("y", req("r"))],
        allocatedClaims=[held("h", ("a", share(1, mem="1")))],
    ),
    scenario(
        "admin-shares",
        [pool("p", _TWO[:1])],
        [
            claim("a", req("r", adminAccess=True, wants={"mem": "3", "bw": "1"})),
            claim("b", req("r", wants={"mem": "2", "bw": "1"})),
        ],
    ),
    scenario(
        "admin-on-used-partition",
        [counters("p", s="2"), pool("p", [dev("a", takes={"s": ["2"]})], count=2)],
        [claim("c", req("r", adminAccess=True))],
        allocatedClaims=[held("h", "a")],
    ),
    scenario(
        "admin-all-of-used",
        [pool("p", [dev("a"), dev("b")])],
        [claim("c", req("r", "all", adminAccess=True))],
        allocatedClaims=[held("h", "a")],
    ),
    scenario(
        "admin-does-not-hold",
        [pool("p", [dev("a")])],
        [claim("c", req("r"))],
        allocatedClaims=[held("h", ("a", {"adminAccess": True}))],
    ),
    scenario(
        "admin-false-is-ordinary",
        [pool("p", [dev("a")])],
        [claim("c", req("r", adminAccess=False))],
        allocatedClaims=[held("h", "a")],
    ),
    scenario(
        "admin-then-all",
        [pool("p", [dev("a"), dev("b")])],
        [claim("a", req("r", adminAccess=True)), claim("b", req("r", "all"))],
    ),
    scenario(
        "capacity-gate-off",
        [pool("p", _TWO)],
        [claim("c", req("r", wants={"mem": "1"}))],
        features={"DRAConsumableCapacity": False},
    ),
    scenario(
        "capacity-gate-off-unasked",
        [pool("p", _TWO)],
        [claim("c", req("a"), req("b"))],
        features={"DRAConsumableCapacity": False},
    ),
    scenario(
        "stable-takes-whole-devices",
        [pool("p", _TWO)],
        [claim("c", req("a", wants={"mem": "1"}), req("b"), req("c"))],
        profile="ga",
    ),
]
