"""Whatever the documents say to be done is done here, and what they show is what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents import blocks as parts
from tests.documents.blocks import DOCUMENTS
from tests.documents.blocks import blocks
from tests.documents.dialogue import Dialogue

OPEN = (parts.FILE, parts.FROM, parts.SHOWN)
"""One of them stands above whatever is no dialogue."""


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if blocks(each)])
def test_a_document_does_what_it_says(document: str, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    dialogue = Dialogue(folder, tmp_path / "programs")
    for block in blocks(document):
        problem = dialogue.carry_out(block)
        assert not problem, problem


def test_each_block_is_a_dialogue_or_says_what_it_is() -> None:
    every = [block for document in DOCUMENTS for block in blocks(document)]
    unknown = [
        block.place
        for block in every
        if block.language != parts.CONSOLE and not set(OPEN) & set(block.directives)
    ]
    assert unknown == []
    empty = [
        block.place
        for block in every
        if block.language == parts.CONSOLE and not parts.commands(block)
    ]
    assert empty == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_code_is_hidden_from_the_tests_by_being_indented(document: str) -> None:
    before, found = "", []
    inside = False
    for number, line in enumerate((parts.ROOT / document).read_text("utf-8").splitlines(), 1):
        inside ^= line.startswith(parts.FENCE)
        if not inside and line.startswith("    ") and not before.strip():
            found.append(f"{document}:{number}: {line.strip()}")
        before = line
    assert found == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_between_documents_lead_somewhere(document: str) -> None:
    broken = [
        f"{document}: {link}"
        for link in parts.links(document)
        if not parts.leads_somewhere(link, document)
    ]
    assert broken == []
