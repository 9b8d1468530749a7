"""``dra-report job``: an Indexed Job with what it needs, or a plugin of Sonobuoy."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import Final

import pytest
import yaml

import pytest_dra
from pytest_dra.api import resources
from pytest_dra.cases import live_cases
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.commands import reportshard
from pytest_dra.commands.jobobjects import METRICS
from pytest_dra.commands.jobobjects import NODE
from pytest_dra.commands.jobobjects import RUN
from pytest_dra.commands.report import run
from pytest_dra.kube import KubeError
from pytest_dra.live.deployment import namespace_of
from pytest_dra.live.deployment import resource_of
from pytest_dra.live.needed import must_be_granted
from pytest_dra.live.needed import suites_needs
from pytest_dra.manifestplanning import shipped
from pytest_dra.options import resolve
from pytest_dra.profile import load_profile
from pytest_dra.spec import Json
from tests.clusters.embeddedcluster import embedded
from tests.clusters.embeddedcluster import unreachable

__all__ = ["embedded"]

DRIVER = "gpu.example.com"
IMAGE = ["--image=registry.example/pytest-dra:0.1.0"]
GIVEN = [*IMAGE, f"--driver-name={DRIVER}", "--nodes=b,a,b"]

PROFILE = """\
apiVersion: pytest-dra.dev/v1alpha1
kind: DriverProfile
driver: {name: gpu.example.com}  # a comment
manifests: [nowhere/]
"""


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Json]:
    """The documents by kind."""
    assert run(["job", *arguments]) == 0
    return {each.get("kind", "plugin"): each for each in _all(capsys)}


def _all(capsys: pytest.CaptureFixture[str]) -> list[Json]:
    return list(yaml.safe_load_all(capsys.readouterr().out))


def command_of(container: Json) -> argparse.Namespace:
    """What a container runs, as the command understands it."""
    parser = argparse.ArgumentParser()
    reportshard.add(parser)
    assert container["command"][:2] == ["dra-report", "shard"]
    return parser.parse_args(container["command"][2:])


def test_an_index_judges_the_node_at_its_place_in_the_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = printed(capsys, *GIVEN, "--parallel=1", "--", "--dra-pod-image=busybox:1")
    spec = found["Job"]["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 2, 1)
    assert found["ConfigMap"]["data"] == {"nodes": "b\na\n"}
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    parsed = command_of(container)
    assert parsed.options == [f"--dra-driver-name={DRIVER}", "--dra-pod-image=busybox:1"]
    assert (parsed.keep, str(parsed.job), parsed.timeout) == ("dra-conformance", "/job", 3600)
    mounted = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert volumes[mounted["/job"]]["configMap"] == {"name": found["ConfigMap"]["metadata"]["name"]}
    assert all("emptyDir" in volumes[mounted[place]] for place in ("/work", "/tmp"))
    assert "hostNetwork" not in pod
    assert "nodeName" not in pod


def test_everything_has_the_label_by_which_results_are_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = printed(capsys, *GIVEN, "--name=mine", "--namespace=there")
    for kind, each in found.items():
        assert each["metadata"]["labels"] == {"pytest-dra.dev/job": "mine"}
        cluster_wide = kind in ("Namespace", "ClusterRole", "ClusterRoleBinding")
        assert each["metadata"].get("namespace", "there") == "there"
        assert ("namespace" in each["metadata"]) is not cluster_wide
    assert found["Namespace"]["metadata"]["name"] == "there"


def test_a_shard_knows_which_run_of_the_job_it_is_of(capsys: pytest.CaptureFixture[str]) -> None:
    (container,) = printed(capsys, *GIVEN)["Job"]["spec"]["template"]["spec"]["containers"]
    (variable,) = container["env"]
    assert variable["name"] == RUN
    # The label of the Job's controller, which pods have since Kubernetes 1.27.
    field = "metadata.labels['batch.kubernetes.io/controller-uid']"
    assert variable["valueFrom"] == {"fieldRef": {"fieldPath": field}}


def test_what_is_told_to_collect_has_the_job_that_says_which_run_is_meant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["job", *GIVEN, "--name=mine", "--namespace=there"]) == 0
    assert (
        "kubectl get jobs,configmaps -n there -l pytest-dra.dev/job=mine -o json | dra-report merge"
        " - -o DIR"
    ) in capsys.readouterr().err


def test_the_host_network_is_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    pod = printed(capsys, *GIVEN, "--host-network")["Job"]["spec"]["template"]["spec"]
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")


def made(cluster: EmbeddedCluster, objects: Sequence[Json]) -> None:
    """Make what a cluster without Jobs can have of the objects."""
    client = cluster.admin()
    for item in objects:
        if item["kind"] not in ("Job", "Namespace"):
            resource = resource_of(client, item)
            client.create(resource, item, namespace=namespace_of(item, resource))
        elif item["kind"] == "Namespace":
            client.create(resources.NAMESPACES, item)


@pytest.mark.parametrize("more", [[], ["--metrics"]])
def test_its_account_may_do_what_a_shard_does_and_no_more(
    more: list[str], embedded: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["job", *GIVEN, *more]) == 0
    made(embedded, _all(capsys))
    user = "system:serviceaccount:pytest-dra:dra-conformance"
    account = embedded.admin().acting_as(user, extra={})
    must_be_granted(account, [*suites_needs(namespace="dra-run"), NODE])
    kept = {"metadata": {"name": "kept"}}
    account.create(resources.CONFIG_MAPS, kept, namespace="pytest-dra")
    account.replace(resources.CONFIG_MAPS, kept, namespace="pytest-dra")
    with pytest.raises(KubeError, match="cannot create resource"):
        account.create(resources.CONFIG_MAPS, kept, namespace="default")
    with pytest.raises(KubeError, match="cannot delete resource"):
        account.delete(resources.RESOURCE_SLICES, "any")
    if more:
        must_be_granted(account, [METRICS])
    else:
        with pytest.raises(ClusterError, match="get nodes/proxy"):
            must_be_granted(account, [METRICS])


def test_the_nodes_are_those_of_the_driver_on_the_cluster(
    embedded: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    client = embedded.admin()
    for name, driver in (("two", DRIVER), ("one", DRIVER), ("other", "nic.example.com")):
        spec = {
            "driver": driver,
            "nodeName": f"node-{name}",
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [],
        }
        client.create(resources.RESOURCE_SLICES, {"metadata": {"name": name}, "spec": spec})
    found = printed(capsys, *IMAGE, f"--driver-name={DRIVER}")
    assert found["ConfigMap"]["data"]["nodes"] == "node-one\nnode-two\n"


def test_the_profile_goes_along_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "dra-profile.yaml"
    file.write_text(PROFILE, "utf-8")
    found = printed(capsys, *IMAGE, f"--profile={file}", "--nodes=a")
    assert found["ConfigMap"]["data"]["dra-profile.yaml"] == PROFILE
    (container,) = found["Job"]["spec"]["template"]["spec"]["containers"]
    assert command_of(container).options == []


USED: Final = """\
manifests: [deploy/gpu.yaml, chart]
injection: {probe: {command: [sh, probe.sh], expect: {gpu: 1}}}
hooks:
  observe: [./observe, "{device}"]
  fault: [/bin/sh, -c, "true"]
