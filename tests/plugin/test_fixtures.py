"""The fixtures in a user's own tests."""

from __future__ import annotations

import sys

import pytest

from tests.plugin.conftest import EVERY
from tests.plugin.conftest import Runs

OWN = """
from pathlib import Path

from pytest_dra.api.resources import NAMESPACES

seen = {}

def test_all_four(dra_driver, dra_cluster, dra_bench, dra_namespace):
    assert dra_driver.devices()[0].name == "gpu-0"
    claim = dra_bench.claim(dra_bench.devices(1))
    assert not dra_bench.prepare(claim).error_for(claim.uid)
    assert dra_cluster.kubernetes == VERSION
    seen.update(namespace=dra_namespace, claim=claim, directory=dra_driver.directories.registry_dir)

def test_nothing_is_left_of_the_test_before(dra_cluster, dra_bench):
    names = [each["metadata"]["name"] for each in dra_cluster.admin().list(NAMESPACES)]
    assert seen["namespace"] not in names
    assert not dra_bench.instance.tree().naming([seen["claim"].uid])
    assert not dra_bench.claims.living

def test_that_kills_the_driver(dra_driver):
    dra_driver.kill()

def test_that_needs_one(dra_driver):
    assert dra_driver.driver.alive
    Path("directory").write_text(str(seen["directory"].parent))
"""


def own(runs: Runs, version: str = "1.37") -> None:
    runs.pytester.makepyfile(test_own=OWN.replace("VERSION", repr(version)))


def directory_is_gone(runs: Runs) -> bool:
    path = (runs.folder / "directory").read_text()
    return path.startswith(("/tmp/", "/dev/shm/")) and not runs.folder.joinpath(path).exists()


def test_they_work_without_any_option_and_clean_up(runs: Runs) -> None:
    own(runs)
    done = runs.really()
    done.assert_outcomes(passed=4)
    assert done.ret == pytest.ExitCode.OK
    assert directory_is_gone(runs)
    assert not (runs.folder / "dra-results").exists()


def test_they_use_the_driver_and_the_version_that_are_named_though_the_suite_is_off(
    runs: Runs,
) -> None:
    own(runs, "1.35")
    done = runs.really("--dra-suite=off", "--dra-driver=fake", "--dra-kubernetes=1.35")
    done.assert_outcomes(passed=4)
    done = runs.really(
        "--dra-suite=off", "--dra-driver=exec:false", "-k", "needs_one", "--dra-kubernetes=1.35"
    )
    done.assert_outcomes(errors=1, deselected=3)
    done.stdout.fnmatch_lines(["*the driver has not registered within * s; its output ends:"])


def test_cases_after_them_meet_a_driver_in_a_known_state(runs: Runs) -> None:
    runs.pytester.makepyfile("""
        def test_that_leaves_a_claim_prepared_behind_our_back(dra_driver, dra_bench):
            claim = dra_bench.claim(dra_bench.devices(1))
            dra_driver.prepare([claim])
    """)
    done = runs.really(
        "--dra-driver=fake", "--dra-suite=with", "--dra-case=REG-002,REG-007,PREP-001,UNP-001",
        "--dra-require=partial",
    )  # fmt: skip
    done.assert_outcomes(passed=5, deselected=EVERY - 4)
    assert done.ret == pytest.ExitCode.OK


def test_an_option_that_cannot_be_used_is_said_where_a_fixture_needs_it(runs: Runs) -> None:
    runs.pytester.makepyfile("def test_own(dra_driver): pass")
    done = runs.really("--dra-suite=off", "--dra-driver=exec:no-such-driver")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(
        ["--dra-driver: the driver's program 'no-such-driver' is not on PATH"]
    )


def test_a_cluster_that_does_not_start_is_told_once_at_length(runs: Runs) -> None:
    runs.pytester.makepyfile(
        broken="""
        from pytest_dra.embedded.server import ApiServer

        def start(self):
            raise OSError("no loopback interface")

        ApiServer.start = start
        """
    )
    done = runs.really("-p", "broken", "--dra-driver=fake", "--dra-case=REG-001,SLICE-001")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    assert runs.states()["REG-001"] == runs.states()["SLICE-001"] == "errored"
    text = done.stdout.str()
    sections = text.partition("short test summary info")[0]
    told = "errored, which is not the driver's: the embedded API server does not"
    assert sections.count(told) == 1, "pytest repeats it in its summary where CI is set"
    assert text.count("nothing can be judged any more, see the first case") >= 1
    assert runs.report()["verdict"] == "inconclusive"


