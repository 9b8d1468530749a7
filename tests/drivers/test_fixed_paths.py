"""Drivers with fixed paths that run without the jail: what they make on the host is named."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drivers.judging import GOOD
from tests.drivers.judging import judge

SHORT = {"budgets": {"start": 8, "publish": 8}}

CDI = "/var/run/cdi"
REGISTRY = "/var/lib/kubelet/plugins_registry"


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A directory of the host, afterwards as it was before."""
    path = Path(request.param).resolve()
    missing = [each for each in (path, *path.parents) if not each.exists()]
    standing = missing[-1].parent if missing else path
    if not os.access(standing, os.W_OK):
        pytest.skip(f"{standing} cannot be written")
    path.mkdir(parents=True, exist_ok=True)
    before = set(path.iterdir())
    try:
        yield path
    finally:
        for each in set(path.iterdir()) - before:
            each.unlink()
        if missing:
            shutil.rmtree(missing[-1])


def fixed(variable: str, path: Path) -> str:
    """The good driver, which has one of its paths built in."""
    return f"exec:env {variable}={path} {sys.executable} -m {GOOD}"


@pytest.mark.parametrize("place", [CDI], indirect=True)
def test_a_spec_in_the_hosts_directory_is_named_with_the_case(place: Path) -> None:
    judged = judge(fixed("CDI_ROOT", place), cases="PREP-023,CDI-002,UNP-004,SEC-010")
    assert judged.ids("failed") == {"CDI-002", "SEC-010"}
    assert f"made outside its directories: {place}/" in judged.got("SEC-010")
    assert "placeholders" not in judged.got("SEC-010")
    assert re.search(r"\((PREP-023|CDI-002|UNP-004)\)", judged.got("SEC-010"))
    assert f"the driver has made {place}/" in judged.got("CDI-002")
    assert judged.left == ()


@pytest.mark.parametrize("place", [REGISTRY], indirect=True)
def test_a_driver_that_registers_with_the_hosts_kubelet_is_told_so(place: Path) -> None:
    driver = fixed("KUBELET_REGISTRAR_DIRECTORY_PATH", place)
    judged = judge(driver, cases="REG-001,PREP-023,SEC-010", profile=SHORT)
    assert judged.ids("failed") == {"REG-001", "SEC-010"}
    for id in ("REG-001", "SEC-010"):
        assert f"{place}/" in judged.got(id)
        assert "placeholders" in judged.got(id) + judged.cases[id]["want"]
    assert judged.reason("PREP-023") == "blocked by REG-001"