launch:
  components: [{name: plugin, command: [./plugin]}]
"""


def test_files_that_a_profile_names_and_that_stay_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "dra-profile.yaml"
    file.write_text(PROFILE.replace("manifests: [nowhere/]\n", USED), "utf-8")
    for name in ("probe.sh", "observe", "plugin"):
        (tmp_path / name).touch()
    assert run(["job", *IMAGE, f"--profile={file}", "--nodes=a"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[:-1] == [
        "dra-report: manifests stay here (deploy/gpu.yaml, chart): the driver is installed, and no "
        "shard reads them",
        "dra-report: hooks.observe runs in the plugin's container on each node, which has to have "
        "./observe: the file of that name here does not go along",
        "dra-report: injection.probe runs in the pods of --dra-pod-image, which has to have "
        "probe.sh: the file of that name here does not go along",
    ]
    assert lines[-1].startswith("dra-report: 1 node; kubectl apply --server-side -f FILE, ")


@pytest.mark.parametrize("more", [[], ["--sonobuoy"]])
def test_a_config_map_that_no_cluster_takes_is_refused(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    fitting, many = (",".join(f"{n:099d}" for n in range(count)) for count in (10_485, 10_486))
    assert run(["job", *GIVEN[:-1], f"--nodes={fitting}", *more]) == 0
    capsys.readouterr()
    assert run(["job", *GIVEN[:-1], f"--nodes={many}", *more]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "ConfigMap has 1048600 bytes (nodes: 1048600), and a cluster takes 1048576" in shown.err
    assert "with a part of the nodes in --nodes and a --name each" in shown.err


def test_what_the_config_map_has_is_all_that_a_shard_needs_of_the_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a pod: the fields are files of a folder in which nothing else is."""
    file = tmp_path / "dra-profile.yaml"
    file.write_text(PROFILE.replace("manifests: [nowhere/]\n", USED), "utf-8")
    (tmp_path / "chart").mkdir()
    (tmp_path / "chart" / "Chart.yaml").write_text("name: gpu", "utf-8")
    found = printed(capsys, *IMAGE, f"--profile={file}", "--nodes=a")
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    for name, text in found["ConfigMap"]["data"].items():
        (mounted / name).write_text(text, "utf-8")
    monkeypatch.chdir(mounted)
    profile = load_profile(mounted / "dra-profile.yaml")
    assert profile.data == load_profile(file).data
    assert profile.gives("manifests")
    settings = resolve(flag=SHARDS.get, ini=lambda _: None, environ={})
    assert shipped(settings, profile).manifests == profile.manifests


