"""The shell steps of the pipeline templates, as each system would run them.

Values that a system fills in (inputs, parameters, variables) are filled in here; what is left over
of its own syntax is an error.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import Final

import yaml

ROOT: Final = Path(__file__).parents[2]
ACTION: Final = ROOT / ".github/actions/judge/action.yaml"
WORKFLOW: Final = ROOT / ".github/workflows/judge.yaml"
TEMPLATES: Final = ROOT / ".ci/templates"
GITLAB: Final = TEMPLATES / "gitlab-ci.yml"
PROW: Final = TEMPLATES / "prow.yaml"
JENKINS: Final = TEMPLATES / "Jenkinsfile"
TEKTON: Final = TEMPLATES / "tekton.yaml"
TEKTON_NIGHTLY: Final = TEMPLATES / "tekton-nightly.yaml"
TEKTON_PULL_REQUEST: Final = TEMPLATES / "tekton-pull-request.yaml"

WIRE: Final = "wire"
KIND: Final = "kind"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job: an argument list, run with these variables in the driver's repository."""

    system: str
    depth: str
    command: tuple[str, ...]
    variables: dict[str, str]

    @property
    def name(self) -> str:
        """For people and tests."""
        return f"{self.system}-{self.depth}"


def jobs(place: Path) -> list[Job]:
    """The jobs of all templates.

    Args:
        place: a folder for what a system has outside of the repository.
    """
    return [*_github(place), *_gitlab(), *_prow(place), *_jenkins(), *_tekton(place)]


def _github(place: Path) -> Iterator[Job]:
    action = _document(ACTION)
    workflow = _document(WORKFLOW)
    for depth, job in workflow["jobs"].items():
        (given,) = [step["with"] for step in job["steps"] if "judge@" in step.get("uses", "")]
        (build,) = [step for step in job["steps"] if step.get("name") == "Build"]
        inputs = {
            **{name: each["default"] for name, each in _inputs(workflow).items()},
            "build": "make plugin",
            "build-image": "make image",
            "image": "registry.example/gpu-driver:latest",
        }
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        yield _step("github-build", depth, build, known)
        asked = {name: each["default"] for name, each in action["inputs"].items()}
        asked |= {name: _filled(str(value), known) for name, value in given.items()}
        known = {f"inputs.{name}": str(value) for name, value in asked.items()}
        known |= {"github.action_path": str(ACTION.parent), "runner.temp": str(place)}
        for step in action["runs"]["steps"]:
            if "run" in step:
                yield _step(f"github-{step['name'].lower()}", depth, step, known)


def _inputs(workflow: Mapping[Any, Any]) -> dict[str, Any]:
    # YAML reads the key `on` as true.
    found: dict[str, Any] = workflow[True]["workflow_call"]["inputs"]
    return found


def _step(system: str, depth: str, step: Mapping[str, Any], known: Mapping[str, str]) -> Job:
    return Job(
        system=system,
        depth=depth,
        command=_bash(step["run"]),
        variables={name: _filled(value, known) for name, value in step["env"].items()},
    )


def _gitlab() -> Iterator[Job]:
    document = _document(GITLAB)
    for depth in (WIRE, KIND):
        job = document[f"dra-{depth}"]
        yield Job(
            system="gitlab",
            depth=depth,
            command=_bash("\n".join(job["script"])),
            variables=document["variables"],
        )


def _prow(place: Path) -> Iterator[Job]:
    document = _document(PROW)
    (presubmits,) = document["presubmits"].values()
    for depth, (job,) in ((WIRE, presubmits), (KIND, document["periodics"])):
        (container,) = job["spec"]["containers"]
        command = [*container["command"], *container["args"]]
        if command[0] == "runner.sh":
            command = command[1:]
        folder = place / "artifacts"
        yield Job(
            system="prow",
            depth=depth,
            command=tuple(command),
            variables={"ARTIFACTS": str(folder)},
        )


def _jenkins() -> Iterator[Job]:
    text = JENKINS.read_text("utf-8")
    environment = dict(re.findall(r"^ +([A-Z_]+) = '([^']*)'$", text, re.MULTILINE))
    for depth in (WIRE, KIND):
        stage = text.partition(f"stage('DRA, {depth}')")[2].partition("stage(")[0]
        steps = re.findall(r"^ +sh '([^']*)'$", stage, re.MULTILINE)
        yield Job(
            system="jenkins", depth=depth, command=_bash("\n".join(steps)), variables=environment
        )


def _tekton(place: Path) -> Iterator[Job]:
    for task in yaml.safe_load_all(TEKTON.read_text("utf-8")):
        spec = task["spec"]
        known = {f"params.{each['name']}": each.get("default", "") for each in spec["params"]}
        known["params.image"] = "registry.example/gpu-driver:latest"
        (step,) = spec["steps"]
        script = place / f"{task['metadata']['name']}.sh"
        script.write_text(_filled(step["script"], known, "$({})"), "utf-8")
        script.chmod(0o755)
        yield Job(
            system="tekton",
            depth=task["metadata"]["name"].removeprefix("dra-"),
            command=(str(script),),
            variables={e["name"]: _filled(e["value"], known, "$({})") for e in step["env"]},
        )


def _bash(script: str) -> tuple[str, ...]:
    return ("bash", "-euo", "pipefail", "-c", script)


def _filled(text: str, known: Mapping[str, str], form: str = "${{{{ {} }}}}") -> str:
    for name, value in known.items():
        text = text.replace(form.format(name), value)
    left = form.format("x").partition("x")[0].strip()
    if left in text:
        raise ValueError(f"{text!r}: a value that nobody gives")
    return text


def _document(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text("utf-8"))
    return found
