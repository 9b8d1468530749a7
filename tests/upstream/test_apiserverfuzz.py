"""The fuzz of request sequences, as far as it goes without a real kube-apiserver."""

from __future__ import annotations

import json

import yaml
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings

from pytest_dra.spec import Json
from tests.upstream.apiserver import play
from tests.upstream.apiserver_record import without_messages
from tests.upstream.apiservercore import KINDS
from tests.upstream.apiserverfuzz import as_script
from tests.upstream.apiservergrammar import sequences
from tests.upstream.apiservershrink import shrunk


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(sequences(tuple(KINDS), betas=True))
def test_a_drawn_sequence_can_be_written_down_as_a_script(script: Json) -> None:
    read = yaml.safe_load(as_script(script))
    assert read["steps"] == json.loads(json.dumps(script["steps"]))


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(sequences(("claims", "leases"), betas=False))
def test_a_drawn_sequence_is_answered_without_a_failure_of_the_servers_own(script: Json) -> None:
    for line in play("1.37", script):
        body = line.get("body")
        assert not (isinstance(body, dict) and body.get("reason") == "InternalError"), line


def test_a_sequence_is_made_small() -> None:
    steps = [{"id": f"s{number}", "GET": "x", "query": {"a": "1", "b": "2"}} for number in range(5)]
    script: Json = {"steps": steps}

    def shows(less: Json) -> bool:
        ids = [step["id"] for step in less["steps"]]
        return "s1" in ids and "s3" in ids and "b" in less["steps"][0]["query"]

    small = shrunk(script, "s3", shows)
    assert [step["id"] for step in small["steps"]] == ["s1", "s3"]
    assert small["steps"][0]["query"] == {"b": "2"}
    assert small["steps"][1]["query"] == {}


def test_recordings_hold_no_texts_of_messages() -> None:
    event = {"kind": "Event", "message": "kept"}
    failure = {
        "kind": "Status",
        "message": "x",
        "details": {"causes": [{"message": "y", "reason": "z"}]},
    }
    assert without_messages(event) == {"kind": "Event", "message": "kept"}
    assert without_messages(failure) == {"kind": "Status", "details": {"causes": [{"reason": "z"}]}}
