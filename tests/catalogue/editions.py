"""The catalogue against the edition that the project began with.

``origin.json`` holds a hash of each case of that edition. ``python -m tests.catalogue.editions
FILE`` writes it anew from a catalogue file: once, when the project begins from another edition.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path

from pytest_dra.catalogue import DATA
from pytest_dra.spec import Json

ORIGIN = Path(__file__).with_name("origin.json")
CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
SECTION = "### Changes to the catalogue"

HASH_DIGITS = 16
"""Digits kept of SHA-256: an accident within one file of some hundred cases is out of question."""

_ITEM = re.compile(r"^- ([A-Z]{2,5}-\d{3}(?:, [A-Z]{2,5}-\d{3})*): \S", re.MULTILINE)


def cases_of(path: Path) -> list[Json]:
    """The cases of a catalogue file as they stand there."""
    found: list[Json] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return found


def hash_of(case: Json) -> str:
    """A hash of what a case says, whatever the order of its fields and the white space."""
    text = json.dumps(case, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]


def origin() -> dict[str, str]:
    """Hash by case id, of the edition that the project began with."""
    found: dict[str, str] = json.loads(ORIGIN.read_text(encoding="utf-8"))
    return found


def changed() -> frozenset[str]:
    """Ids of the cases that are new or say something else than in that edition."""
    before = origin()
    return frozenset(
        case["id"] for case in cases_of(DATA) if before.get(case["id"]) != hash_of(case)
    )


def explained(changelog: str) -> frozenset[str]:
    """Ids that a changelog names under "Changes to the catalogue", in any of its releases."""
    sections = changelog.split(SECTION)[1:]
    own = [re.split(r"^#{1,3} ", each, maxsplit=1, flags=re.MULTILINE)[0] for each in sections]
    return frozenset(
        id for text in own for item in _ITEM.finditer(text) for id in item[1].split(", ")
    )


def main(arguments: list[str]) -> int:
    """Write ``origin.json`` from a catalogue file."""
    (source,) = arguments
    hashes = {case["id"]: hash_of(case) for case in cases_of(Path(source))}
    ORIGIN.write_text(json.dumps(hashes, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
