"""A driver's containers on one node: the engine's command, and the process behind it."""

from __future__ import annotations

import dataclasses
import signal
from pathlib import Path

import pytest

from pytest_dra.containers.box import Box
from pytest_dra.launch import Component
from pytest_dra.launch import Driver
from pytest_dra.launch import Keeper
from pytest_dra.launch import LaunchError
from pytest_dra.launch import NodeDirectories
from pytest_dra.launch.containerspec import ContainerSpec
from pytest_dra.launch.containerspec import Mount
from pytest_dra.timeline import ProcessEvent
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from tests.containers.fakeengine import FakeEngine
from tests.launch.conftest import soon

ALONE = ContainerSpec(image="there:1")


def driver(
    box: Box, keeper: Keeper, directories: NodeDirectories, component: Component
) -> tuple[Driver, Timeline]:
    timeline = Timeline()
    made = Driver(
        [component],
        directories=directories,
        keeper=keeper,
        timeline=timeline,
        instance="A",
        node="node-1",
        driver_name="gpu.example.com",
        account={"KUBERNETES_SERVICE_HOST": "127.0.0.1"},
        lodging=box,
    )
    return made, timeline


def words(docker: FakeEngine) -> list[str]:
    """The command by which the last container was run."""
    return [call for call in docker.calls() if call[0] == "run"][-1]


def after(option: str, argv: list[str]) -> list[str]:
    """What stands behind each occurrence of an option."""
    return [argv[number + 1] for number, word in enumerate(argv) if word == option]


def ready(box: Box, directories: NodeDirectories, component: Component) -> list[str]:
    made, _ = driver(box, Keeper(), directories, component)
    found = box.ready(
        component, values=made.values, account={"KUBERNETES_SERVICE_PORT": "6443"}, cwd=Path.cwd()
    )
    return list(found.argv[1:])


def test_an_image_alone_has_the_directories_at_their_usual_paths(
    box: Box, directories: NodeDirectories
) -> None:
    argv = ready(box, directories, Component("d", ("--at={driver_dir}",), container=ALONE))
    assert argv[-2:] == ["there:1", "--at=/var/lib/kubelet/plugins/gpu.example.com"]
    mounts = after("--mount", argv)
    for name, path in (
        ("reg", "/var/lib/kubelet/plugins_registry"),
        ("plug", "/var/lib/kubelet/plugins"),
        ("cdi", "/var/run/cdi"),
        ("etc-cdi", "/etc/cdi"),
    ):
        assert f"type=bind,source={directories.root / name},target={path}" in mounts
    assert any("serviceaccount,readonly" in each for each in mounts)
    env = dict(each.split("=", 1) for each in after("--env", argv))
    assert env["NODE_NAME"] == "node-1"
    assert env["CDI_ROOT"] == "/var/run/cdi"
    assert env["KUBERNETES_SERVICE_PORT"] == "6443"
    assert "KUBECONFIG" not in env
    assert "HOME" not in env


def test_a_command_that_wants_a_kubeconfig_gets_the_file(
    box: Box, directories: NodeDirectories
) -> None:
    argv = ready(box, directories, Component("d", ("--k={kubeconfig}",), container=ALONE))
    assert argv[-1] == "--k=/etc/pytest-dra/kubeconfig"
    assert any(f"source={directories.kubeconfig}" in each for each in after("--mount", argv))


def test_a_directory_that_the_pod_has_elsewhere_is_told_by_its_path_there(
    box: Box, directories: NodeDirectories
) -> None:
    mounts = (
        Mount(inside="/cdi", host="/var/run/cdi"),
        Mount(inside="/k", host="/var/lib/kubelet"),
    )
    spec = ContainerSpec(image="there:1", mounts=mounts, entrypoint="/x")
    argv = ready(box, directories, Component("d", ("{cdi_dir}", "{registry_dir}"), container=spec))
    assert argv[-4:] == ["--entrypoint=/x", "there:1", "/cdi", "/k/plugins_registry"]
    found = after("--mount", argv)
    assert f"type=bind,source={directories.registry_dir},target=/k/plugins_registry" in found
    assert f"type=bind,source={directories.plugins_dir},target=/k/plugins" in found
    assert not any("source=/var/lib/kubelet," in each for each in found)


def test_a_path_with_a_comma_is_no_mount(box: Box, directories: NodeDirectories) -> None:
    spec = ContainerSpec(image="there:1", mounts=(Mount(inside="/a,readonly", volume="v"),))
    with pytest.raises(LaunchError, match="cannot be mounted"):
        ready(box, directories, Component("d", (), container=spec))


def test_what_a_driver_has_put_in_a_directory_s_place_is_not_mounted(
    box: Box, directories: NodeDirectories
) -> None:
    (directories.plugins_dir / "gpu.example.com").symlink_to("/etc")
    mount = Mount(inside="/d", host="/var/lib/kubelet/plugins/gpu.example.com")
    spec = ContainerSpec(image="there:1", mounts=(mount,))
    with pytest.raises(LaunchError, match="is a link"):
        ready(box, directories, Component("d", (), container=spec))


def test_a_container_starts_ends_and_is_killed(
    box: Box, keeper: Keeper, directories: NodeDirectories, docker: FakeEngine
) -> None:
    command = ("sh", "-c", "trap 'exit 3' TERM; echo up; while :; do sleep 0.1; done")
    one, timeline = driver(box, keeper, directories, Component("d", command, container=ALONE))
    one.start()
    assert one.alive
    assert len(docker.running()) == 1
    soon(lambda: "up" in one.log_tail())
    assert one.terminate(Deadline.after(20.0))
    assert docker.running() == []
    one.start()
    one.kill()
    assert docker.running() == []
    events = timeline.entries(ProcessEvent, where=lambda event: event.action == "exit")
    assert [entry.event.exit_code for entry in events] == [3, -signal.SIGKILL]


def test_an_engine_grants_no_time_to_what_it_removes_by_force(
    box: Box, directories: NodeDirectories
) -> None:
    assert "--stop-timeout=0" in ready(box, directories, Component("d", (), container=ALONE))


def test_what_the_engine_cannot_run_is_told_in_its_words(
    box: Box, keeper: Keeper, directories: NodeDirectories
) -> None:
    broken = Component("d", (), container=dataclasses.replace(ALONE, image="broken:1"))
    one, _ = driver(box, keeper, directories, broken)
    with pytest.raises(LaunchError, match=r"docker cannot run the image: .* no such thing"):
        one.start()
    assert not one.alive
