"""REFERENCE.md says what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_dra.options import OPTIONS
from pytest_dra.profile import load_profile
from tests.documents.blocks import DOCUMENTS
from tests.documents.blocks import FILE
from tests.documents.blocks import ROOT
from tests.documents.blocks import blocks
from tests.documents.reference import COMMAND
from tests.documents.reference import PAGE
from tests.documents.reference import render

NAMES = {option.name for option in OPTIONS}

WORD = re.compile(r"--dra-[a-z-]*[a-z]")

LINK = re.compile(r"\]\([^)]*\)")

ANY = "--dra-x-y"
"""Stands for each of them."""


def test_the_committed_page_is_the_generated_one() -> None:
    assert PAGE.read_text("utf-8") == render(), f"run {COMMAND}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_names_no_option_that_there_is_not(document: str) -> None:
    text = LINK.sub("]", (ROOT / document).read_text("utf-8"))
    assert set(WORD.findall(text)) - NAMES - {ANY} == set()


def test_the_profile_that_is_shown_whole_is_valid(tmp_path: Path) -> None:
    (shown,) = (
        block for block in blocks("PROFILE.md") if block.directives.get(FILE) == "dra-profile.yaml"
    )
    file = tmp_path / "dra-profile.yaml"
    file.write_text(shown.text, "utf-8")
    assert load_profile(file).driver.name == "gpu.example.com"
