"""Small checks of who may do what, who gets to know it, and of the end."""

from __future__ import annotations

import logging
import signal

from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import config_of
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good

CANARY = "canary-7f3a"
OTHERS = 0o002

MARKED: list[bool] = []
"""That the driver would have made a file in /etc."""

EARLIER = signal.getsignal(signal.SIGTERM)


class _Heard(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@check("SEC-004")
def _(rig: Rig) -> None:
    assert not rig.options.data_dir.stat().st_mode & OTHERS


@check("SEC-005")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"), uid="../../escaped")
    error = rig.prepare(a).error
    rig.unprepare(a)
    found = list(rig.options.plugins_dir.glob("escaped*"))
    for path in found:
        path.unlink()
    assert error
    assert not found


@check("SEC-006")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"), name="same", namespace="one")
    b = rig.claim(result("gpu-1"), name="same", namespace="two")
    first, second = rig.prepare(a), rig.prepare(b)
    freed(rig, a, b)
    assert (first.error, second.error) == ("", "")


@check("SEC-008")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    hooks = [
        hook
        for spec in rig.texts().values()
        for device in spec["devices"]
        for hook in device["containerEdits"].get("hooks", [])
    ]
    freed(rig, a)
    assert hooks == []


@check("SEC-009")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"), config=[config_of(label=CANARY)])
    heard, logger = _Heard(), logging.getLogger("pytest_dra.fake_driver")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(heard)
    try:
        good(rig, a)
        freed(rig, a)
    finally:
        logger.removeHandler(heard)
        logger.setLevel(level)
    assert not [line for line in heard.lines if CANARY in line]


@check("SEC-010")
def _(rig: Rig) -> None:
    MARKED.clear()
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    freed(rig, a)
    assert not MARKED


@check("LIFE-002")
def _(rig: Rig) -> None:
    before = set(rig.options.data_dir.rglob("*"))
    a = rig.claim(result("gpu-0"), config=[config_of(label="kept")])
    good(rig, a)
    freed(rig, a)
    assert [path for path in rig.options.data_dir.rglob("*") if a.uid in path.name] == []
    assert set(rig.options.data_dir.rglob("*")) <= before


@check("LIFE-003")
def _(rig: Rig) -> None:
    assert signal.getsignal(signal.SIGTERM) == EARLIER
