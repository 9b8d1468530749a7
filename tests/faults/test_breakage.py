"""What was seen on a node of drivers that leave a SHOULD out, and what was decided from it."""

from __future__ import annotations

import json

from pytest_dra.catalogue import catalogue
from tests.faults.breakage import FAULTY
from tests.faults.breakage import FILE
from tests.faults.breakage import GOOD
from tests.faults.breakage import STORIES

KNOWN = json.loads(FILE.read_text("utf-8"))


def test_each_decision_is_followed_by_the_catalogue() -> None:
    assert set(KNOWN) <= set(STORIES)
    for case, entry in KNOWN.items():
        assert entry["decision"]["level"] == catalogue().case(case).level.value
        assert entry["decision"]["reason"]


def test_what_was_seen_is_of_both_drivers_and_without_a_problem() -> None:
    for entry in KNOWN.values():
        assert not [name for name in (GOOD, FAULTY) if "problem" in entry[name]]
