"""Legal oddities stay green: the two long runs have most of them together."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from pytest_dra.cases import implemented
from pytest_dra.catalogue import catalogue
from pytest_dra.spec import Depth
from pytest_dra.spec import Level
from tests.drivers.good.options import NAME
from tests.drivers.judging import GOOD
from tests.drivers.judging import Judged
from tests.drivers.judging import good
from tests.drivers.judging import judge

WORKS = "REG-001,REG-002,REG-017,REG-019,SLICE-001,PREP-023,PREP-003,UNP-004"

NEED_INPUTS = {id for id in implemented() if catalogue().case(id).inputs}
"""Cases that need what only the vendor has; these runs give nothing of it."""

NEED_TWO = {"PREP-001", "PREP-003", "UNP-006", "IDEM-007"}
"""Some of the cases that need two devices."""


CDI_CASES = {id for id in implemented() if "CDIInjection" in catalogue().case(id).features}
"""The cases that are not for a driver without CDI."""

FEATURES = catalogue().features

SPECIAL = {
    id
    for id in implemented()
    if not all(FEATURES[name].default for name in catalogue().case(id).features)
    or any(FEATURES[name].default for name in catalogue().case(id).unless)
}
"""The cases that are not for a driver whose profile says nothing of features."""

BY_SIGHT = {id for id in implemented() if catalogue().case(id).depth is Depth.STATIC}
"""The cases that judge a field wherever it is seen, declared or not."""

GATED = {"HLTH-002", "SLICE-020"}
"""The cases that are not for a driver without health, or without fields that depend on a gate."""

TWO_VERSIONS = {"PREP-024"}
"""The cases that are not for a driver with one DRAPlugin version."""


MAY = {id for id in implemented() if catalogue().case(id).level is Level.MAY}
"""What a driver is free to do otherwise."""

NEED_JAIL = {"SEC-010"}
"""The case that starts another driver in a jail, unless the hardware is real."""


def is_green(judged: Judged) -> bool:
    """Nothing that matters failed, nothing errored or left, and nothing lacks but for an input."""
    return (
        judged.report["verdict"] in ("conformant", "partial")
        and judged.ids("failed") <= MAY
        and not judged.ids("errored")
        and judged.ids("unsupported-environment") <= NEED_JAIL
        and judged.ids("not-run") <= NEED_INPUTS
        and judged.left == ()
    )


def test_a_folder_a_shared_socket_yaml_rpc_errors_and_patches_are_green() -> None:
    judged = judge(
        good(
            *("--socket=folder", "--endpoint=same", "--cdi=yaml", "--errors=rpc"),
            *("--request-names=empty", "--write=patch", "--devices=8"),
        ),
        profile={"driver": {"name": NAME, "reads_boot_id": False}},
    )
    assert is_green(judged), judged.output
    assert judged.ids("not-applicable") == SPECIAL | GATED


def test_one_version_no_cdi_ids_apply_and_300_special_devices_are_green() -> None:
    judged = judge(
        good(
            *("--socket=renamed", "--endpoint=elsewhere", "--versions=v1beta1.DRAPlugin"),
            *("--cdi=none", "--write=apply", "--devices=300", "--per-slice=64"),
            "--special=counters,taints,shared",
        ),
        profile={
            "driver": {"name": NAME, "kubelets": {"min": "1.32", "max": "1.33"}},
            "injection": {"kind": "none"},
        },
    )
    assert is_green(judged), judged.output
    wanted = {"PREP-004"} | CDI_CASES | SPECIAL | TWO_VERSIONS
    assert judged.ids("not-applicable") - BY_SIGHT <= wanted | GATED | {"FEAT-001"}
    assert judged.ids("not-applicable") >= {"PREP-004"} | CDI_CASES | TWO_VERSIONS
    assert judged.ids("passed") >= {"PART-003", "TAINT-001"}


@pytest.mark.parametrize(
    "switches",
    [
        ("--socket=link", "--cdi=common"),
        ("--socket=hashed", "--versions=v9.DRAPlugin,v1.DRAPlugin,v1beta1.DRAPlugin"),
        ("--delay=3",),
    ],
)
def test_other_places_shared_ids_unknown_versions_and_a_slow_start_work(
    switches: tuple[str, ...],
) -> None:
    judged = judge(good(*switches), cases=WORKS)
    assert judged.ids("passed") == set(WORKS.split(","))
    assert judged.left == ()


def test_a_driver_that_injects_by_nri_has_no_cdi_cases() -> None:
    judged = judge(
        good("--cdi=none"), cases="PREP-023,UNP-004,CDI", profile={"injection": {"kind": "nri"}}
    )
    assert judged.ids("passed") == {"PREP-023", "UNP-004", "CDI-010", "CDI-012"}
    assert judged.ids("not-applicable") == {id for id in CDI_CASES if id.startswith("CDI-")}


def test_a_refused_batch_is_a_should_and_leaves_the_verdict_alone() -> None:
    judged = judge(good("--errors=rpc-always"), cases="PREP-007,PREP-010,PREP-011,PREP-012")
    assert judged.ids("passed") == {"PREP-007", "PREP-010", "PREP-012"}
    assert judged.ids("failed") == {"PREP-011"}
    assert judged.report["verdict"] == "partial"


def test_a_controller_and_a_plugin_are_one_driver() -> None:
    command = [sys.executable, "-m", GOOD]
    components: list[dict[str, Any]] = [
        {"name": "controller", "command": [*command, "--parts=controller"], "registers": False},
        {"name": "plugin", "command": [*command, "--parts=plugin"], "registers": True},
    ]
    judged = judge(
        cases="REG-001,SLICE-001,PREP-023,RST-001",
        profile={"driver": {"name": NAME}, "launch": {"components": components}},
    )
    assert judged.ids("passed") == {"REG-001", "SLICE-001", "PREP-023", "RST-001"}
    assert judged.left == ()


def test_a_controller_alone_is_judged_by_what_it_publishes() -> None:
    command = [sys.executable, "-m", GOOD, "--parts=controller"]
    judged = judge(
        profile={
            "driver": {"name": NAME, "scope": "cluster"},
            "launch": {
                "components": [{"name": "controller", "command": command, "registers": False}],
                "inventory": {"arguments": ["--devices={devices}"]},
            },
            "budgets": {"repair": 20},
        },
    )
    assert judged.report["verdictOf"]["profile"] == "CONTROLLER"
    assert judged.report["verdict"] == "conformant"
    assert judged.ids("failed", "errored", "unsupported-environment") == set()
    assert judged.ids("passed") >= {"ATTR-011", "SLICE-001", "SLICE-013", "SLICE-015", "SLICE-022"}
    assert judged.ids("not-applicable") >= {"REG-001", "PREP-023", "PRIO-001", "SHARE-005"}
    assert judged.left == ()


def test_one_device_is_too_few_for_some_cases_and_wrong_for_none() -> None:
    cases = ",".join(["PREP-023", "UNP-004", *sorted(NEED_TWO)])
    judged = judge(good("--devices=1"), cases=cases)
    assert judged.ids("unsupported-environment") == NEED_TWO
    assert judged.ids("passed") == {"PREP-023", "UNP-004"}
    assert judged.reason("PREP-001") == "needs 2 free devices, the driver publishes 1"
    assert judged.report["verdict"] == "partial"
    assert judged.left == ()


def test_no_device_and_no_hardware_leaves_nothing_to_prepare() -> None:
    judged = judge(
        good("--devices=0"),
        cases="SLICE-001,REG-001,PREP-023,PREP-001",
        profile={"launch": {"hardware": "none"}, "budgets": {"publish": 3}},
    )
    assert judged.ids("failed", "errored") == set()
    assert judged.ids("passed") == {"SLICE-001", "REG-001"}
    assert judged.state("PREP-023") == "unsupported-environment"
    assert judged.report["verdict"] == "partial"


def test_no_device_at_all_fails_slice_001_alone() -> None:
    judged = judge(good("--devices=0"), cases="SLICE-001", profile={"budgets": {"publish": 2}})
    assert judged.ids("failed") == {"SLICE-001"}
    assert "1 slices without devices" in judged.got("SLICE-001")


def test_a_driver_that_publishes_nothing_fails_slice_001_and_the_rest_is_blocked() -> None:
    judged = judge(
        good("--write=never"),
        cases="REG-003,REG-019,SLICE-001,SLICE-002,PREP-001",
        profile={"budgets": {"publish": 2}},
    )
    assert judged.ids("failed") == {"SLICE-001"}
    assert judged.reason("SLICE-002") == judged.reason("PREP-001") == "blocked by SLICE-001"
    assert judged.ids("passed") == {"REG-003", "REG-019"}


def test_a_name_that_was_not_given_is_said_in_one_sentence() -> None:
    judged = judge(
        good(),
        cases="REG-001,REG-003,SLICE-001,PREP-001",
        profile={"driver": {"name": "other.example.com"}, "budgets": {"start": 2, "publish": 2}},
    )
    assert judged.ids("failed") == {"REG-003", "SLICE-001"}
    assert NAME in judged.got("REG-003")
    assert "other.example.com" in judged.cases["REG-003"]["want"]
    assert judged.reason("PREP-001") == "blocked by SLICE-001"
    assert judged.left == ()
