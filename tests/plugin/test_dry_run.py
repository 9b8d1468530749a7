"""``--dra-dry-run`` lists what a run may create, and creates nothing."""

from __future__ import annotations

import pytest

from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.live.leftovers import runs_on
from tests.clusters.embeddedcluster import embedded
from tests.clusters.stubs import Stub
from tests.plugin.conftest import Runs

__all__ = ["embedded"]

FAKE = ("--dra-driver=fake", "--dra-dry-run")


def test_objects_and_disturbing_cases_are_listed(runs: Runs, embedded: EmbeddedCluster) -> None:
    done = runs.inside(*FAKE, "--dra-cluster=kubeconfig:embedded")
    assert done.ret == 0
    done.stdout.fnmatch_lines(
        [
            "A run with --dra-cluster=kubeconfig:embedded may create, and removes at its end:",
            "  Namespace dra-RUN",
            "  Namespace dra-fake-driver",
            "  ClusterRole dra-fake-driver",
            "  DaemonSet dra-fake-driver/dra-fake-driver",
            "  Pod dra-RUN/[*]",
            "  DeviceClass dra-RUN-[*]",
            "  Pod dra-fake-driver/[*]-second-[*]",
            "LIFE-012 makes the folder /run/pytest-dra on a node, *",
            "Cases that disturb others: *",
            "They are not run without --dra-disruptive.",
            "--dra-dry-run: nothing was created",
        ]
    )
    assert runs_on(embedded.admin()) == []


def test_slices_of_a_case_that_disturbs_are_listed_where_it_runs(
    runs: Runs, embedded: EmbeddedCluster
) -> None:
    del embedded
    line = "  ResourceSlice sec-003-RUN-[*]"
    runs.inside(*FAKE, "--dra-cluster=kubeconfig:").stdout.no_fnmatch_line(line)
    done = runs.inside(*FAKE, "--dra-cluster=kubeconfig:", "--dra-disruptive")
    done.stdout.fnmatch_lines([line])


def test_an_installed_driver_adds_no_objects(runs: Runs, embedded: EmbeddedCluster) -> None:
    del embedded
    done = runs.inside(
        "--dra-driver=installed",
        "--dra-driver-name=gpu.example.com",
        "--dra-cluster=kubeconfig:",
        "--dra-dry-run",
        "--dra-disruptive",
    )
    assert done.ret == 0
    done.stdout.no_fnmatch_line("*dra-fake-driver*")
    done.stdout.no_fnmatch_line("*are not run*")


def test_a_node_that_is_not_there_is_told(runs: Runs, embedded: EmbeddedCluster) -> None:
    del embedded
    done = runs.inside(*FAKE, "--dra-cluster=kubeconfig:", "--dra-node=nowhere")
    assert done.ret == 4
    done.stderr.fnmatch_lines(["*--dra-node=nowhere: the cluster has no such node"])


def test_a_new_kind_cluster_is_listed_with_what_comes_onto_it(runs: Runs) -> None:
    stubs = [Stub(runs.folder, name, "sys.exit(9)") for name in ("kind", "docker")]
    options = [f"--dra-kind={stubs[0].program}", f"--dra-engine={stubs[1].program}"]
    done = runs.inside(*FAKE, "--dra-cluster=kind", *options)
    assert done.ret == 0
    done.stdout.fnmatch_lines(["  kind cluster pytest-dra-RUN, and on it:"])
    named = runs.inside(*FAKE, "--dra-cluster=kind", *options, "--dra-keep", "--dra-reuse=dev")
    named.stdout.fnmatch_lines(["  kind cluster dev, which stays; and on it:"])
    assert [stub.calls() for stub in stubs] == [[], []]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (FAKE, "--dra-dry-run: nothing is created on a cluster with --dra-cluster=embedded"),
        (
            ("--dra-driver=fake", "--dra-cluster=kubeconfig:prod"),
            "--dra-cluster=kubeconfig:prod: no context 'prod' in ",
        ),
        (
            ("--dra-driver=fake", "--dra-cluster=kubeconfig:", "--dra-kubernetes=1.34"),
            "--dra-kubernetes=1.34: the cluster has v1.36.",
        ),
        (
            ("--dra-driver=installed", "--dra-cluster=kubeconfig:"),
            "--dra-cluster=kubeconfig:: the driver's name is needed to find its slices",
        ),
        (
            ("--dra-driver=installed", "--dra-cluster=kind"),
            "--dra-driver=installed: nothing is installed on a new cluster",
        ),
    ],
)
def test_what_cannot_be_used_is_told(
    options: tuple[str, ...], told: str, runs: Runs, embedded: EmbeddedCluster
) -> None:
    done = runs.inside(*options)
    assert done.ret is pytest.ExitCode.USAGE_ERROR
    assert next(line for line in done.errlines if line.strip()).startswith(f"ERROR: {told}")
    assert runs_on(embedded.admin()) == []


def test_the_cleanup_runs_no_tests(runs: Runs, embedded: EmbeddedCluster) -> None:
    del embedded
    runs.pytester.makepyfile("def test_one(): raise RuntimeError")
    done = runs.inside("--dra-cleanup", "--dra-cluster=kubeconfig:", "--dra-engine=/no/engine")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["--dra-cleanup: nothing is left of ended runs"])