def test_devices_are_selected_by_either_engine_of_cel(runs: Runs) -> None:
    runs.pytester.makepyfile("""
        import pytest
        from pytest_dra.cel import CompileError, EvaluationError

        FAKE = 'device.attributes["fake.dra.example"]'

        def test_own(dra_select):
            found = [device.name for device in dra_select(FAKE + '.kind == "gpu"')]
            assert found[:2] == ["gpu-0", "gpu-1"]
            assert dra_select("false") == []
            with pytest.raises(EvaluationError, match="device .*/gpu-0: no such key: nope"):
                dra_select(FAKE + ".nope == 1")

        def test_types(dra_select):
            with pytest.raises(CompileError):
                dra_select("device.nope")
    """)
    runs.really("--dra-suite=off").assert_outcomes(passed=2)
    pytest.importorskip("celpy")
    # It finds the devices, too, but has no type check.
    done = runs.really("--dra-suite=off", "--dra-cel-engine=cel-python", "-k", "types")
    done.assert_outcomes(failed=1, deselected=1)


PODS = """
import pytest
from pytest_dra.api.resources import DEVICE_CLASSES, DEVICE_TAINT_RULES, RESOURCE_CLAIMS

GPU = 'device.attributes["fake.dra.example"].kind == "gpu"'

def test_a_pod_gets_a_device_and_gives_it_back(dra_pod, dra_driver):
    pod = dra_pod(selector=GPU)
    (device,) = pod.devices()
    assert (device["driver"], device["device"]) == ("fake.dra.example", "gpu-0")
    assert f"{device['pool']}/gpu-0" in pod.environment().values()
    (claim,) = pod.claims()
    assert [one["name"] for one in claim["status"]["reservedFor"]] == [pod.name]
    assert dra_driver.tree().naming([claim["metadata"]["uid"]])
    pod.delete()
    assert not dra_driver.tree().naming([claim["metadata"]["uid"]])
    assert pod.phase == ""

def test_a_claim_is_shared_until_its_last_pod_ends(dra_pod, dra_cluster, dra_namespace):
    name = dra_pod.claim(count=2)
    first, second = dra_pod(claim=name), dra_pod(claim=name)
    assert first.cdi_ids() == second.cdi_ids() != []
    first.finish()
    assert second.claims()[0]["status"]["allocation"]
    second.finish("Failed")
    pod = dra_pod(claim=name)
    assert pod.node

def test_a_pod_of_ones_own_shows_what_each_container_gets(dra_pod):
    template = dra_pod.template(count=1)
    container = {"name": "main", "image": "none"}
    used = {"claims": [{"name": "gpu", "request": "devices"}]}
    pod = dra_pod(manifest={
        "metadata": {"name": "mine"},
        "spec": {
            "containers": [container, {**container, "name": "second", "resources": used}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}],
        },
    })
    assert pod.cdi_ids() == [] and pod.environment() == {}
    assert len(pod.cdi_ids("second")) == 1

def test_a_pod_that_does_not_fit_says_why(dra_pod, dra_allocator, dra_namespace):
    pod = dra_pod(count=20, wait=False)
    with pytest.raises(AssertionError, match="(?s)FailedScheduling.*request devices: 20 devices"):
        pod.wait_running(within_s=0.5)
    assert "does not fit" in dra_allocator.explain(dra_namespace, pod.name)

def test_an_evicted_pod_gives_its_devices_back(dra_pod, dra_cluster, dra_driver):
    pod = dra_pod()
    (device,), (claim,) = pod.devices(), pod.claims()
    selector = {name: device[name] for name in ("driver", "pool", "device")}
    taint = {"key": "example.com/broken", "effect": "NoExecute"}
    body = {"metadata": {"name": "broken"}, "spec": {"deviceSelector": selector, "taint": taint}}
    dra_cluster.admin().create(DEVICE_TAINT_RULES, body)
    pod.wait_gone()
    assert not dra_driver.tree().naming([claim["metadata"]["uid"]])
    assert dra_pod().devices() != [device]
    dra_cluster.admin().delete(DEVICE_TAINT_RULES, "broken")

def test_extended_resources_are_devices_too(dra_pod, dra_cluster, dra_driver):
    selectors = [{"cel": {"expression": 'device.driver == "fake.dra.example"'}}]
    spec = {"extendedResourceName": "example.com/gpu", "selectors": selectors}
    dra_cluster.admin().create(DEVICE_CLASSES, {"metadata": {"name": "any"}, "spec": spec})
    resources = {"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "2"}}
    containers = [
        {"name": "plain", "image": "none"},
        {"name": "devices", "image": "none", "resources": resources},
    ]
    pod = dra_pod(manifest={"metadata": {"name": "mine"}, "spec": {"containers": containers}})
    assert (len(pod.cdi_ids("plain")), len(pod.cdi_ids("devices"))) == (0, 2)
    (claim,) = pod.claims()
    pod.delete()
    assert not dra_driver.tree().naming([claim["metadata"]["uid"]])
    dra_cluster.admin().delete(DEVICE_CLASSES, "any")

def test_a_driver_that_is_gone_is_waited_for(dra_pod, dra_driver):
    dra_driver.kill()
    pod = dra_pod(wait=False)
    with pytest.raises(AssertionError, match="FailedPrepareDynamicResources.*NodePrepareResources"):
        pod.wait_running(within_s=2)
    dra_driver.start_again()
    assert pod.wait_running().environment()

def test_nothing_is_left(dra_bench, dra_cluster):
    client = dra_cluster.admin()
    assert client.list(RESOURCE_CLAIMS) == client.list(DEVICE_CLASSES) == []
"""


