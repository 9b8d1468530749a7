"""The parser without libyaml answers like the one with it."""

from __future__ import annotations

import json

import pytest
import yaml

from pytest_dra import cdi
from pytest_dra.cdi import document
from tests.cdi.conftest import Write
from tests.cdi.conftest import spec
from tests.upstream.cdi import compare
from tests.upstream.test_cdi import LINES


@pytest.fixture(params=["CSafeLoader", "slow"])
def _parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "slow":
        monkeypatch.setattr(document, "_LOADER", document._SlowLoader)
    elif not hasattr(yaml, request.param):
        pytest.skip("PyYAML was built without libyaml")


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize("indent", [None, 1, "\t"])
def test_json_is_read_however_it_is_indented(write: Write, indent: int | str | None) -> None:
    text = json.dumps(spec(), indent=indent)

    assert cdi.load([write(text)]).files[0].errors == ()


@pytest.mark.usefixtures("_parser")
def test_recorded_texts_are_judged_alike() -> None:
    lines = [line for line in LINES if line["id"].startswith("text/")]

    assert lines
    assert [found for line in lines for found in compare(line)] == []
