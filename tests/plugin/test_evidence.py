"""What is kept of a case beside the report gives no credentials away."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from pytest_dra import evidence
from pytest_dra.outcome import Outcome
from pytest_dra.report.results import State
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry
from pytest_dra.timeline import ProcessEvent
from tests.report.running import MUST_ID
from tests.report.running import result

TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl"
PLANTED = (
    TOKEN,
    "hush-hush",
    "correct horse",
    "c2VjcmV0IQ==",
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
    "ghp_" + "x" * 36,
)
"""None of these may be left."""

REQUEST = ApiRequest(
    identity="driver",
    verb="create",
    group="",
    version="v1",
    resource="secrets",
    namespace="default",
    name="a",
    subresource="",
    query=f"token={TOKEN}",
    user_agent="x",
    body={
        "kind": "Secret",
        "data": {"anything": "c2VjcmV0IQ=="},
        "metadata": {"annotations": {"dbPassword": "correct horse"}},
    },
    code=201,
    answer={"kind": "TokenRequest", "status": {"token": TOKEN}},
    duration_s=0.1,
)


def kept(tmp_path: Path, *, log: str = "") -> dict[str, str]:
    """The files of a failed case by name."""
    events = (
        REQUEST,
        ProcessEvent(
            instance="a", component="plugin", action="start", pid=1, detail="--token hush-hush -v"
        ),
    )
    outcome = Outcome(
        result(MUST_ID, State.FAILED),
        traffic=tuple(Entry(serial, 1.0, False, each) for serial, each in enumerate(events)),
        log=log,
    )
    evidence.keep(tmp_path, outcome, when="on-failure")
    folder = tmp_path / "cases" / MUST_ID
    return {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir()}


def test_planted_secrets_are_in_no_file(tmp_path: Path) -> None:
    key = f"-----BEGIN PRIVATE KEY-----\n{PLANTED[4]}\n-----END PRIVATE KEY-----"
    log = f"Authorization: Bearer {TOKEN}\npassword=hush-hush\n{key}\n{PLANTED[5]}\nready\n"
    files = kept(tmp_path, log=log)
    assert sorted(files) == ["driver.log", "timeline.jsonl"]
    for name, text in files.items():
        assert [each for each in PLANTED if each in text] == [], name
    assert files["driver.log"].endswith("\nready\n")


def test_the_traffic_stays_readable(tmp_path: Path) -> None:
    lines = kept(tmp_path)["timeline.jsonl"].splitlines()
    first = json.loads(lines[0])
    assert (first["verb"], first["resource"], first["code"]) == ("create", "secrets", 201)
    assert first["body"]["kind"] == "Secret"


def test_a_log_moves_no_terminal(tmp_path: Path) -> None:
    assert "\x1b" not in kept(tmp_path, log="\x1b]0;owned\x07\x1b[2J")["driver.log"]


def test_nothing_is_kept_of_what_passed(tmp_path: Path) -> None:
    outcome = dataclasses.replace(Outcome(result(MUST_ID)), log="ready")
    evidence.keep(tmp_path, outcome, when="on-failure")
    assert list(tmp_path.iterdir()) == []
