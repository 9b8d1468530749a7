from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dra.launch import Component
from pytest_dra.launch import LaunchError
from pytest_dra.launch import parse_command_line
from pytest_dra.launch.component import environment
from pytest_dra.launch.component import find_program
from pytest_dra.profile import PLACEHOLDERS

VALUES = {name: f"<{name}>" for name in PLACEHOLDERS}


def test_placeholders_are_filled_in_command_and_environment() -> None:
    component = Component(
        "plugin", ("drv", "--dir={plugins_dir}", "{{x}}"), {"NODE": "{node}/{pod_uid}"}
    ).filled(VALUES)
    assert component.command == ("drv", "--dir=<plugins_dir>", "{x}")
    assert component.env == {"NODE": "<node>/<pod_uid>"}


@pytest.mark.parametrize(
    "text", ["{home}", "{}", "{0}", "{node.x}", "{node!r}", "{node:>5}", "{node", "x}", "{node[0]}"]
)
def test_what_is_no_placeholder_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(LaunchError, match="component 'plugin'") as caught:
        Component("plugin", ("drv", text)).filled(VALUES)
    assert "brace" in str(caught.value)
    if text == "{home}":
        assert "{home}" in str(caught.value)
        assert all(f"{{{name}}}" in str(caught.value) for name in PLACEHOLDERS)


def test_an_empty_command_is_refused() -> None:
    with pytest.raises(LaunchError, match="empty"):
        Component("plugin", ()).filled(VALUES)


def test_a_command_line_is_split_like_a_shell_does() -> None:
    assert parse_command_line("drv --a 'b c' \"d\"\\ e") == ("drv", "--a", "b c", "d e")
    with pytest.raises(LaunchError, match="No closing quotation"):
        parse_command_line("drv 'x")
    with pytest.raises(LaunchError, match="empty"):
        parse_command_line("  ")


def test_the_environment_is_the_users_less_pytests_plus_the_well_known() -> None:
    inherited = {
        "HOME": "/home/u",
        "PYTEST_CURRENT_TEST": "x",
        "PYTEST_DRA_DRIVER": "x",
        "KUBECONFIG": "/home/u/.kube/config",
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    }
    made = environment(VALUES, {"OWN": "1", "CDI_ROOT": "/own"}, given=inherited)
    assert made == {
        "HOME": "/home/u",
        "KUBECONFIG": "<kubeconfig>",
        "NODE_NAME": "<node>",
        "CDI_ROOT": "/own",
        "STATIC_CDI_ROOT": "<static_cdi_dir>",
        "KUBELET_REGISTRAR_DIRECTORY_PATH": "<registry_dir>",
        "KUBELET_PLUGINS_DIRECTORY_PATH": "<plugins_dir>",
        "POD_UID": "<pod_uid>",
        "KUBE_API_QPS": "1000",
        "KUBE_API_BURST": "2000",
        "OWN": "1",
    }


def test_a_program_is_found_in_path_or_relative_to_the_directory(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "drv"
    program.parent.mkdir()
    program.touch(mode=0o755)
    env = {"PATH": str(program.parent)}
    assert find_program(Component("c", ("drv",)), env, cwd=Path("/")) == str(program)
    assert find_program(Component("c", ("./bin/drv",)), {}, cwd=tmp_path) == str(program)


def test_a_program_that_cannot_run_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "plain").touch(mode=0o644)
    for command, text in (
        ("no-such-driver", "not found in PATH"),
        ("./none", "does not exist"),
        ("./plain", "not executable; try: chmod"),
        (".//", "is a directory"),
    ):
        with pytest.raises(LaunchError, match=text):
            find_program(Component("c", (command,)), {"PATH": "/bin"}, cwd=tmp_path)
