"""Small checks of restart, crash and reboot."""

from __future__ import annotations

import os
import threading

from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good


def _prepared(rig: Rig, device: str = "gpu-0") -> Claim:
    claim = rig.claim(result(device))
    good(rig, claim)
    return claim


def _free(rig: Rig, device: str = "gpu-0") -> None:
    freed(rig, _prepared(rig, device))


def _again(rig: Rig) -> None:
    """SIGTERM and start."""
    rig.stop()
    rig.start()


@check("RST-002")
def _(rig: Rig) -> None:
    a = _prepared(rig)
    rig.kill_and_start()
    freed(rig, a)
    left = rig.residue(a)
    for path in left:
        path.unlink()
    assert left == []
    _free(rig)


@check("RST-003")
def _(rig: Rig) -> None:
    a = _prepared(rig)
    rig.stop()
    for path in rig.specs():
        path.unlink()
    rig.start()
    rig.disturbed = True
    entry = good(rig, a)
    rig.disturbed = False
    resolves = rig.resolves(entry)
    freed(rig, a)
    assert resolves
    assert rig.residue(a) == []


@check("RST-004")
def _(rig: Rig) -> None:
    a, b = _prepared(rig), _prepared(rig, "gpu-1")
    rig.stop()
    for claim in (a, b):
        (rig.options.data_dir / "claims" / f"{claim.uid}.json").unlink(missing_ok=True)
    rig.start()
    entry = rig.prepare(a)
    freed(rig, a, b)
    assert entry.error == ""


@check("RST-005")
def _(rig: Rig) -> None:
    """As if killed between the checkpoint and what follows it."""

    a = rig.claim(result("gpu-0"))
    thread = threading.Thread(target=rig.prepare, args=(a,))
    rig.disturbed = True
    thread.start()
    checkpoint = rig.options.data_dir / "claims" / f"{a.uid}.json"
    rig.wait(lambda: checkpoint.exists(), 2.0)
    unfinished = not rig.specs()
    thread.join()
    if unfinished:
        for path in rig.specs():
            path.unlink()
    rig.kill_and_start()
    entry = good(rig, a)
    rig.disturbed = False
    resolves = rig.resolves(entry)
    freed(rig, a)
    assert resolves


@check("RST-006")
def _(rig: Rig) -> None:
    a = _prepared(rig)
    rig.stop()
    path = rig.options.data_dir / "claims" / f"{a.uid}.json"
    kept = path.exists()
    if kept:
        os.truncate(path, path.stat().st_size // 2)
    rig.start()
    b = rig.claim(result("gpu-0"))
    entry = rig.prepare(b)
    for path in rig.residue(a):
        path.unlink()
    freed(rig, a, b)
    assert entry.error or not kept


@check("RST-007")
def _(rig: Rig) -> None:
    a = _prepared(rig)
    rig.stop()
    rig.delete(a)
    rig.start()
    freed(rig, a)
    left = rig.residue(a)
    _free(rig)
    assert left == []
