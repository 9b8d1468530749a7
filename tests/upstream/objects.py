"""The judgement of objects against kube-apiserver's recorded answers to their creation.

    python -m tests.upstream.objects --recordings DIR --scripts DIR

Each POST of the oracle's scripts is an object; what our static judgement refuses of it must be
what the real server of that version refused: the same fields with the same reasons. Prints what
differs, and ends with ``N agree, M differ``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import Final

import yaml

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.embedded.served import VERSIONS
from pytest_dra.embedded.served import serving
from pytest_dra.objects.reading import parse
from pytest_dra.objects.refusing import Server
from pytest_dra.spec import Json
from tests.upstream.apiserver import PROFILES
from tests.upstream.apiserver import recording
from tests.upstream.apiserver_script import evaluate
from tests.upstream.apiserver_script import steps

SCRIPTS: Final = ("slices-validation", "slices-devices", "claims-validation", "cel", "taintrules")
"""Scripts that create objects of all kinds, right ones and wrong ones."""

_PLACES: Final = ("slices", "classes", "claims", "templates", "rules")
_ALPHA: Final = "-alpha"
_ACCEPTED: Final = 201
_REFUSED: Final = 422
_NO_SUCH_SHAPE: Final = 400
_WRONG_TYPE: Final = ("", "FieldValueTypeInvalid")
"""What stands for an object that has not the shape of its kind; no server says where."""

Causes = set[tuple[str, str]]
"""(field, reason) of each cause."""


def created(script: Json) -> Iterator[tuple[str, Json]]:
    """(step, object) of each creation."""
    given = {"i": 0, **(script.get("vars") or {})}
    known: Json = {key: evaluate(part, given, {}) for key, part in given.items()}
    for step in steps(script):
        if step.get("POST") in _PLACES and isinstance(step.get("body"), dict):
            body = evaluate(step["body"], known, script.get("defs") or {})
            if isinstance(body, dict) and body.get("kind"):
                yield step["id"], body


def causes_of(answer: Json) -> Causes | None:
    """What the real server said; None where it is no word about the object."""
    if answer["code"] == _ACCEPTED:
        return set()
    if answer["code"] == _NO_SUCH_SHAPE:
        return {_WRONG_TYPE}
    if answer["code"] != _REFUSED:
        return None
    causes = (answer["body"].get("details") or {}).get("causes") or []
    return {(cause.get("field", ""), cause.get("reason", "")) for cause in causes}


def compare(profile: str, script: Json, golden: dict[str, Json]) -> tuple[int, list[str]]:
    """How many objects are judged alike, and a line for each other one."""
    version = kubernetes_version(profile.removesuffix(_ALPHA))
    if profile.endswith(_ALPHA):
        version = serving(version.with_gates(dict.fromkeys(version.gates, True)), VERSIONS)
    # a namespace that is not captured is taken to be right; those of the scripts have no labels
    server = Server(version, {"default": {}})
    agree, differ = 0, []
    for id_, body in created(script):
        want = causes_of(golden[id_]) if id_ in golden else None
        if want is None:
            continue
        (given,) = parse(json.dumps(body).encode(), id_)
        judged = server.judge(given)
        got = {(cause.field, cause.reason) for cause in judged.refused} if judged else set()
        if judged is not None and judged.sent is None:
            got = {_WRONG_TYPE}
        if got == want:
            agree += 1
        else:
            differ.append(f"{profile} {id_}: want {sorted(want - got)}, got {sorted(got - want)}")
    return agree, differ


def run(recordings: Path, scripts: Path) -> tuple[int, list[str]]:
    """All scripts on all profiles."""
    total, differ = 0, []
    for name in SCRIPTS:
        script: Any = yaml.safe_load((scripts / f"{name}.yaml").read_text("utf-8"))
        for profile in PROFILES:
            agree, found = compare(profile, script, recording(recordings, profile, name))
            total += agree
            differ += [f"{name} {line}" for line in found]
    return total, differ


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", "--recorded", type=Path, required=True)
    parser.add_argument("--scripts", type=Path, required=True)
    arguments = parser.parse_args()
    agree, differ = run(arguments.recordings, arguments.scripts)
    for line in differ:
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"{agree} agree, {len(differ)} differ\n")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
