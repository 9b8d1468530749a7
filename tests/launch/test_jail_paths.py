"""The jail's paths, and one program in it: what leads where, and what is refused."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from pytest_dra.launch import Jail
from pytest_dra.launch import Keeper
from pytest_dra.launch import LaunchError
from pytest_dra.launch import NodeDirectories
from pytest_dra.launch.cell import REFUSED
from pytest_dra.launch.cell import UNUSABLE
from tests.launch.prisoner import BOOT_ID

SPAN_S = 60.0


@pytest.fixture
def directories(keeper: Keeper) -> NodeDirectories:
    return NodeDirectories.make(keeper)


def test_only_what_is_jailed_can_be_made_unwritable(directories: NodeDirectories) -> None:
    with pytest.raises(LaunchError, match=r"process \d+ is not jailed"):
        with Jail(directories).read_only("/etc", [os.getpid()]):
            pass


def test_what_is_not_there_for_the_driver_cannot_be_made_unwritable(
    directories: NodeDirectories,
) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-m", "true"], timeout=SPAN_S).returncode:
        pytest.skip("no mount namespaces can be made here")
    script = "echo in; exec sleep 60"
    with subprocess.Popen([unshare, "-m", "sh", "-c", script], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"in\n"
            with pytest.raises(LaunchError, match=r"for the driver: /none of process \d+: No such"):
                with Jail(directories).read_only("/none", [process.pid]):
                    pass
        finally:
            process.kill()


def test_paths_inside_are_found_outside(directories: NodeDirectories, tmp_path: Path) -> None:
    jail = Jail(directories, extra={"/var/lib/own/": tmp_path})
    for inside, outside in {
        "/var/lib/kubelet/plugins/a/dra.sock": directories.plugins_dir / "a" / "dra.sock",
        "/var/lib/kubelet/plugins_registry": directories.registry_dir,
        "//var/lib/kubelet/./plugins/../plugins/a": directories.plugins_dir / "a",
        "/var/run/cdi/x.json": directories.cdi_dir / "x.json",
        "/etc/cdi/x.json": directories.static_cdi_dir / "x.json",
        "/var/lib/kubelet/plugins_x": directories.root / "nothing" / "plugins_x",
        "/var/lib/kubelet/plugins/../../../../etc/passwd": Path("/etc/passwd"),
        "/var/lib/own/state": tmp_path / "state",
        "/var/lib/owner": Path("/var/lib/owner"),
        "relative": Path("relative"),
        str(directories.plugins_dir / "a"): directories.plugins_dir / "a",
    }.items():
        assert jail.outside(inside) == outside, inside
    if Path("/var/run").is_symlink():
        assert jail.outside("/run/cdi/x.json") == directories.cdi_dir / "x.json"


def _socket(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
    return path


def test_links_of_the_driver_lead_where_they_lead_inside(directories: NodeDirectories) -> None:
    jail, registry = Jail(directories), directories.registry_dir
    reg = _socket(directories.plugins_dir / "a" / "reg.sock")
    (directories.plugins_dir / "b").symlink_to("/var/lib/kubelet/plugins/a")
    targets = {
        "absolute": "/var/lib/kubelet/plugins/a/reg.sock",
        "relative": "../plugins/a/reg.sock",
        "another": "absolute",
        "directory": "/var/lib/kubelet/plugins/b/reg.sock",
        "up": "/var/lib/kubelet/plugins/b/../a/./reg.sock",
        "outside name": str(reg),
    }
    for name, target in targets.items():
        (registry / name).symlink_to(target)
        assert jail.reached(registry / name) == reg, name
        assert jail.reached(f"/var/lib/kubelet/plugins_registry/{name}") == reg, name
    assert jail.reached(reg) == reg
    assert jail.reached("/opt/x.sock") == Path("/opt/x.sock")
    assert jail.reached("relative") == Path("relative")


@pytest.mark.parametrize(
    "target",
    ["/run/host.sock", "../../../../run/host.sock", "loop", "/var/lib/kubelet/x", "/", "deep/x"],
)
def test_links_that_lead_out_lead_nowhere(directories: NodeDirectories, target: str) -> None:
    jail, registry = Jail(directories), directories.registry_dir
    (registry / "deep").symlink_to("/run")
    (registry / "loop").symlink_to(target)
    found = jail.reached(registry / "loop")
    assert found.is_relative_to(directories.root / "nothing")
    assert not found.exists()


def test_one_of_the_usual_paths_can_be_replaced(
    directories: NodeDirectories, tmp_path: Path
) -> None:
    jail = Jail(directories, extra={"/run/cdi": tmp_path})
    assert jail.outside("/run/cdi/a") == tmp_path / "a"
    if Path("/var/run").is_symlink():
        plan = next(part for part in jail.command(["/x"]) if part.startswith("["))
        assert "/var/run/cdi" not in plan


@pytest.mark.parametrize("inside", ["relative", "/", "//", str(BOOT_ID), "", "/a\0"])
def test_a_wrong_private_path_is_refused(
    directories: NodeDirectories, tmp_path: Path, inside: str
) -> None:
    with pytest.raises(LaunchError, match=r"--dra-jail: the private path .* is not an absolute"):
        Jail(directories, extra={inside: tmp_path})
    assert "is not an absolute path" in Jail.check({inside: tmp_path})


def test_a_private_path_that_leads_nowhere_is_refused(directories: NodeDirectories) -> None:
    with pytest.raises(LaunchError, match="does not exist; make it first"):
        Jail(directories, extra={"/opt/x": Path("/nonexistent/x")})


def test_a_first_directory_that_does_not_exist_is_said(tmp_path: Path) -> None:
    if Jail.check():
        pytest.skip("no jail here")
    sentence = Jail.check({"/nonexistent-dra/x": tmp_path})
    assert "/nonexistent-dra/x cannot be made" in sentence
    assert not Path("/nonexistent-dra").exists()


def _run(
    jail: Jail, *argv: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        jail.command(argv), capture_output=True, text=True, timeout=SPAN_S, check=False, env=env
    )


def test_a_program_that_cannot_run_and_a_planted_link_are_said_in_the_log(
    directories: NodeDirectories,
) -> None:
    if Jail.check():
        pytest.skip("no jail here")
    jail = Jail(directories)
    done = _run(jail, "/nonexistent/driver")
    assert done.returncode == UNUSABLE != REFUSED
    assert done.stderr == "--dra-jail: /nonexistent/driver: No such file or directory\n"
    directories.cdi_dir.rmdir()
    directories.cdi_dir.symlink_to("/")
    done = _run(jail, "/bin/true")
    assert done.returncode == UNUSABLE
    assert done.stderr == f"--dra-jail: {directories.cdi_dir} was replaced by a link\n"


def test_ignored_signals_do_not_pass_on(directories: NodeDirectories) -> None:
    if Jail.check():
        pytest.skip("no jail here")
    done = _run(Jail(directories), "/bin/sh", "-c", "grep SigIgn /proc/self/status")
    assert int(done.stdout.split()[1], 16) == 0


def test_the_environment_is_passed_on_as_it_was_given(directories: NodeDirectories) -> None:
    if Jail.check():
        pytest.skip("no jail here")
    # In a plain C locale an interpreter sets LC_CTYPE.
    done = _run(Jail(directories), "/usr/bin/env", env={"LANG": "C", "A": "b=c\nd", "E": ""})
    assert done.stdout == "LANG=C\nA=b=c\nd\nE=\n"


def test_a_killed_driver_shows_its_signal(directories: NodeDirectories) -> None:
    if Jail.check():
        pytest.skip("no jail here")
    assert _run(Jail(directories), "/bin/sh", "-c", "kill -9 $$").returncode == -9
