"""Other reporters run beside ours and agree with it; each is skipped where it is not installed.

``tox -e beside`` installs them.
"""

from __future__ import annotations

import importlib.util
import json

import pytest

from tests.plugin.conftest import Runs

IDS = "--dra-case=PREP-001,PREP-006,REG-005"


def needs(module: str) -> pytest.MarkDecorator:
    """Skips a test where a reporter is not installed."""
    absent = importlib.util.find_spec(module) is None
    return pytest.mark.skipif(absent, reason=f"{module} is not installed (tox -e beside)")


@pytest.fixture(autouse=True)
def script(runs: Runs) -> None:
    runs.script(PREP_006="failed", REG_005="waived")


def wanted(runs: Runs) -> None:
    """Our own report is as it is without them."""
    states = runs.states()
    found = [states[each] for each in ("PREP-001", "PREP-006", "REG-005")]
    assert found == ["passed", "failed", "waived"]
    assert (runs.folder / "dra-results" / "report.html").is_file()


@needs("pytest_html")
def test_pytest_html(runs: Runs) -> None:
    runs.executed(
        "-p",
        "tests.plugin.scripted",
        "--dra-driver=fake",
        IDS,
        "--html=other.html",
        "--self-contained-html",
    )
    text = (runs.folder / "other.html").read_text("utf-8")
    assert "test_prep_006" in text
    assert "<&>" not in text
    wanted(runs)


@needs("allure_pytest")
def test_allure_pytest(runs: Runs) -> None:
    runs.executed("-p", "tests.plugin.scripted", "--dra-driver=fake", IDS, "--alluredir=other")
    found = [
        json.loads(each.read_text("utf-8"))
        for each in (runs.folder / "other").glob("*-result.json")
    ]
    assert sorted(each["status"] for each in found) == ["failed", "passed", "skipped"]
    wanted(runs)


@needs("ctrf")
def test_pytest_json_ctrf(runs: Runs) -> None:
    runs.executed("-p", "tests.plugin.scripted", "--dra-driver=fake", IDS, "--ctrf=other.json")
    found = json.loads((runs.folder / "other.json").read_text("utf-8"))["results"]["summary"]
    assert [found[each] for each in ("passed", "failed", "skipped")] == [1, 1, 1]
    wanted(runs)
