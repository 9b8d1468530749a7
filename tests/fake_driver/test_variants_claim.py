"""Legal variants of how claims are served do what the catalogue says of them."""

from __future__ import annotations

import json
import time
from pathlib import Path

from pytest_dra.fake_driver import variants_claim
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.rig import running


def asks_for(rig: Rig, claim: Claim, *requests: str) -> Claim:
    devices = {"requests": [{"name": name} for name in requests]}
    rig.stored(claim)["spec"] = {"devices": devices}
    return claim


def test_v05_names_no_request_where_there_is_one() -> None:
    with running(variant="V05") as rig:
        one = asks_for(rig, rig.claim(result("gpu-0", "a")), "a")
        assert [list(each.request_names) for each in rig.prepare(one).devices] == [[]]
        two = asks_for(rig, rig.claim(result("gpu-1", "a"), result("gpu-2", "b")), "a", "b")
        assert [list(each.request_names) for each in rig.prepare(two).devices] == [["a"], ["b"]]


def tombstones(rig: Rig) -> Path:
    return rig.options.data_dir / variants_claim.TOMBSTONES


def test_v13_remembers_the_released() -> None:
    with running(variant="V13") as rig:
        claim = rig.claim(result("gpu-0"))
        for changes in (2, 4):
            assert rig.prepare(claim).error == ""
            assert json.loads(tombstones(rig).read_text())["tombstones"] == {}
            assert rig.unprepare(claim) == ""
            told = json.loads(tombstones(rig).read_text())
            assert (told["changes"], list(told["tombstones"])) == (changes, [claim.uid])
        assert rig.residue(claim) == []


def test_v13_survives_damage_of_what_it_remembers() -> None:
    with running(variant="V13") as rig:
        tombstones(rig).write_text("damaged")
        claim = rig.claim(result("gpu-0"))
        assert rig.prepare(claim).error == ""
        assert json.loads(tombstones(rig).read_text())["changes"] == 1


def test_v16_releases_what_no_claim_can_be() -> None:
    nothing = Claim(namespace="", name="", uid="")
    with running(variant="V16") as rig:
        assert rig.unprepare(nothing) == ""
    with running() as rig:
        assert rig.unprepare(nothing) != ""


def test_v18_answers_before_the_device_is_set_up() -> None:
    with running(variant="V18") as rig:
        claim = rig.claim(result("gpu-0"))
        began = time.monotonic()
        entry = rig.prepare(claim)
        assert (entry.error, [list(each.cdi_device_ids) for each in entry.devices]) == ("", [[]])
        assert rig.unprepare(claim) == ""
        assert time.monotonic() - began >= variants_claim.SETTING_UP_S
        assert rig.texts() == {}


def test_v23_gives_all_devices_or_none() -> None:
    with running(variant="V23-ALL", devices=2) as rig:
        refused = rig.prepare(rig.claim(result("gpu-0")))
        assert "1 are missing" in refused.error
        assert rig.prepare(rig.claim(result("gpu-0"), result("gpu-1"))).error == ""


def test_v23_serves_one_claim_of_a_pod() -> None:
    with running(variant="V23-ONE") as rig:
        one, other = rig.claim(result("gpu-0")), rig.claim(result("gpu-1"))
        both = rig.dra("prepare", (one, other))
        assert all("want 1" in both[claim.uid].error for claim in (one, other))
        assert rig.prepare(one).error == ""
        assert rig.prepare(other).error == ""
        assert [each.pool_name for each in rig.prepare(one).devices] == [NODE]
