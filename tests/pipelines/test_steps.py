"""Each shell step of each template does its work in a vendor's repository."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import pytest_dra
from pytest_dra.api.releases import LATEST
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


@pytest.mark.parametrize(
    ("file", "name"), [(steps.TEKTON_NIGHTLY, "dra-kind"), (steps.TEKTON_PULL_REQUEST, "dra-wire")]
)
def test_a_trigger_of_tekton_starts_a_task_with_what_it_needs(file: Path, name: str) -> None:
    tasks = {each["metadata"]["name"]: each["spec"] for each in documents(steps.TEKTON)}
    found = {each["kind"]: each for each in documents(file)}
    template, listener = found["TriggerTemplate"]["spec"], found["EventListener"]["spec"]
    (run,) = template["resourcetemplates"]
    judge = next(each for each in run["spec"]["pipelineSpec"]["tasks"] if each["name"] == "judge")
    assert judge["taskRef"]["name"] == name
    wanted = {each["name"] for each in tasks[name]["params"] if "default" not in each}
    assert {each["name"] for each in judge.get("params", ())} == wanted
    assert [each["name"] for each in judge["workspaces"]] == ["source"]
    (trigger,) = listener["triggers"]
    assert trigger["template"] == {"ref": found["TriggerTemplate"]["metadata"]["name"]}
    given = found["TriggerBinding"]["spec"]["params"] if "TriggerBinding" in found else []
    for each in trigger["bindings"]:
        if "ref" in each:
            assert each == {"ref": found["TriggerBinding"]["metadata"]["name"]}
        else:
            given = [*given, each]
    assert [each["name"] for each in given] == [each["name"] for each in template["params"]]
    account = listener["serviceAccountName"]
    assert account == found["ServiceAccount"]["metadata"]["name"]
    for kind in ("RoleBinding", "ClusterRoleBinding"):
        assert [each["name"] for each in found[kind]["subjects"]] == [account]


def test_the_nightly_job_of_tekton_knocks_at_its_listener() -> None:
    found = {each["kind"]: each for each in documents(steps.TEKTON_NIGHTLY)}
    pod = found["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    address = pod["containers"][0]["args"][-1]
    assert address == f"http://el-{found['EventListener']['metadata']['name']}:8080"


def test_a_pull_request_starts_nothing_of_tekton_unsigned_or_from_a_fork() -> None:
    """What ``tests/pipelines/knock`` tries with Tekton's own code, where that is built."""
    (listener,) = (
        each for each in documents(steps.TEKTON_PULL_REQUEST) if each["kind"] == "EventListener"
    )
    (trigger,) = listener["spec"]["triggers"]
    signature, commits = trigger["interceptors"]
    assert signature["ref"] == {"name": "github"}
    assert {each["name"]: each["value"] for each in signature["params"]} == {
        "secretRef": {"secretName": "dra-webhook", "secretKey": "token"},
        "eventTypes": ["pull_request"],
    }
    assert commits["ref"] == {"name": "cel"}
    (condition,) = commits["params"]
    assert condition["name"] == "filter"
    assert condition["value"].split(" && ") == [
        "body.action in ['opened', 'reopened', 'synchronize']",
        "body.pull_request.head.repo.full_name == body.repository.full_name",
    ]


def documents(file: Path) -> list[Any]:
    return list(yaml.safe_load_all(file.read_text("utf-8")))


def test_the_image_for_kind_has_the_versions_of_the_templates_and_of_the_newest_release() -> None:
    text = (steps.ROOT / "Dockerfile").read_text("utf-8")
    (kind,) = re.findall(r"^ARG KIND=(v[0-9.]+)$", text, re.MULTILINE)
    assert f"sigs.k8s.io/kind@{kind}" in steps.PROW.read_text("utf-8")
    (kubectl,) = re.findall(
        r"^ARG KUBECTL=registry\.k8s\.io/kubectl:v([0-9.]+)$", text, re.MULTILINE
    )
    assert kubectl.startswith(f"{LATEST}.")


def test_templates_name_this_version() -> None:
    version = pytest_dra.__version__
    assert steps.WORKFLOW.read_text("utf-8").count(f"/judge@v{version}") == len((WIRE, KIND))
    for template in (steps.GITLAB, steps.PROW, steps.JENKINS, steps.TEKTON):
        assert f"registry.example/pytest-dra:{version}" in template.read_text("utf-8")
