"""Small checks of Prepare, Unprepare, CDI specs and restarts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import at_each_answer
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good
from tests.fake_driver.small_checks import pools_of

BAD_CONFIG: list[Any] = [
    {"source": "FromClaim", "opaque": {"driver": DRIVER, "parameters": {"kind": "Bad"}}}
]


@check("PREP-001")
def _(rig: Rig) -> None:
    for size in (1, 2, 8):
        claims = tuple(rig.claim(result(f"gpu-{n}")) for n in range(size))
        answers = rig.dra("prepare", claims)
        for claim in claims:
            rig.unprepare(claim)
        assert {claim.uid for claim in claims} <= set(answers)


@check("PREP-002")
def _(rig: Rig) -> None:
    claims = tuple(rig.claim(result(f"gpu-{n}")) for n in range(2))
    answers = rig.dra("prepare", claims)
    freed(rig, *claims)
    assert set(answers) <= {claim.uid for claim in claims}


def _pairs(entry: Any) -> set[tuple[str, str]]:
    return {(device.pool_name, device.device_name) for device in entry.devices}


def _two(rig: Rig) -> Claim:
    return rig.claim(result("gpu-0", "a"), result("gpu-1", "b"))


@check("PREP-003")
def _(rig: Rig) -> None:
    claim = _two(rig)
    entry = good(rig, claim)
    freed(rig, claim)
    assert _pairs(entry) <= {(NODE, "gpu-0"), (NODE, "gpu-1")}


@check("PREP-004")
def _(rig: Rig) -> None:
    names = [
        device["name"]
        for specs in pools_of(rig).values()
        for s in specs
        for device in s.get("devices", [])
        if device["name"].startswith(("gpu-", "nic-"))
    ]
    claim = rig.claim(*map(result, names))
    entry = good(rig, claim)
    freed(rig, claim)
    assert _pairs(entry) == {(NODE, name) for name in names}


@check("PREP-005")
def _(rig: Rig) -> None:
    claim = _two(rig)
    entry = good(rig, claim)
    freed(rig, claim)
    assert {name for device in entry.devices for name in device.request_names} <= {"a", "b"}


@check("PREP-006")
def _(rig: Rig) -> None:
    foreign = {**result("gpu-0"), "driver": "decoy.example.com", "pool": "other"}
    for results in ((result("gpu-0"), foreign), (foreign, result("gpu-0"))):
        claim = rig.claim(*results)
        entry = rig.prepare(claim)
        rig.unprepare(claim)
        assert not entry.error
        assert len(entry.devices) == 1


@check("PREP-007")
def _(rig: Rig) -> None:
    claim = rig.claim(result("no-such-device"))
    error = rig.prepare(claim).error
    assert rig.residue(claim) == []
    freed(rig, claim)
    assert error


@check("PREP-021")
def _(rig: Rig) -> None:
    claim = rig.claim(result("no-such-device"))
    error = rig.prepare(claim).error
    freed(rig, claim)
    assert not error or ("no-such-device" in error and claim.uid in error)


@check("PREP-010")
def _(rig: Rig) -> None:
    claim = rig.claim()
    error = rig.prepare(claim).error
    freed(rig, claim)
    assert error


@check("PREP-011")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    b = rig.claim(result("gpu-1"), config=BAD_CONFIG)
    if rig.prepare(b).error == "":
        freed(rig, b)
        return
    try:
        answers = rig.dra("prepare", (a, b))
    finally:
        freed(rig, a, b)
    assert set(answers) == {a.uid, b.uid}
    assert answers[a.uid].error == ""
    assert answers[b.uid].error


@check("PREP-012")
def _(rig: Rig) -> None:
    a, b = rig.claim(result("gpu-0")), rig.claim(result("gpu-0"))
    good(rig, a)
    error = rig.prepare(b).error
    freed(rig, a)
    good(rig, b)
    freed(rig, b)
    assert error


@check("PREP-023")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    good(rig, claim)
    rig.unprepare(claim)


@check("UNP-001")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    unknown = rig.claim(result("gpu-1"))
    answers = rig.dra("unprepare", (a, unknown))
    assert set(answers) == {a.uid, unknown.uid}


@check("UNP-002")
def _(rig: Rig) -> None:
    unknown = rig.claim(result("gpu-1"))
    rig.delete(unknown)
    freed(rig, unknown)


@check("UNP-003")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    rig.delete(a)
    error = rig.unprepare(a)
    if error:
        rig.allocate(a, result("gpu-0"))
        rig.unprepare(a)
    assert error == ""


@check("UNP-004")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    freed(rig, a)
    left = rig.residue(a)
    for path in left:
        path.unlink()
    assert left == []


@check("UNP-005")
def _(rig: Rig) -> None:
    for device in ("gpu-0", "gpu-1", "nic-5"):
        a, b = rig.claim(result(device)), rig.claim(result(device))
        good(rig, a)
        freed(rig, a)
        error = rig.prepare(b).error
        freed(rig, b)
        assert error == ""


@check("UNP-006")
def _(rig: Rig) -> None:
    a, b = rig.claim(result("gpu-0")), rig.claim(result("gpu-1"))
    good(rig, a)
    entry = good(rig, b)
    ids = [cdi_id for device in entry.devices for cdi_id in device.cdi_device_ids]
    before = [rig.edits(cdi_id) for cdi_id in ids]
    freed(rig, a)
    after = [rig.edits(cdi_id) for cdi_id in ids]
    again = good(rig, b)
    freed(rig, b)
    assert before == after
    assert entry == again


@check("UNP-009")
def _(rig: Rig) -> None:
    for early in (False, True):
        old = rig.claim(result("gpu-0"))
        good(rig, old)
        new = rig.claim(result("gpu-1"), name=old.name)
        if early:
            freed(rig, old)
        entry = good(rig, new)
        resolved = rig.resolves(entry)
        if not early:
            freed(rig, old)
        still = rig.resolves(entry)
        again = rig.prepare(new)
        rig.unprepare(new)
        rig.unprepare(old)
        assert resolved == still
        assert entry == again


@check("IDEM-001")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    entries = [rig.prepare(a) for _ in range(10)]
    rig.unprepare(a)
    assert all(entry == entries[0] and not entry.error for entry in entries)


@check("IDEM-002")
def _(rig: Rig) -> None:
    def state(entry: Any) -> Any:
        edits = [rig.edits(i) for device in entry.devices for i in device.cdi_device_ids]
        return edits, sorted(rig.options.data_dir.rglob("*")), set(rig.specs())

    a = rig.claim(result("gpu-0"))
    first = state(good(rig, a))
    entries = [good(rig, a) for _ in range(3)]
    last = state(entries[-1])
    freed(rig, a)
    assert first == last


@check("IDEM-004")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    for _ in range(3):
        good(rig, a)
        freed(rig, a)


@check("IDEM-005")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    for _ in range(5):
        freed(rig, a)


@check("IDEM-007")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    freed(rig, a)
    rig.allocate(a, result("gpu-1"))
    entry = good(rig, a)
    freed(rig, a)
    assert [device.device_name for device in entry.devices] == ["gpu-1"]


@check("CDI-010")
def _(rig: Rig) -> None:
    name = ".".join(["a" * 63] * 3 + ["b" * 61])
    a = rig.claim(result("gpu-0"), name=name, namespace="n" * 63)
    good(rig, a)
    freed(rig, a)


@check("RST-001")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    entry = good(rig, a)
    assert rig.kill_and_start()
    again = rig.prepare(a)
    rig.unprepare(a)
    assert entry == again


@at_each_answer("CDI-001")
def _(rig: Rig, entry: Any) -> None:
    assert all(d["containerEdits"] for spec in rig.specs().values() for d in spec["devices"])


@at_each_answer("CDI-002")
def _(rig: Rig, entry: Any) -> None:
    assert rig.resolves(entry)


@at_each_answer("CDI-005")
def _(rig: Rig, entry: Any) -> None:
    names = Counter(d["name"] for spec in rig.specs().values() for d in spec["devices"])
    assert max(names.values(), default=1) == 1
