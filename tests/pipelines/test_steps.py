"""Each shell step of each template does its work in a vendor's repository."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import yaml

import pytest_dra
from tests.pipelines import steps
from tests.pipelines.repository import Repository
from tests.pipelines.steps import KIND
from tests.pipelines.steps import WIRE

QUICK = {"PYTEST_DRA_CASE": "REG-001,REG-002", "PYTEST_DRA_REQUIRE": "partial"}

TRIED = {WIRE: QUICK, KIND: {"PYTEST_DRA_DRY_RUN": "true"}}
"""Nothing else is different from a real run."""


def names() -> list[str]:
    with tempfile.TemporaryDirectory() as place:
        return [job.name for job in steps.jobs(Path(place))]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    folder = tmp_path / "repository"
    folder.mkdir()
    return Repository(folder, tmp_path / "programs")


@pytest.mark.parametrize("system", ["github", "gitlab", "prow", "jenkins", "tekton"])
@pytest.mark.parametrize("depth", [WIRE, KIND])
def test_a_pipeline_judges_the_driver(
    system: str, depth: str, repository: Repository, tmp_path: Path
) -> None:
    done = [
        repository.run(job, **TRIED[depth])
        for job in steps.jobs(tmp_path)
        if job.system.partition("-")[0] == system and job.depth == depth
    ]
    for each in done:
        assert each.returncode == 0, each.stdout
    output = "".join(each.stdout for each in done)
    if depth == KIND:
        assert "make image" in output
        assert "kind cluster pytest-dra-RUN, and on it:" in output
        assert "DaemonSet dra-fake-driver/dra-fake-driver" in output
        return
    assert "make plugin" in output
    (report,) = tmp_path.rglob("report.yaml")
    assert report.with_name("junit.xml").is_file()
    assert yaml.safe_load(report.read_text("utf-8"))["verdict"] == "partial"


def test_every_system_has_both_depths() -> None:
    found = {name.split("-")[0] for name in names()}
    for depth in (WIRE, KIND):
        assert {name.split("-")[0] for name in names() if name.endswith(depth)} == found
    assert found == {"github", "gitlab", "prow", "jenkins", "tekton"}


def test_templates_name_this_version() -> None:
    version = pytest_dra.__version__
    assert steps.WORKFLOW.read_text("utf-8").count(f"/judge@v{version}") == len((WIRE, KIND))
    for template in (steps.GITLAB, steps.PROW, steps.JENKINS, steps.TEKTON):
        assert f"registry.example/pytest-dra:{version}" in template.read_text("utf-8")
