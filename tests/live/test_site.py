"""A run's cluster and bench are made once, judged on, and removed; on a cluster without nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_dra import evidence
from pytest_dra.api import resources
from pytest_dra.cases import Declared
from pytest_dra.catalogue import catalogue
from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.whole import WholeCluster
from pytest_dra.kube import Client
from pytest_dra.launch import Keeper
from pytest_dra.live import LiveBench
from pytest_dra.live import generated
from pytest_dra.live import vacancy
from pytest_dra.live.deployment import LABEL
from pytest_dra.live.deployment import OWNER
from pytest_dra.live.driver import LiveDriver
from pytest_dra.live.meeting import Meeting
from pytest_dra.live.plan import LivePlan
from pytest_dra.livesite import LiveSite
from pytest_dra.outcome import BenchError
from pytest_dra.plan import Plan
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.report.results import State
from pytest_dra.spec import Depth
from pytest_dra.spec import Violation

ACCOUNT = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "plugin", "namespace": "kube-system"},
}


OF_CONTROLLER = dataclasses.replace(Owner.here(), pid=1)
"""As if the controller were another process."""


class Whole(WholeCluster):
    """A cluster that is there already."""

    name = "whole"
    provider = "kind"
    depth = Depth.CLUSTER
    ours = False
    ends = False

    def __init__(self, client: Client) -> None:
        self._client = client
        self.loaded: list[str] = []
        self.started = 0
        self.said = ""

    def start(self) -> None:
        self.started += 1

    def stop(self) -> None:
        self.started -= 1

    def admin(self) -> Client:
        return self._client

    def admin_kubeconfig(self) -> Path:
        return Path("/none")

    def load(self, image: str) -> bool:
        self.loaded.append(image)
        return True

    def on_node(self, node: str, argv: Sequence[str], *, timeout_s: float) -> str:
        return ""

    def logs(self) -> str:
        return self.said


@pytest.fixture
def whole(client: Client) -> Whole:
    return Whole(client)


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    with Keeper() as made:
        yield made


def site(whole: Whole, keeper: Keeper, *, kubernetes: str = "1.37") -> LiveSite:
    live = LivePlan(
        new=lambda _: whole,
        join=lambda _, name: whole,
        objects=(ACCOUNT,),
        images=("driver:1",),
        pod_image="pod:1",
    )
    plan = Plan(
        components=(),
        driver_name="fake.dra.example",
        profile=DEFAULT_PROFILE,
        kubernetes=kubernetes,
        cdi_library="1.1.0",
        live=live,
    )
    return LiveSite(plan, lambda: keeper)


def case_that(act: Callable[[LiveBench], None]) -> Declared:
    return Declared(catalogue().case("LIFE-001"), act, settles=False, live=True)


def test_the_driver_is_deployed_for_the_first_case_and_removed_at_the_end(
    client: Client, whole: Whole, keeper: Keeper
) -> None:
    made = site(whole, keeper)
    assert whole.started == 0
    seen = []
    for _ in range(2):
        outcome = made.judge(case_that(lambda bench: seen.append(bench.namespace)))
        assert outcome.result.state is State.PASSED
    assert len(set(seen)) == whole.started == 1
    assert whole.loaded == ["driver:1", "pod:1"]
    client.get(resources.SERVICE_ACCOUNTS, "plugin", namespace="kube-system")
    made.close()
    made.close()
    assert whole.started == 0
    names = [each["metadata"]["name"] for each in client.list(resources.NAMESPACES)]
    assert seen[0] not in names


def test_after_a_failed_case_the_driver_begins_anew(
    whole: Whole, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed = []
    monkeypatch.setattr(LiveDriver, "restart", lambda driver: renewed.append(driver.name))

    def fail(_: LiveBench) -> None:
        raise Violation("here", got="this", want="that")

    made = site(whole, keeper)
    assert made.judge(case_that(fail)).result.state is State.FAILED
    assert made.judge(case_that(lambda _: None)).result.state is State.PASSED
    made.close()
    assert renewed == ["fake.dra.example"]


def test_a_cluster_of_another_version_is_told_with_what_to_give(
    whole: Whole, keeper: Keeper
) -> None:
    made = site(whole, keeper, kubernetes="1.34")
    first, second = (made.judge(case_that(lambda _: None)) for _ in range(2))
    made.close()
    assert first.result.state is second.result.state is State.ERRORED
    assert isinstance(first.error, ClusterError)
    assert "is Kubernetes 1.37" in str(first.error)
    assert "--dra-kubernetes=1.37" in str(first.error)
    assert isinstance(second.error, BenchError)


def test_what_cannot_be_deployed_leaves_nothing_and_ends_no_pods_of_others(
    client: Client, whole: Whole, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed: list[LiveDriver] = []
    monkeypatch.setattr(LiveDriver, "restart", renewed.append)
    made = site(whole, keeper)
    unknown = {"apiVersion": "example.com/v1", "kind": "Nothing", "metadata": {"name": "x"}}
    plan = made._live
    object.__setattr__(
        made,
        "_plan",
        dataclasses.replace(made._plan, live=dataclasses.replace(plan, objects=(ACCOUNT, unknown))),
    )
    outcome = made.judge(case_that(lambda _: None))
    made.close()
    assert "serves no Nothing of example.com/v1" in outcome.result.error
    assert renewed == []
    accounts = client.list(resources.SERVICE_ACCOUNTS, namespace="kube-system")
    assert [each for each in accounts if each["metadata"]["name"] == "plugin"] == []


def test_processes_of_a_run_share_cluster_and_driver(
    client: Client, whole: Whole, keeper: Keeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LiveDriver, "must_publish", lambda driver: [])
    controller, worker = site(whole, keeper), site(whole, keeper)
    met = dataclasses.replace(controller.offer(Meeting(tmp_path)), owner=OF_CONTROLLER)
    Meeting(tmp_path).answer(met)
    worker.join(Meeting(tmp_path))
    seen: list[LiveBench] = []
    assert worker.judge(case_that(seen.append)).result.state is State.PASSED
    assert seen[0].namespace == controller.bench.namespace
    assert whole.loaded == ["driver:1", "pod:1"]
    seen[0].driver.uninstall()
    seen[0].driver.install()
    (account,) = [
        each
        for each in client.list(resources.SERVICE_ACCOUNTS, label_selector=LABEL)
        if each["metadata"]["name"] == "plugin"
    ]
    assert account["metadata"]["annotations"][OWNER] == OF_CONTROLLER.written()
    worker.close()
    client.get(resources.SERVICE_ACCOUNTS, "plugin", namespace="kube-system")
    controller.close()
    accounts = client.list(resources.SERVICE_ACCOUNTS, namespace="kube-system")
    assert [each for each in accounts if each["metadata"]["name"] == "plugin"] == []


def test_what_the_controller_cannot_make_is_errored_in_each_worker(
    whole: Whole, keeper: Keeper, tmp_path: Path
) -> None:
    Meeting(tmp_path).refuse("ClusterError: disk full")
    worker = site(whole, keeper)
    worker.join(Meeting(tmp_path))
    outcome = worker.judge(case_that(lambda _: None))
    worker.close()
    assert outcome.result.state is State.ERRORED
    assert "disk full" in outcome.result.error


def test_what_the_nodes_say_is_kept_of_a_case_that_does_not_pass(
    whole: Whole, keeper: Keeper, tmp_path: Path
) -> None:
    whole.said = "--- node: kubelet\nit is cold\n"
    made = site(whole, keeper)

    def fails(bench: LiveBench) -> None:
        raise Violation("pod", got="no", want="yes")

    evidence.keep(tmp_path, made.judge(case_that(fails)), when="on-failure")
    assert (tmp_path / "cases/LIFE-001/nodes.log").read_text("utf-8") == whole.said
    assert made.judge(case_that(lambda _: None)).cluster_logs == {}
    made.close()
    evidence.forget(tmp_path, ["LIFE-001"])
    assert not (tmp_path / "cases/LIFE-001").exists()


def test_what_the_nodes_of_a_cluster_said_that_is_gone_is_kept_once(
    whole: Whole, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start() -> None:
        raise ClusterError("kind create cluster failed", logs="no inotify")

    monkeypatch.setattr(whole, "start", start)
    monkeypatch.setattr(whole, "stop", lambda: None)
    whole.said = "of another one"
    made = site(whole, keeper)
    assert made.judge(case_that(lambda _: None)).cluster_logs == {"nodes": "no inotify"}
    assert made.judge(case_that(lambda _: None)).cluster_logs == {}
    made.close()


def test_no_driver_is_judged_by_rights_that_the_suite_gives_it(
    whole: Whole, keeper: Keeper
) -> None:
    made = site(whole, keeper)
    objects = tuple(generated.objects_for("fake.dra.example"))
    live = dataclasses.replace(made._live, objects=objects)
    object.__setattr__(made, "_plan", dataclasses.replace(made._plan, live=live))
    outcome = made.judge(case_that(lambda bench: bench.foreign.must_be_refused()))
    made.close()
    assert outcome.result.state is State.UNSUPPORTED_ENVIRONMENT
    assert outcome.result.remedy == generated.MANIFESTS


def published(client: Client, name: str) -> None:
    spec = {
        "driver": "fake.dra.example",
        "nodeName": "node-1",
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        "devices": [],
    }
    client.create(resources.RESOURCE_SLICES, {"metadata": {"name": name}, "spec": spec})


def slices(client: Client) -> list[str]:
    return [each["metadata"]["name"] for each in client.list(resources.RESOURCE_SLICES)]


def test_a_driver_that_somebody_has_installed_is_not_deployed_beside_it(
    client: Client, whole: Whole, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vacancy, "WIPED_S", 0.2)
    published(client, "theirs")
    whole.provider = "kubeconfig"
    made = site(whole, keeper)
    outcome = made.judge(case_that(lambda _: None))
    made.close()
    assert outcome.result.state is State.ERRORED
    assert isinstance(outcome.error, ClusterError)
    assert "already, and publishes theirs: judge what is installed" in str(outcome.error)
    assert slices(client) == ["theirs"]
    assert whole.loaded == []
    client.delete(resources.RESOURCE_SLICES, "theirs")


def test_slices_of_a_driver_that_was_deployed_go_with_it(
    client: Client, whole: Whole, keeper: Keeper
) -> None:
    whole.provider = "kubeconfig"
    made = site(whole, keeper)
    made.judge(case_that(lambda _: published(client, "ours")))
    assert slices(client) == ["ours"]
    made.close()
    assert slices(client) == []


@pytest.mark.parametrize(("ours", "ends", "kept"), [(1, 0, "whole"), (1, 1, ""), (0, 0, "")])
def test_a_cluster_that_a_run_has_made_and_leaves_is_named(
    whole: Whole, keeper: Keeper, ours: int, ends: int, kept: str
) -> None:
    whole.ours, whole.ends = bool(ours), bool(ends)
    made = site(whole, keeper)
    assert made.cluster is whole
    assert made.kept == kept
    made.close()
