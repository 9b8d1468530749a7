"""No case changes silently, and no id is ever lost."""

from __future__ import annotations

from pytest_dra.catalogue import DATA
from tests.catalogue.editions import CHANGELOG
from tests.catalogue.editions import SECTION
from tests.catalogue.editions import cases_of
from tests.catalogue.editions import changed
from tests.catalogue.editions import explained
from tests.catalogue.editions import hash_of
from tests.catalogue.editions import origin


def test_each_changed_case_is_listed_with_its_reason_in_the_changelog() -> None:
    silent = changed() - explained(CHANGELOG.read_text(encoding="utf-8"))
    assert not silent, (
        f"the catalogue says something new about {', '.join(sorted(silent))}: "
        f"add a line '- ID: what and why' under '{SECTION}' in CHANGELOG.md"
    )


def test_the_changelog_lists_no_case_that_is_as_it_was() -> None:
    assert explained(CHANGELOG.read_text(encoding="utf-8")) - changed() == frozenset()


def test_no_id_of_the_first_edition_is_lost() -> None:
    assert set(origin()) - {case["id"] for case in cases_of(DATA)} == set()


def test_the_hash_follows_what_a_case_says_and_not_how_it_is_written() -> None:
    case = cases_of(DATA)[0]
    assert hash_of(dict(reversed(case.items()))) == hash_of(case)
    assert hash_of(case | {"title": "another title"}) != hash_of(case)


def test_only_items_of_the_right_section_count_as_an_explanation() -> None:
    text = (
        f"## 0.2.0\n- REG-001: not here\n{SECTION}\n\n- REG-002, REG-003: a reason that\n"
        f"  names REG-004.\n- REG-005\n## 0.1.0\n- REG-006: no\n{SECTION}\n- REG-007: yes\n"
    )
    assert explained(text) == {"REG-002", "REG-003", "REG-007"}
