"""A run is told by its process, and whether that has ended."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import pytest

from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.owner import State

PRINT = "from pytest_dra.clusters.owner import Owner; print(Owner.here().written())"


def test_this_process_is_alive_whichever_way_it_is_written() -> None:
    here = Owner.here()
    assert here.pid == os.getpid()
    assert here.state() is State.ALIVE
    assert Owner.read(here.written()) == here
    assert Owner.from_label(here.label()) == here
    assert "," not in here.label()


def test_one_that_is_gone_has_ended() -> None:
    run = subprocess.run([sys.executable, "-c", PRINT], stdout=subprocess.PIPE, check=True)
    owner = Owner.read(run.stdout.decode())
    assert owner is not None
    assert owner.state() is State.ENDED


def test_another_process_of_the_same_number_is_not_it() -> None:
    assert dataclasses.replace(Owner.here(), start="1").state() is State.ENDED


def test_what_is_elsewhere_cannot_be_seen() -> None:
    here = Owner.here()
    assert dataclasses.replace(here, boot="other").state() is State.ELSEWHERE
    assert dataclasses.replace(here, space="other").state() is State.ELSEWHERE


def test_what_was_on_this_machine_has_not_outlived_its_boot() -> None:
    before = dataclasses.replace(Owner.here(), boot="before")
    assert before.state(local=True) is State.ENDED


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"pid": "x"}', "nothing"])
def test_other_texts_are_nobody(text: str) -> None:
    assert Owner.read(text) is None
    assert Owner.from_label(text) is None
