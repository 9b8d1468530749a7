"""Static findings of a run as SARIF, of the form that review tools read."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import jsonschema
import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.objects.findings import Finding
from pytest_dra.objects.findings import Severity
from pytest_dra.report import static
from pytest_dra.report.results import Finding as Said
from pytest_dra.report.results import Option
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.spec import Depth
from pytest_dra.spec import Json
from pytest_dra.spec import Level
from tests.report import hostile
from tests.report.running import MUST_ID
from tests.report.running import result
from tests.report.running import run_of

SCHEMA = json.loads(Path(__file__).with_name("sarif.json").read_text(encoding="utf-8"))
"""The part of SARIF 2.1.0 that is used, closed: what is not in it is not written."""

STATIC = [each for each in catalogue().cases.values() if each.depth is Depth.STATIC]
MUST = next(each.id for each in STATIC if each.level is Level.MUST)
SHOULD = next(each.id for each in STATIC if each.level is Level.SHOULD)


def log(run: RunResult, findings: list[Finding] | None = None) -> Json:
    made: Json = json.loads(static.render(run, findings))
    jsonschema.Draft202012Validator(SCHEMA).validate(made)
    return made


def results(run: RunResult) -> list[Json]:
    found: list[Json] = log(run)["runs"][0]["results"]
    return found


def failed(id_: str, where: str = "device gpu-0") -> RunResult:
    said = Said(where=where, got="a", want="b", source="api: x")
    return run_of(results=(result(id_, State.FAILED, finding=said),))


def test_the_schema_is_one_and_refuses_what_is_no_sarif() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": "2.1.0", "runs": [{}]}, SCHEMA)


def test_failed_static_cases_are_told_and_no_others() -> None:
    states = {MUST: State.FAILED, SHOULD: State.FAILED, MUST_ID: State.FAILED}
    found = results(run_of(states))
    assert sorted((each["ruleId"], each["level"]) for each in found) == sorted(
        [(MUST, "error"), (SHOULD, "warning")]
    )


def test_a_run_without_findings_is_told_as_such() -> None:
    assert results(run_of({})) == []


def place(run: RunResult) -> Json:
    found: Json = results(run)[0]["locations"][0]["physicalLocation"]
    return found


def test_file_and_line_of_a_manifest_are_the_place() -> None:
    run = failed(MUST, "spec.selectors of DeviceClass gpu (deploy/class.yaml:7)")
    assert place(run) == {
        "artifactLocation": {"uri": "deploy/class.yaml"},
        "region": {"startLine": 7},
    }


def test_no_path_of_the_machine_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    below = failed(MUST, f"x ({tmp_path}/deploy/class.yaml:7)")
    assert place(below)["artifactLocation"]["uri"] == "deploy/class.yaml"
    elsewhere = failed(MUST, "x (/home/me/class.yaml:7)")
    assert place(elsewhere)["artifactLocation"]["uri"] == "class.yaml"


def test_what_the_driver_has_sent_is_told_of_its_profile_or_the_report() -> None:
    assert place(failed(MUST)) == {"artifactLocation": {"uri": "report.yaml"}}
    profile = Option(name="--dra-profile", value="dra-profile.yaml", source="ini")
    run = dataclasses.replace(failed(MUST), options=(profile,))
    assert place(run) == {"artifactLocation": {"uri": "dra-profile.yaml"}}


def test_findings_of_a_review_take_the_place_of_the_cases() -> None:
    one = Finding(
        rule=MUST, severity=Severity.ERROR, message="m", file="a.yaml", line=3, object="Pool a"
    )
    (told,) = log(run_of({MUST: State.FAILED}), [one])["runs"][0]["results"]
    assert told["message"]["text"] == "Pool a: m"


def test_hostile_texts_stay_texts() -> None:
    text = json.dumps(log(failed(MUST, hostile.EVIL)))
    assert not hostile.CONTROLS & set(text)


def test_secrets_are_left_out() -> None:
    assert "hush-hush" not in static.render(failed(MUST, "--token=hush-hush"))
