"""Clients that find the API server only as from within a pod: in the jail, over TLS."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_dra.clusters.accounts import DRIVERS
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.embedded import certificates
from pytest_dra.embedded.incluster import ACCOUNT_DIR
from pytest_dra.launch import Jail
from pytest_dra.launch import Keeper
from pytest_dra.launch import NodeDirectories
from pytest_dra.timeline import Timeline

WITHIN_S = 60.0

PYTHON = """
from kubernetes import client, config
config.load_incluster_config()
found = client.AuthenticationV1Api().create_self_subject_review({})
print(found.status.user_info.username)
client.ResourceV1Api().list_resource_slice()
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    """A running cluster."""
    if not certificates.available():
        pytest.skip(certificates.MISSING)
    made = EmbeddedCluster(tmp_path, kubernetes="1.37", timeline=Timeline())
    made.start()
    yield made
    made.stop()


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    """Removes the directories of the jail."""
    made = Keeper()
    made.start()
    yield made
    made.close()


def in_pod(cluster: EmbeddedCluster, keeper: Keeper, account: Path, argv: Sequence[str]) -> str:
    """What a program says that finds the files of a pod at their fixed path."""
    if problem := Jail.check({ACCOUNT_DIR: account}):
        pytest.skip(problem)
    env = cluster.driver_account(account, instance="main", node="node-a")
    jail = Jail(NodeDirectories.make(keeper), extra={ACCOUNT_DIR: account})
    done = subprocess.run(
        jail.command(argv),
        cwd="/",
        env={"PATH": os.defpath, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """What is shown at the fixed path."""
    directory = tmp_path / "account"
    directory.mkdir()
    return directory


def test_the_python_client_loads_its_in_cluster_configuration(
    cluster: EmbeddedCluster, keeper: Keeper, account: Path
) -> None:
    said = in_pod(cluster, keeper, account, [sys.executable, "-c", PYTHON])
    assert said.strip() == f"{DRIVERS}main"


def test_client_go_loads_its_in_cluster_configuration(
    cluster: EmbeddedCluster, keeper: Keeper, account: Path, program: Path
) -> None:
    assert in_pod(cluster, keeper, account, [str(program), "-in-cluster"]) == "ok in-cluster\n"
