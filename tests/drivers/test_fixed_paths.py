"""Drivers with fixed paths that run without the jail: what they make on the host is named."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.drivers.judging import GOOD
from tests.drivers.judging import judge

SHORT = {"budgets": {"start": 8, "publish": 8}}

CDI = "/run/cdi"
REGISTRY = "/var/lib/kubelet/plugins_registry"

UNSHARE_S = 20.0
"""Longest start of a program in a mount namespace, on a busy machine."""

COVER = (
    'for top in /run /var/lib; do mount -t tmpfs none $top || exit; done; mkdir -p "$0"; exec "$@"'
)


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Path:
    """A directory of the host, as nobody else sees it: others judge drivers at the same time."""
    done = subprocess.run(
        [*apart(request.param), "true"], capture_output=True, timeout=UNSHARE_S, check=False
    )
    if done.returncode:
        pytest.skip("no mount namespace of our own can be made here")
    return Path(request.param)


def apart(place: str) -> tuple[str, ...]:
    """Words before a command, for which the directory is there and empty, and for nobody else."""
    return ("unshare", "--mount", "--propagation=private", "sh", "-c", COVER, place)


def fixed(variable: str, path: Path) -> str:
    """The good driver, which has one of its paths built in."""
    return f"exec:env {variable}={path} {sys.executable} -m {GOOD}"


@pytest.mark.parametrize("place", [CDI], indirect=True)
def test_a_spec_in_the_hosts_directory_is_named_with_the_case(place: Path) -> None:
    judged = judge(
        fixed("CDI_ROOT", place), cases="PREP-023,CDI-002,UNP-004,SEC-010", within=apart(str(place))
    )
    assert judged.ids("failed") == {"CDI-002", "SEC-010"}
    assert f"made outside its directories: {place}/" in judged.got("SEC-010")
    assert "placeholders" not in judged.got("SEC-010")
    assert re.search(r"\((PREP-023|CDI-002|UNP-004)\)", judged.got("SEC-010"))
    assert f"the driver has made {place}/" in judged.got("CDI-002")
    assert judged.left == ()


@pytest.mark.parametrize("place", [REGISTRY], indirect=True)
def test_a_driver_that_registers_with_the_hosts_kubelet_is_told_so(place: Path) -> None:
    driver = fixed("KUBELET_REGISTRAR_DIRECTORY_PATH", place)
    judged = judge(
        driver, cases="REG-001,PREP-023,SEC-010", profile=SHORT, within=apart(str(place))
    )
    assert judged.ids("failed") == {"REG-001", "SEC-010"}
    for id in ("REG-001", "SEC-010"):
        assert f"{place}/" in judged.got(id)
        assert "placeholders" in judged.got(id) + judged.cases[id]["want"]
    assert judged.reason("PREP-023") == "blocked by REG-001"