SHARDS: Final = {"dra_cluster": "kubeconfig", "dra_driver": "installed"}
"""What a shard is given."""


def test_nothing_that_acts_on_a_whole_cluster_reads_files_of_the_profile() -> None:
    """So that none has to go along; what is deployed has been read before, by the plan."""
    package = Path(pytest_dra.__file__).parent
    sources = [*package.glob("live/*.py"), *package.glob("conformance/*_live.py")]
    assert len(sources) > len(live_cases()) // 2
    for source in sources:
        text = source.read_text("utf-8")
        assert "profile.manifests" not in text
        assert "profile.path" not in text
        assert "launch.trees" not in text


def test_a_plugin_of_sonobuoy_runs_on_each_node_and_stays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plugin = printed(capsys, *GIVEN, "--sonobuoy", "--name=gpu")["plugin"]
    config = plugin["sonobuoy-config"]
    assert (config["driver"], config["plugin-name"]) == ("DaemonSet", "gpu")
    assert config["result-format"] == "junit"
    assert plugin["config-map"] == {"nodes": "b\na\n"}
    assert command_of(plugin["spec"]).sonobuoy
    assert {"name": "results", "mountPath": "/tmp/sonobuoy/results"} in (
        plugin["spec"]["volumeMounts"]
    )
    assert plugin["podSpec"]["serviceAccountName"] == "sonobuoy-serviceaccount"
    assert plugin["podSpec"]["containers"] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--nodes=a"], "which driver? Give --driver-name, or a --profile with driver.name"),
        (["--profile=missing.yaml"], "--profile: missing.yaml: there is no such file; give one"),
        ([*GIVEN, "--profile=missing.yaml"], "; give one with --profile=FILE\n"),
        ([*GIVEN, "--profile=."], "this is no file; give one with --profile=FILE\n"),
        (["--driver-name=a'b", "--nodes=a"], '--driver-name: "a\'b": must be a DNS-1123 subdomain'),
        ([*GIVEN, "--nodes=a,B_"], "--nodes: 'B_': must be a DNS-1123 subdomain"),
        ([*GIVEN, "--name=No"], "No: no name for it"),
        ([f"--driver-name={DRIVER}"], f"where is {DRIVER}? context away: "),
    ],
)
def test_what_cannot_be_printed_is_told(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(unreachable(tmp_path)))
    assert run(["job", *IMAGE, *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert told in shown.err


def test_a_driver_that_is_nowhere_is_told(
    embedded: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    del embedded
    assert run(["job", *IMAGE, f"--driver-name={DRIVER}"]) == 2
    assert f"{DRIVER} has no slice of any node on the cluster" in capsys.readouterr().err


def test_numbers_are_above_0(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--parallel=0", "--timeout=x"):
        with pytest.raises(SystemExit) as caught:
            run(["job", *GIVEN, option])
        assert caught.value.code == 2
    assert "want a number above 0" in capsys.readouterr().err


def test_another_file_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.yaml"
    assert run(["job", *GIVEN, "--to", str(file)]) == 0
    assert capsys.readouterr().out == ""
    kinds: list[Any] = [each["kind"] for each in yaml.safe_load_all(file.read_text("utf-8"))]
    assert kinds[0] == "Namespace"
    assert kinds[-1] == "Job"