def test_a_pod_with_a_claim_goes_all_the_way_to_prepared_devices_and_back(runs: Runs) -> None:
    runs.pytester.makepyfile(test_pods=PODS)
    runs.really("--dra-suite=off").assert_outcomes(passed=8)


def test_pods_of_tests_and_cases_do_not_meet(runs: Runs) -> None:
    runs.pytester.makepyfile("""
        def test_own(dra_pod, dra_bench):
            claim = dra_bench.claim(dra_bench.devices(2)[1:])
            assert not dra_bench.prepare(claim).error_for(claim.uid)
            assert dra_pod().environment()
            assert dra_bench.claims.living == (claim,)
    """)
    done = runs.really(
        "--dra-driver=fake", "--dra-suite=with", "--dra-case=PREP-001,UNP-001",
        "--dra-require=partial",
    )  # fmt: skip
    done.assert_outcomes(passed=3, deselected=EVERY - 2)


def test_a_pod_waits_for_its_device_to_be_attached(runs: Runs) -> None:
    runs.pytester.makepyfile("""
        from pytest_dra.api.resources import RESOURCE_CLAIMS
        from pytest_dra.waiting import Deadline
        from pytest_dra.waiting import poll

        def test_own(dra_pod, dra_cluster, dra_namespace):
            attached = 'device.attributes["fake.dra.example"].kind == "attached"'
            pod = dra_pod(selector=attached, wait=False)
            client = dra_cluster.admin()

            def allocated():
                claims = client.list(RESOURCE_CLAIMS, namespace=dra_namespace)
                return [each for each in claims if "allocation" in each.get("status", {})]

            claims = poll(allocated, Deadline.after(20))
            assert pod.node == ""
            (result,) = claims[0]["status"]["allocation"]["devices"]["results"]
            condition = {
                "type": result["bindingConditions"][0], "status": "True", "reason": "Attached",
                "message": "", "lastTransitionTime": "2026-11-01T00:00:00Z",
            }
            device = {name: result[name] for name in ("driver", "pool", "device")}
            body = {"status": {"devices": [{**device, "conditions": [condition]}]}}
            name = claims[0]["metadata"]["name"]
            client.patch(RESOURCE_CLAIMS, name, body, namespace=dra_namespace, subresource="status")
            assert pod.wait_running().devices() == [result]
    """)
    driver = "--dra-driver=fake --features=conditions"
    runs.really("--dra-suite=off", driver).assert_outcomes(passed=1)


def test_the_status_of_a_pod_shows_the_health_of_its_devices(runs: Runs) -> None:
    runs.pytester.makepyfile("""
        from pytest_dra.waiting import Deadline
        from pytest_dra.waiting import poll

        def test_own(dra_pod):
            pod = dra_pod()

            def healthy():
                for container in pod.read()["status"].get("containerStatuses") or ():
                    [device] = container["allocatedResourcesStatus"][0]["resources"]
                    return device["health"] == "Healthy" and device["resourceID"]

            assert poll(healthy, Deadline.after(30)) == pod.cdi_ids()[0]
    """)
    program = f"exec:{sys.executable} -m pytest_dra.fake_driver --features=health"
    runs.really("--dra-suite=off", f"--dra-driver={program}").assert_outcomes(passed=1)
