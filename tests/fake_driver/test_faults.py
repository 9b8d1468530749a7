"""Each fault breaks its own case, and of the others only those that the catalogue names."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.fake_driver import faults
from pytest_dra.fake_driver import faults_failure
from pytest_dra.fake_driver import faults_health
from pytest_dra.fake_driver import faults_node
from pytest_dra.fake_driver import faults_publishing
from pytest_dra.fake_driver import faults_security
from pytest_dra.fake_driver import faults_strain
from pytest_dra.fake_driver import faults_update
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.health import Health
from pytest_dra.spec import Depth
from tests.fake_driver import small_checks
from tests.fake_driver import small_checks_attributes
from tests.fake_driver import small_checks_binding
from tests.fake_driver import small_checks_cdi
from tests.fake_driver import small_checks_claim
from tests.fake_driver import small_checks_configuration
from tests.fake_driver import small_checks_failure
from tests.fake_driver import small_checks_features
from tests.fake_driver import small_checks_health
from tests.fake_driver import small_checks_manifests
from tests.fake_driver import small_checks_metadata
from tests.fake_driver import small_checks_node
from tests.fake_driver import small_checks_pods
from tests.fake_driver import small_checks_restart
from tests.fake_driver import small_checks_security
from tests.fake_driver import small_checks_shares
from tests.fake_driver import small_checks_slices
from tests.fake_driver import small_checks_status
from tests.fake_driver import small_checks_strain
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import running
from tests.fake_driver.small_checks_shares import FEATURES
from tests.faults.faulty import also_failing

REGISTERING = (
    small_checks_attributes,
    small_checks_binding,
    small_checks_cdi,
    small_checks_claim,
    small_checks_configuration,
    small_checks_failure,
    small_checks_features,
    small_checks_health,
    small_checks_manifests,
    small_checks_metadata,
    small_checks_node,
    small_checks_pods,
    small_checks_restart,
    small_checks_security,
    small_checks_shares,
    small_checks_slices,
    small_checks_status,
    small_checks_strain,
)
"""Imported for the checks that they register."""

ALL = [
    fault.case
    for fault in faults.all_faults()
    if catalogue().case(fault.case).depth is not Depth.CLUSTER
]
"""Those that show without pods on a node."""

UNCONFINED = frozenset({"CDI-002", "CONF-001", "REG-012", "REG-016"})
"""Faults that end the process, which is the tests' own, under which the rig's claims and slices
are another driver's, or which refuse plain claims: much else fails. With CDI-002 it is whatever
writes first after a start."""

ON_FEATURES = frozenset({"ATTR", "BIND", "CAP", "CONF", "HLTH", "META", "PART", "STAT", "TAINT"})
"""Areas whose faults are those of a driver that publishes more than plain devices."""

DELAYS = {"LATE_DRA_S": 0.8, "SLOW_GET_INFO_S": 1.2, "SLOW_NOTIFY_S": 1.2}
"""The delays of slow faults, shortened: the small checks have shorter deadlines too."""

TOO_LONG_S = 1.2
"""The long calls of PREP-015, ROB-003 and UNP-013, shortened likewise."""

LATE_HEALTH_S = 2.0
"""The pause of HLTH-001, shortened likewise."""

REPORTS_S = 0.05
"""Pause between health reports: the small checks read some."""

RELABEL_S = 0.1
"""The pause of SLICE-014, shortened likewise."""


class WatchedRig(Rig):
    """A rig that judges each answer to a Prepare for the cases of the whole run."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.failed: set[str] = set()

    def dra(self, name: str, *arguments: Any) -> Any:
        claims = super().dra(name, *arguments)
        if name == "prepare" and not self.disturbed:
            for entry in claims.values():
                self._judge(entry)
        return claims

    def _judge(self, entry: Any) -> None:
        for case, judge in small_checks.TIMELINE.items():
            try:
                judge(self, entry)
            except AssertionError:
                self.failed.add(case)


def failures(rig: WatchedRig) -> set[str]:
    """Run all small checks in order, but first what they need; what then lacks that is left out."""
    cases = catalogue().cases
    verdicts: dict[str, bool | None] = {}

    def judge(case: str) -> bool | None:
        if case not in verdicts:
            needs = [judge(need) for need in cases[case].needs if need in small_checks.CHECKS]
            met = case in UNCONFINED or all(need is False for need in needs)
            verdicts[case] = small_checks.failed(rig, case) if met else None
        return verdicts[case]

    for case in sorted(small_checks.CHECKS, key=ALL.index):
        judge(case)
    return {case for case, verdict in verdicts.items() if verdict} | rig.failed


def test_every_fault_has_the_words_of_the_catalogue() -> None:
    cases = catalogue().cases
    assert all(f.text == cases[f.case].fault for f in faults.all_faults())


def test_every_fault_has_a_small_check() -> None:
    assert set(small_checks.CHECKS) | set(small_checks.TIMELINE) == set(ALL)


@pytest.mark.proof
def test_the_good_driver_passes_all_small_checks() -> None:
    with running(features=FEATURES) as rig:
        assert isinstance(rig, WatchedRig)
        assert failures(rig) == set()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files need not survive a power failure here, and each sync costs milliseconds."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr(small_checks_restart, "LEFT", [])
    monkeypatch.setattr(faults_update, "leave", lambda code: small_checks_restart.LEFT.append(code))
    monkeypatch.setattr(faults_security, "mark", lambda: small_checks_security.MARKED.append(True))
    monkeypatch.setattr(faults_strain, "leave", lambda: small_checks_strain.ABORTED.append(True))
    monkeypatch.setattr("tests.fake_driver.rig.Rig", WatchedRig)
    monkeypatch.setattr(Health, "every_s", REPORTS_S)


@pytest.mark.proof
@pytest.mark.parametrize("case", ALL)
def test_a_fault_breaks_its_case_alone(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, delay in DELAYS.items():
        monkeypatch.setattr(faults_node, name, delay)
    monkeypatch.setattr(faults_failure, "TOO_LONG_S", TOO_LONG_S)
    monkeypatch.setattr(faults_publishing, "RELABEL_S", RELABEL_S)
    monkeypatch.setattr(faults_health, "FIRST_S", LATE_HEALTH_S)
    monkeypatch.setattr(faults_strain, "SLOW_S", TOO_LONG_S)
    expected = {case} | set(catalogue().also_fails.get(case, ()))
    # What is reviewed for the suite may come out here, too.
    possible = expected | also_failing(case)
    on_features = case.split("-")[0] in ON_FEATURES and not catalogue().case(case).unless
    features = FEATURES if on_features else ()
    with running(case, features=features) as rig:
        assert isinstance(rig, WatchedRig)
        found = failures(rig)
    assert expected & set(ALL) <= found
    assert found <= possible or case in UNCONFINED


def test_an_unknown_fault_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(StartError, match=r"there is no fault 'PREP-0023'; did you mean .*PREP-023"):
        faults.parts_with("PREP-0023")


def test_a_fault_replaces_parts_of_the_driver_only() -> None:
    for fault in faults.all_faults():
        known = {field.name for field in dataclasses.fields(faults.parts_with(fault.case))}
        assert fault.parts
        assert set(fault.parts) <= known
