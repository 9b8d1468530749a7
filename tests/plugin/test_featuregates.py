"""``--dra-feature-gates``: what is taken, what is refused and how, and where it shows."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

import pytest_dra
from pytest_dra import liveplanning
from pytest_dra.api.releases import VERSIONS
from pytest_dra.api.resources import DEVICE_TAINT_RULES
from pytest_dra.api.versions import Stage
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.clusters.kind import KindSettings
from pytest_dra.featuregates import cluster_gates
from pytest_dra.featuregates import feature_gates
from pytest_dra.launch import Keeper
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.options import resolve
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import DriverProfile
from tests.plugin.conftest import Runs


def settings(gates: str, kubernetes: str = "1.37") -> Settings:
    given = {"dra_driver": "fake", "dra_feature_gates": gates, "dra_kubernetes": kubernetes}
    return resolve(flag=given.get, ini=lambda _: None, environ={})


def test_gates_are_read_from_a_list() -> None:
    found = feature_gates(settings(" DRADeviceTaintRules=false, DRADerivedAttributes=True ,"))
    assert found == {"DRADeviceTaintRules": False, "DRADerivedAttributes": True}
    assert feature_gates(settings("")) == {}
    assert feature_gates(settings("DRADeviceTaints=true", "1.34")) == {"DRADeviceTaints": True}


def declaring(*features: str) -> DriverProfile:
    return dataclasses.replace(DEFAULT_PROFILE, features=dict.fromkeys(features, True))


@pytest.mark.parametrize(
    ("features", "given", "kubernetes", "gates"),
    [
        (["OptionalNodeOps"], "", "1.37", {"DRAOptionalNodeOperations": True}),
        (["OptionalNodeOps"], "", "1.36", {}),
        (["ExtendedResource"], "", "1.37", {}),
        (["ExtendedResource"], "", "1.34", {"DRAExtendedResource": True}),
        (
            ["OptionalNodeOps"],
            "DRAOptionalNodeOperations=false",
            "1.37",
            {"DRAOptionalNodeOperations": False},
        ),
    ],
)
def test_a_cluster_that_is_made_has_the_gates_of_the_features_that_are_declared(
    features: list[str], given: str, kubernetes: str, gates: dict[str, bool]
) -> None:
    assert cluster_gates(settings(given, kubernetes), declaring(*features)) == gates


@pytest.mark.parametrize(
    ("given", "kubernetes", "served"),
    [
        ("", "1.36", {}),
        (
            "DRADeviceTaints=true,DRADeviceTaintRules=true",
            "1.35",
            {"resource.k8s.io/v1alpha3": "true"},
        ),
        ("DRADeviceTaintRules=true", "1.36", {"resource.k8s.io/v1beta2": "true"}),
        ("DRADeviceTaintRules=false", "1.36", {}),
        ("DRADeviceTaintRules=true", "1.37", {}),
        ("DRAResourcePoolStatus=true", "1.37", {"resource.k8s.io/v1alpha3": "true"}),
    ],
)
def test_a_kind_cluster_serves_what_its_gates_are_for(
    given: str, kubernetes: str, served: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[KindSettings] = []
    monkeypatch.setattr(liveplanning, "KindCluster", lambda wanted, **_: made.append(wanted))
    monkeypatch.setattr(liveplanning, "find_engine", lambda _: None)
    monkeypatch.setattr(liveplanning, "find_kind", lambda *_: None)
    (new, _), _ = liveplanning._kind(settings(given, kubernetes), DEFAULT_PROFILE)
    new(Keeper())
    assert made[0].runtime_config == served
    gates = {each.partition("=")[0] for each in given.split(",") if each}
    assert set(made[0].feature_gates) == gates


@pytest.mark.parametrize(
    ("gates", "kubernetes", "text"),
    [
        *[
            (text, "1.37", f"got {text!r}, want NAME=true or NAME=false, by comma")
            for text in ("DRADeviceTaints", "DRADeviceTaints=on", "=true", "true")
        ],
        (
            "DRADerivedAttributes=true,DRADerivedAttributes=false",
            "1.37",
            "DRADerivedAttributes is given twice; leave one of them out",
        ),
        (
            "DRADeviceTaint=true",
            "1.37",
            "Kubernetes 1.37 has no feature gate DRADeviceTaint for DRA; "
            "did you mean DRADeviceTaints, DRADeviceTaintRules, *",
        ),
        (
            "partitionabledevices=true",
            "1.37",
            "Kubernetes 1.37 has no feature gate partitionabledevices for DRA; "
            "did you mean DRAPartitionableDevices, *",
        ),
        (
            "Frobnicate=true",
            "1.34",
            "Kubernetes 1.34 has no feature gate Frobnicate for DRA; it has *",
        ),
        (
            "DRADerivedAttributes=true",
            "1.36",
            "Kubernetes 1.36 has no feature gate DRADerivedAttributes, 1.37 has it; "
            "add --dra-kubernetes=1.37, or leave the gate out",
        ),
        (
            "DRAListTypeAttributes=true",
            "1.35",
            "Kubernetes 1.35 has no feature gate DRAListTypeAttributes, 1.36 and newer have it; "
            "add --dra-kubernetes=1.37, or leave the gate out",
        ),
        (
            "DRAAdminAccess=false",
            "1.37",
            "DRAAdminAccess is locked to true in Kubernetes 1.37; "
            "leave it out, or judge for an older version: --dra-kubernetes=1.35",
        ),
        (
            "DynamicResourceAllocation=false",
            "1.34",
            "without DynamicResourceAllocation there is nothing to judge; leave it out",
        ),
        (
            "DRAPartitionableDevicesType=true",
            "1.37",
            "DRAPartitionableDevicesType needs DRAResourcePoolStatus, which is off; "
            "add DRAResourcePoolStatus=true",
        ),
        (
            "DRADeviceTaints=false",
            "1.37",
            "DRADeviceTaintRules needs DRADeviceTaints, which is off; "
            "add DRADeviceTaintRules=false",
        ),
    ],
)
def test_what_cannot_be_turned_is_refused_with_the_way_out(
    gates: str, kubernetes: str, text: str
) -> None:
    with pytest.raises(OptionError) as caught:
        feature_gates(settings(gates, kubernetes))
    said = str(caught.value).removeprefix("--dra-feature-gates: ")
    assert said.startswith(text.removesuffix("*")) if text.endswith("*") else said == text


def test_what_is_locked_may_be_given_as_it_is() -> None:
    assert feature_gates(settings("DRAAdminAccess=true")) == {"DRAAdminAccess": True}


def test_what_is_served_does_not_depend_on_gates() -> None:
    version = kubernetes_version("1.37")
    assert DEVICE_TAINT_RULES in version.with_gates({"DRADeviceTaintRules": False}).served


@pytest.mark.parametrize("name", VERSIONS)
def test_gates_are_at_the_default_of_their_stage(name: str) -> None:
    version = kubernetes_version(name)
    assert version.gates.keys() == version.stages.keys()
    for gate, stage in version.stages.items():
        assert version.gates[gate] is (stage in (Stage.BETA, Stage.GA, Stage.LOCKED))


def test_gates_from_the_ini_file_show_in_header_report_and_command(runs: Runs) -> None:
    runs.pytester.makeini("[pytest]\ndra_feature_gates = DRADeviceTaintRules=false\n")
    done = runs.judge("--dra-case=PREP-006")
    done.stdout.fnmatch_lines(
        ["dra: *feature-gates=DRADeviceTaintRules=false (ini)*", "reproduce: *"]
    )
    report = runs.report()
    assert "--dra-feature-gates=DRADeviceTaintRules=false" in report["reproduce"]["all"]
    assert {
        "name": "--dra-feature-gates",
        "value": "DRADeviceTaintRules=false",
        "source": "ini",
    } in report["options"]


def test_gates_from_the_environment_reach_the_embedded_server(runs: Runs) -> None:
    runs.environment(PYTEST_DRA_FEATURE_GATES="DRADeviceTaints=false,DRADeviceTaintRules=false")
    runs.pytester.makepyfile("""
        from pytest_dra.api.resources import RESOURCE_SLICES

        def test_dropped(dra_cluster):
            assert not dra_cluster.version.enabled("DRADeviceTaints")
            pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
            taints = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
            devices = [{"name": "d", "taints": taints}]
            spec = {"driver": "d.example.com", "pool": pool, "nodeName": "n", "devices": devices}
            body = {"metadata": {"name": "s"}, "spec": spec}
            made = dra_cluster.admin().create(RESOURCE_SLICES, body)
            assert made["spec"]["devices"] == [{"name": "d"}]
    """)
    done = runs.executed("-p", "no:cacheprovider")
    done.assert_outcomes(passed=1)


def test_a_new_release_is_an_entry_in_the_data_and_nothing_else(
    runs: Runs, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = _copy_with_138(tmp_path_factory.mktemp("future"))
    runs.environment(PYTHONPATH=str(place))
    runs.pytester.makepyfile(test_future=FUTURE)
    options = ("-p", "no:cacheprovider", "--dra-kubernetes=1.38", "--dra-driver=fake")
    done = runs.executed(*options, "--dra-feature-gates=DRAFrobnication=false", "test_future.py")
    done.assert_outcomes(passed=2)
    done = runs.executed(*options, "--dra-case=PREP-023,SLICE-007,CDI-001", "--dra-require=partial")
    assert done.ret == 0, str(done.stdout)
    assert runs.report()["environment"]["kubernetes"] == "1.38"
    done = runs.executed(*options, "--dra-feature-gates=DRADeviceTaints=false")
    done.stderr.fnmatch_lines(["*DRADeviceTaints is locked to true in Kubernetes 1.38; *"])


FUTURE = """
    import pytest
    from pytest_dra.api.resources import DEVICE_TAINT_RULES
    from pytest_dra.api.resources import RESOURCE_SLICES
    from pytest_dra.api.versions import kubernetes_version
    from pytest_dra.kube import KubeError


    def test_the_server_has_its_limits_and_resources(dra_cluster):
        assert dra_cluster.version.gates["DRAFrobnication"] is False
        assert kubernetes_version().gates["DRAFrobnication"] is True
        with pytest.raises(KubeError) as caught:
            dra_cluster.admin().list(DEVICE_TAINT_RULES)
        assert caught.value.code == 404
        pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
        for number, code in ((200, 0), (201, 422)):
            spec = {"driver": "d.example.com", "pool": pool, "nodeName": "n",
                    "devices": [{"name": f"d{each}"} for each in range(number)]}
            body = {"metadata": {"name": f"s{number}"}, "spec": spec}
            try:
                dra_cluster.admin().create(RESOURCE_SLICES, body)
            except KubeError as error:
                assert error.code == code, error
            else:
                assert code == 0


    def test_selectors_are_evaluated(dra_select, dra_driver):
        assert dra_select(f"device.driver == '{dra_driver.driver_name}'")
"""


def _copy_with_138(place: Path) -> Path:
    """The package by links, but for its data of releases, which have one more."""
    package = Path(pytest_dra.__file__).parent
    own = place / "pytest_dra"
    (own / "api").mkdir(parents=True)
    for folder, into in ((package, own), (package / "api", own / "api")):
        for each in folder.iterdir():
            if each.name not in ("api", "releases.json", "__pycache__"):
                (into / each.name).symlink_to(os.path.relpath(each, into))
    data = json.loads((package / "api" / "releases.json").read_text("utf-8"))
    new = json.loads(json.dumps(data["releases"]["1.37"]))
    new["gates"].update(DRADeviceTaints="locked", DRAFrobnication="beta")
    new["served"].remove("v1/devicetaintrules")
    new["limits"] = {"devices": 200}
    data["releases"]["1.38"] = new
    (own / "api" / "releases.json").write_text(json.dumps(data), "utf-8")
    return place
