"""Flags win over the environment, and socket names stay short enough."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_dra.fake_driver import options
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.options import SOCKET_PATH_MAX

IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
UID = "11111111-1111-4111-8111-111111111111"


def test_a_flag_wins_over_its_variable_and_the_variable_over_the_default() -> None:
    environment = {**IN_CLUSTER, "NODE_NAME": "from-variable", "CDI_ROOT": "/cdi"}
    made = options.parse(["--node-name=from-flag"], environment)
    assert (made.node_name, made.cdi_root) == ("from-flag", Path("/cdi"))
    assert made.registry_dir == Path("/var/lib/kubelet/plugins_registry")
    assert options.parse([], environment).node_name == "from-variable"


def test_relative_directories_become_absolute() -> None:
    made = options.parse(["--node-name=n", "--registry-dir=r"], IN_CLUSTER)
    assert made.registry_dir == Path.cwd() / "r"


@pytest.mark.parametrize("driver", ["fake.dra.example", "d" * 63])
@pytest.mark.parametrize("depth", [0, 30, 55])
def test_names_with_a_uid_are_shortened_until_the_path_fits(driver: str, depth: int) -> None:
    registry = f"/tmp/{'r' * depth}"
    call = ["--node-name=n", f"--driver-name={driver}", f"--registry-dir={registry}"]
    socket = options.parse(
        [*call, f"--instance-uid={UID}", "--plugins-dir=/p"], IN_CLUSTER
    ).registration_socket
    assert len(os.fsencode(socket)) <= SOCKET_PATH_MAX
    assert socket.name.endswith("-reg.sock")
    other = options.parse([*call, "--instance-uid=other", "--plugins-dir=/p"], IN_CLUSTER)
    assert other.registration_socket != socket


def test_a_path_that_cannot_be_shortened_is_refused_with_its_length() -> None:
    with pytest.raises(StartError, match=r"has 1\d\d bytes, a Unix socket takes 107; use shorter"):
        options.parse(["--node-name=n", f"--plugins-dir=/{'p' * 90}"], IN_CLUSTER)
