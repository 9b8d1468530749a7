"""What a profile declares decides which cases concern a driver."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest

from pytest_dra.api.releases import VERSIONS
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.catalogue import catalogue
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import Injection
from pytest_dra.profile import Scope
from pytest_dra.profile import VersionRange
from pytest_dra.profile import feature_applies
from pytest_dra.profile import missing_inputs
from pytest_dra.profile import not_applicable
from pytest_dra.profile.applicability import GATES
from pytest_dra.profile.model import DriverBlock
from pytest_dra.profile.model import HooksBlock
from pytest_dra.profile.model import InjectionBlock

LISTS_ON = {"DRAListTypeAttributes": True}


def with_features(**features: bool) -> DriverProfile:
    return dataclasses.replace(DEFAULT_PROFILE, features=features)


def reason(case: str, profile: DriverProfile, kubernetes: str = "1.37") -> str:
    return not_applicable(catalogue().case(case), profile, kubernetes=kubernetes)


def test_what_the_file_does_not_name_follows_the_catalogue() -> None:
    for feature in catalogue().features.values():
        assert DEFAULT_PROFILE.declares(feature.name) is feature.default, feature.name


def test_the_file_wins_over_the_catalogue() -> None:
    profile = with_features(SharedClaim=False, DeviceHealth=True)
    assert not profile.declares("SharedClaim")
    assert profile.declares("DeviceHealth")


def test_the_injection_decides_about_cdi_and_nri() -> None:
    profile = dataclasses.replace(DEFAULT_PROFILE, injection=InjectionBlock(kind=Injection.NRI))
    assert profile.declares("NRIInjection")
    assert not profile.declares("CDIInjection")
    neither = dataclasses.replace(DEFAULT_PROFILE, injection=InjectionBlock(kind=Injection.NONE))
    assert not neither.declares("NRIInjection")
    assert not neither.declares("CDIInjection")


def test_a_feature_that_the_catalogue_does_not_have_is_refused() -> None:
    with pytest.raises(KeyError, match=r"DeviceHealth"):
        DEFAULT_PROFILE.declares("DeviceHelth")


@pytest.mark.parametrize(
    ("feature", "kubernetes", "gates", "applies"),
    [
        pytest.param("DeviceTaints", "1.36", {}, True, id="at-its-floor"),
        pytest.param("DeviceTaints", "1.37", {}, True, id="above-its-floor"),
        pytest.param("DeviceTaints", "1.35", {}, False, id="below-its-floor"),
        pytest.param("DeviceTaints", "1.35", {"DRADeviceTaints": True}, True, id="gate-on"),
        pytest.param("DeviceTaints", "1.37", {"DRADeviceTaints": False}, False, id="gate-off"),
        pytest.param("ListAttributes", "1.37", {}, False, id="alpha"),
        pytest.param("ListAttributes", "1.36", LISTS_ON, True, id="alpha-switched-on"),
        pytest.param("ListAttributes", "1.35", LISTS_ON, False, id="before-its-gate"),
        pytest.param("DeviceTaints", "1.37", LISTS_ON, True, id="another-gate"),
        pytest.param("HealthMessage", "1.35", {"": True}, False, id="without-a-gate"),
    ],
)
def test_kubernetes_and_gates_decide_whether_a_feature_is_there(
    feature: str, kubernetes: str, gates: Mapping[str, bool], *, applies: bool
) -> None:
    assert feature_applies(feature, kubernetes, gates=gates) is applies


def test_every_gate_of_a_feature_is_one_of_the_newest_kubernetes() -> None:
    assert set(GATES) <= set(catalogue().features)
    assert set(GATES.values()) <= set(kubernetes_version(VERSIONS[-1]).gates)


def test_a_case_of_a_feature_applies_where_its_gate_is_turned_on() -> None:
    case, profile = catalogue().case("PART-008"), with_features(CompatibilityGroups=True)
    off = not_applicable(case, profile, kubernetes="1.37")
    assert off == "feature CompatibilityGroups is off in Kubernetes 1.37"
    gates = {"DRADeviceCompatibilityGroups": True}
    assert not_applicable(case, profile, kubernetes="1.37", gates=gates) == ""


def test_the_reason_names_a_gate_that_is_turned_off() -> None:
    reason = not_applicable(
        catalogue().case("TAINT-003"),
        with_features(DeviceTaints=True),
        kubernetes="1.37",
        gates={"DRADeviceTaints": False},
    )
    assert reason == "feature DeviceTaints is off in Kubernetes 1.37 with DRADeviceTaints=false"


def test_a_core_case_applies_without_any_declaration() -> None:
    assert reason("PREP-001", DEFAULT_PROFILE) == ""


def test_a_case_of_an_undeclared_feature_says_which() -> None:
    assert reason("TAINT-003", DEFAULT_PROFILE) == "feature DeviceTaints is not declared"


def test_a_static_case_of_a_feature_concerns_every_driver_whose_slices_have_the_field() -> None:
    assert reason("SLICE-025", DEFAULT_PROFILE) == ""
    assert reason("SLICE-025", DEFAULT_PROFILE, "1.36") == "applies from Kubernetes 1.37 on"


def test_a_case_of_a_feature_that_kubernetes_has_off_says_so() -> None:
    profile = with_features(DeviceHealth=True)
    assert reason("HLTH-001", profile) == ""
    assert reason("HLTH-001", profile, "1.35") == "applies from Kubernetes 1.36 on"
    taints = with_features(DeviceTaints=True)
    early = dataclasses.replace(catalogue().case("TAINT-003"), since="1.34")
    assert not_applicable(early, taints, kubernetes="1.35") == (
        "feature DeviceTaints is off in Kubernetes 1.35"
    )


def test_a_case_for_those_without_a_feature_does_not_apply_to_those_with_it() -> None:
    assert reason("PREP-022", DEFAULT_PROFILE) == "feature MultiPodClaim is declared"
    assert reason("PREP-022", with_features(MultiPodClaim=False)) == ""


def test_a_later_case_does_not_apply_to_an_earlier_kubernetes() -> None:
    assert reason("REG-015", DEFAULT_PROFILE, "1.36") == "applies from Kubernetes 1.37 on"
    ended = dataclasses.replace(catalogue().case("PREP-001"), until="1.35")
    assert not_applicable(ended, DEFAULT_PROFILE, kubernetes="1.36") == (
        "applied until Kubernetes 1.35"
    )


def test_a_controller_is_not_judged_by_what_concerns_the_kubelet() -> None:
    controller = dataclasses.replace(DEFAULT_PROFILE, driver=DriverBlock(scope=Scope.CLUSTER))
    assert reason("PREP-001", controller) == (
        "driver.scope is cluster: nothing registers with a kubelet"
    )
    assert reason("SLICE-001", controller) == reason("ATTR-011", controller) == ""
    for id in ("PRIO-001", "SHARE-005", "PRIO-002"):
        assert reason(id, controller) == (
            "driver.scope is cluster: it rests on a driver that registers with a kubelet"
        )


def test_the_inputs_that_a_case_lacks_are_named() -> None:
    case = catalogue().case("HLTH-009")
    assert missing_inputs(case, DEFAULT_PROFILE) == ("hooks.fault", "hooks.heal")
    half = dataclasses.replace(DEFAULT_PROFILE, hooks=HooksBlock(fault=("fault",)))
    assert missing_inputs(case, half) == ("hooks.heal",)


def test_a_range_compares_versions_as_numbers() -> None:
    assert "1.9" not in VersionRange(min="1.34")
    assert "1.100" in VersionRange(min="1.34")
    assert "1.37" not in VersionRange(max="1.36")
    assert "1.30" in VersionRange()
