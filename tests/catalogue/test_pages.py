"""CASES.md says what catalogue and suite say."""

from __future__ import annotations

import json

from pytest_dra.cases import locked
from pytest_dra.catalogue import DATA
from pytest_dra.catalogue import catalogue
from pytest_dra.catalogue import read_catalogue
from tests.catalogue.pages import COMMAND
from tests.catalogue.pages import PAGE
from tests.catalogue.pages import render


def test_the_committed_page_is_in_step_with_catalogue_and_suite() -> None:
    wanted = render(catalogue(), locked())
    there = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    assert there == wanted, f"CASES.md is out of step: run `{COMMAND}` and commit the file"


def test_each_case_stands_once_as_one_that_the_suite_has_or_as_planned() -> None:
    lines = render(catalogue(), locked()).splitlines()
    for id in catalogue().cases:
        rows = [line for line in lines if line.startswith(f"| {id} |")]
        items = [line for line in lines if line.startswith(f"- {id} ")]
        assert (len(rows), len(items)) == ((1, 0) if id in locked() else (0, 1)), id


def test_a_row_tells_what_a_reader_needs_to_judge_the_case() -> None:
    lines = render(catalogue(), locked()).splitlines()
    (row,) = (line for line in lines if line.startswith("| PREP-004 |"))
    case = catalogue().case("PREP-004")
    cells = [cell.strip() for cell in row.strip("|").split(" | ")]
    assert cells[:4] == ["PREP-004", "MUST", case.title, case.breaks]
    assert cells[4].split(": ")[0] == case.sources[0].kind
    assert case.sources[0].ref.partition(" (contract ")[0] in cells[4]
    assert cells[5:] == ["PREP-023", "1.34", "CDIInjection"]


def test_signs_of_markdown_in_the_data_do_not_break_the_table() -> None:
    changed = json.loads(DATA.read_text(encoding="utf-8"))
    changed["cases"][0] |= {"breaks": "a | b\nand <c>", "until": "1.36", "unless": ["Hotplug"]}
    page = render(read_catalogue(json.dumps(changed).encode()), frozenset({"REG-001"}))
    (row,) = (line for line in page.splitlines() if line.startswith("| REG-001 |"))
    assert "| a \\| b and &lt;c> |" in row
    assert row.endswith("| 1.34 to 1.36 | not Hotplug |")


def test_a_retired_case_is_listed_with_its_reason() -> None:
    changed = json.loads(DATA.read_text(encoding="utf-8"))
    changed["cases"][0] |= {
        "level": "retired",
        "level_before": "MUST",
        "level_reason": "the kubelet changed",
    }
    page = render(read_catalogue(json.dumps(changed).encode()), frozenset())
    assert page.rstrip().splitlines()[-1] == (
        f"- REG-001 (was MUST): {changed['cases'][0]['title']}. the kubelet changed"
    )
