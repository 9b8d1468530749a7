"""Checkpoints survive a restart, and a damaged one never gives its devices away."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dra.fake_driver.errors import StartError
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.rig import running

SHARE = "11111111-1111-4111-8111-111111111111"


def checkpoint(rig: Rig, claim: Claim) -> Path:
    return rig.options.data_dir / "claims" / f"{claim.uid}.json"


def test_a_restarted_driver_answers_alike_and_releases() -> None:
    with running() as rig:
        claim = rig.claim(result("gpu-0"), result("nic-1", "b", shareID=SHARE))
        entry = rig.prepare(claim)
        assert rig.kill_and_start()
        assert rig.prepare(claim) == entry
        assert rig.kill_and_start()
        rig.delete(claim)
        assert rig.unprepare(claim) == ""
        assert rig.residue(claim) == []


def test_after_a_reboot_the_spec_is_written_again() -> None:
    with running() as rig:
        claim = rig.claim(result("gpu-0"))
        entry = rig.prepare(claim)
        rig.stop()
        for path in rig.specs():
            path.unlink()
        rig.start()
        assert rig.prepare(claim) == entry
        assert rig.resolves(entry)


def test_a_crash_between_spec_and_checkpoint_is_healed_by_either_call() -> None:
    with running() as rig:
        for heal in (rig.prepare, rig.unprepare):
            claim = rig.claim(result("gpu-0"))
            entry = rig.prepare(claim)
            rig.stop()
            checkpoint(rig, claim).unlink()
            unfinished = next(iter(rig.specs())).with_name(f".{DRIVER}-claim_x.json.tmp")
            unfinished.write_text("{")
            rig.start()
            assert not unfinished.exists()
            if heal is rig.prepare:
                assert rig.prepare(claim) == entry
            assert rig.unprepare(claim) == ""
            assert rig.residue(claim) == []


@pytest.mark.parametrize("size", [0, 40])
def test_a_damaged_checkpoint_is_put_aside_and_its_device_stays_in_use(size: int) -> None:
    with running() as rig:
        claim, admin = rig.claim(result("gpu-0")), rig.claim(result("gpu-1", adminAccess=True))
        entry = rig.prepare(claim)
        rig.prepare(admin)
        rig.stop()
        for each in (claim, admin):
            path = checkpoint(rig, each)
            path.write_bytes(path.read_bytes()[:size])
        rig.start()
        assert not checkpoint(rig, claim).exists()
        rival = rig.claim(result("gpu-0"))
        assert "in use" in rig.prepare(rival).error
        assert rig.prepare(rig.claim(result("gpu-1"))).error == ""
        assert rig.prepare(claim) == entry
        assert checkpoint(rig, claim).exists()
        for each in (claim, admin):
            assert rig.unprepare(each) == ""
            assert rig.residue(each) == []
        assert rig.prepare(rival).error == ""


def test_a_predecessors_claim_that_is_gone_from_the_api_gives_its_device_free() -> None:
    with running() as rig:
        old, kept = rig.claim(result("gpu-0")), rig.claim(result("gpu-1"))
        rig.prepare(old)
        rig.prepare(kept)
        rig.delete(old)
        assert "in use" in rig.prepare(rig.claim(result("gpu-0"))).error
        assert rig.kill_and_start()
        assert rig.prepare(rig.claim(result("gpu-0"))).error == ""
        assert rig.residue(old) == []
        assert "in use" in rig.prepare(rig.claim(result("gpu-1"))).error


def test_two_instances_on_the_same_directories_share_their_state() -> None:
    with running(instance_uid="one") as first:
        root = first.options.registry_dir.parent
        second = Rig(root, instance_uid="two")
        second.store = first.store
        second.parts = first.parts
        second.start()
        try:
            claim = first.claim(result("gpu-0"))
            entry = first.prepare(claim)
            assert second.prepare(claim) == entry
            assert "in use" in second.prepare(second.claim(result("gpu-0"))).error
            assert second.unprepare(claim) == ""
            assert first.prepare(first.claim(result("gpu-0"))).error == ""
        finally:
            second.stop()


def test_something_else_in_the_place_of_a_socket_is_refused() -> None:
    with running() as rig:
        rig.stop()
        rig.options.dra_socket.write_text("not a socket")
        with pytest.raises(StartError, match="is in the way and is no socket; remove it"):
            rig.start()


def test_a_removed_registration_socket_comes_back() -> None:
    with running() as rig:
        assert rig.driver is not None
        rig.options.registration_socket.unlink()
        rig.driver.endpoint.look_after()
        assert rig.get_info().name == DRIVER
