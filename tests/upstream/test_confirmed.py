"""The document of what is confirmed says what the data say."""

from __future__ import annotations

import json

from pytest_dra.spec import Json
from tests.upstream.apiserver import KNOWN
from tests.upstream.confirmed import DATA
from tests.upstream.confirmed import DOCUMENT
from tests.upstream.confirmed import MORE
from tests.upstream.confirmed import document


def test_the_document_is_what_the_command_makes_of_the_data() -> None:
    data: Json = json.loads(DATA.read_text("utf-8"))
    known: Json = json.loads(KNOWN.read_text("utf-8"))
    assert DOCUMENT.read_text("utf-8") == document(data, known)


def test_nothing_differs_for_an_unknown_reason_in_the_replay_that_was_written_down() -> None:
    data: Json = json.loads(DATA.read_text("utf-8"))
    rows = [row for scripts in data["replay"].values() for row in scripts.values()]
    assert rows
    assert all(differ == 0 for _, _, differ in rows)


def test_scripts_of_our_own_are_in_the_document() -> None:
    data: Json = json.loads(DATA.read_text("utf-8"))
    assert {path.stem for path in (MORE / "scripts").glob("*.yaml")} <= set(data["scripts"])
