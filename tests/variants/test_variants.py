"""Legal variants stay green where they differ; ``tests.variants.run`` judges them whole."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.fake_driver import variants
from pytest_dra.fake_driver.driver import Parts
from pytest_dra.fake_driver.errors import StartError
from tests.variants.varied import judge
from tests.variants.varied import judge_each
from tests.variants.varied import not_green

CASES = "CDI-*,IDEM-002,PREP-003,UNP-004,UNP-006"
"""Cases that look at what the variants change."""

PUBLISHING = "SLICE-001,PREP-001,PREP-008"
"""Cases that a variant of publishing or of asking cannot pass by doing nothing."""

SOCKETS = "REG-001,REG-007,REG-017"
"""Cases that find the sockets."""

NAMES = ("HASH", "UID", "DIRECTORIES", "OUTSIDE", "ONE", "RENAMED", "LINKS")

QUICK = {
    **dict.fromkeys(["V14", "V17"], f"{PUBLISHING},SEC-002"),
    **dict.fromkeys(["V01", "V22", "V24", "V26", "V27", "V28", "pages"], PUBLISHING),
    "V10-NONE": "SLICE-001,REG-004",
    "V10-SEVERAL": PUBLISHING,
    "V12-NAMES": "CDI-002,UNP-004",
    "V21-FIRST": "IDEM-006",
    "V02": "HLTH-002,REG-006",
    "V03": "HLTH-004,HLTH-007",
    "V05": "PREP-005",
    "V06": "PREP-008,ROB-006,ROB-007,ROB-008,SEC-005",
    "V06-BATCH": "PREP-010,PREP-011",
    "V07-V1": "REG-005",
    "V07-V1BETA1": "REG-005",
    "V08": "REG-004,REG-006,REG-018",
    "V08-HEALTH": "REG-006",
    "V20": "META-001,META-004,SEC-004",
    "V20-ONE": "META-001,META-006",
    "V32-ALPHA": "HLTH-001,HLTH-012",
    "V32-LATE": "HLTH-001,HLTH-007",
    "V32-ORDER": "HLTH-003,HLTH-004,HLTH-005",
    **dict.fromkeys([f"V09-{name}" for name in NAMES], SOCKETS),
    "V13": "IDEM-004,UNP-004,ROB-008,SEC-004",
    "V15": "PREP-016,ROB-002,ROB-006",
    "V16": "UNP-001,UNP-002",
    "V18": "PREP-023",
    "V19": "REG-008",
    "V19-EXIT": "REG-015",
    "V29": "STAT-001,STAT-002,STAT-006,STAT-007,BIND-002,BIND-003,BIND-005",
    "V29-FALSE": "STAT-002,STAT-007",
    "V29-NETWORK": "STAT-002,STAT-003,STAT-007",
    "V30": "CONF-003,CONF-004",
    "V23-ALL": "PREP-001,PREP-003,PREP-004,ROB-001,ROB-005,ROB-010",
    "V23-ONE": "PREP-001,ROB-001,ROB-002",
}
"""V25 is what the driver does anyway."""


def test_every_variant_is_one_of_the_catalogue() -> None:
    names = {name.partition("-")[0] for name in variants.all_variants()}
    assert names <= set(catalogue().variants)


def test_an_unknown_variant_is_refused_with_those_that_exist() -> None:
    with pytest.raises(StartError, match=r"there is no variant 'V99'; have V01, "):
        variants.parts_of("V99", Parts())


@pytest.fixture(scope="module")
def quick() -> Mapping[str, Mapping[str, str]]:
    return judge_each(QUICK)


@pytest.mark.parametrize("variant", QUICK)
def test_a_variant_is_green_where_it_matters_most(
    variant: str, quick: Mapping[str, Mapping[str, str]]
) -> None:
    assert not_green({id: quick[variant][id] for id in QUICK[variant].split(",")}) == {}
    assert "passed" in quick[variant].values()


@pytest.mark.parametrize("variant", ["V04", "V04-NRI", "V12", "V21"])
def test_a_variant_is_green(variant: str) -> None:
    states = judge(variant, cases=CASES)
    assert not_green(states, selected=True) == {}
    assert "passed" in states.values()
