"""How an image is run on the bench is decided, and refused, before anything is started."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_dra.launch.containerspec import ContainerSpec
from pytest_dra.options import OptionError
from pytest_dra.options import resolve
from pytest_dra.plan import Plan
from pytest_dra.planning import plan_of
from pytest_dra.refusals import check_later_features
from tests.containers.fakeengine import FakeEngine
from tests.live.test_planning import MANIFESTS
from tests.live.test_planning import PROFILE

NOTHING: Mapping[str, object] = {}

BINDING = """\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: plugin}
roleRef: {kind: ClusterRole, name: plugin, apiGroup: rbac.authorization.k8s.io}
subjects: [{kind: ServiceAccount, name: default, namespace: drivers}]
"""

OTHER = MANIFESTS.replace("name: plugin, namespace", "name: second, namespace")


def planned(docker: FakeEngine, **options: str) -> Plan:
    given = {"dra_engine": docker.program, "dra_driver_name": "gpu.example.com", **options}
    settings = resolve(flag=given.get, ini=NOTHING.get, environ={})
    check_later_features(settings)
    _, plan = plan_of(settings)
    return plan


def refused(docker: FakeEngine, **options: str) -> str:
    with pytest.raises(OptionError) as caught:
        planned(docker, **options)
    return str(caught.value)


def test_an_image_alone_is_run_with_its_own_arguments_or_those_behind_it(
    docker: FakeEngine,
) -> None:
    plan = planned(docker, dra_driver="there:1")
    (one,) = plan.components
    assert (one.command, one.container) == (("--one",), ContainerSpec(image="there:1"))
    assert plan.fleet is not None
    (other,) = planned(docker, dra_driver="there:1 --node={node}").components
    assert other.command == ("--node={node}",)


def test_a_daemon_set_says_how_it_is_run(docker: FakeEngine, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MANIFESTS + BINDING)
    plan = planned(docker, dra_driver="there:1 -v", dra_manifests=str(tmp_path / "m.yaml"))
    (one,) = plan.components
    assert one.name == "plugin"
    assert one.command == ("-v",)
    assert one.container is not None
    assert one.container.image == "there:1"
    assert one.container.mounts is not None
    assert plan.rights is not None
    assert (plan.rights.namespace, plan.rights.account) == ("drivers", "default")


def test_manifests_without_bindings_leave_the_driver_all_rights(
    docker: FakeEngine, tmp_path: Path
) -> None:
    (tmp_path / "m.yaml").write_text(MANIFESTS)
    plan = planned(docker, dra_driver="there:1", dra_manifests=str(tmp_path / "m.yaml"))
    assert plan.rights is None


def test_manifests_that_do_not_say_which_daemon_set_are_refused(
    docker: FakeEngine, tmp_path: Path
) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(BINDING)
    assert "there is no DaemonSet" in refused(docker, dra_driver="there:1", dra_manifests=str(file))
    file.write_text(f"{MANIFESTS}---\n{OTHER}")
    assert refused(docker, dra_driver="there:1", dra_manifests=str(file)) == (
        "--dra-manifests: which one is run, DaemonSet plugin, DaemonSet second? Give manifests "
        "with one DaemonSet, or with one that runs an image of the name 'there'"
    )
    file.write_text(f"{MANIFESTS}---\n{OTHER.replace('registry.example/driver', 'a.b/there')}")
    assert planned(docker, dra_driver="there:1", dra_manifests=str(file)).components


def test_manifests_that_are_not_there_are_refused(docker: FakeEngine) -> None:
    assert refused(docker, dra_driver="there:1", dra_manifests="/none") == (
        "--dra-manifests=/none: there is no such file or directory"
    )


def test_the_previous_release_is_run_in_the_same_way(docker: FakeEngine, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MANIFESTS)
    plan = planned(
        docker,
        dra_driver="there:1 -v",
        dra_driver_previous="older:1",
        dra_manifests=str(tmp_path / "m.yaml"),
    )
    (now,), (before,) = plan.components, plan.previous
    assert now.container is not None
    assert before.container is not None
    assert before.container.image == "older:1"
    assert (before.command, before.container.mounts) == (now.command, now.container.mounts)
    assert plan.profile.gives("launch.previous")
    assert plan.profile.declares("UpgradeFrom")


def test_a_previous_image_goes_with_an_image(docker: FakeEngine) -> None:
    assert refused(docker, dra_driver="fake", dra_driver_previous="older:1").startswith(
        "--dra-driver-previous=older:1: goes with an image under test: --dra-driver=IMAGE"
    )
    said = refused(docker, dra_driver="there:1", dra_driver_previous="lost:1")
    assert said.startswith("--dra-driver-previous=lost:1: docker has no image lost:1")


def test_an_image_or_an_engine_that_is_not_there_is_refused(
    docker: FakeEngine, tmp_path: Path
) -> None:
    assert refused(docker, dra_driver="x:1").startswith(
        "--dra-driver=x:1: docker has no image x:1, and cannot pull it"
    )
    assert refused(docker, dra_driver="there:1", dra_engine=str(tmp_path / "none")).endswith(
        "none: not found on PATH, nor is it a program"
    )
    docker.path.write_text("#!/bin/sh\necho permission denied >&2; exit 1\n")
    assert (
        "permission denied. What to do: start it, or see whether this user may use it"
        in refused(docker, dra_driver="there:1")
    )
    assert refused(docker, dra_driver="there:1", dra_jail="true") == (
        "--dra-jail: an image runs in a container; leave it out"
    )


def test_the_profile_s_name_is_enough(docker: FakeEngine, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROFILE)
    plan = planned(docker, dra_driver="there:1", dra_profile=str(tmp_path / "p.yaml"))
    assert plan.driver_name == "gpu.example.com"
