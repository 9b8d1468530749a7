"""Small checks of failure, simultaneity and unusual requests."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import grpc

from pytest_dra import wire
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.variants import OneConsumer
from tests.fake_driver.rig import CALL_S
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.rig import running
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good

LATE_S = 0.15
"""How long the deed of an abandoned call is waited for; a good driver does nothing meanwhile."""

SLOW_S = 1.0
"""A call that takes longer is one of the slow ones, whose delay the tests shorten to more."""

V1, BETA = "v1.DRAPlugin", "v1beta1.DRAPlugin"
GARBAGE = b"damaged" * 9


@contextlib.contextmanager
def _no_specs(rig: Rig) -> Iterator[None]:
    """A plain file in the place of the CDI directory."""
    root = rig.options.cdi_root
    aside = root.with_name("aside")
    root.rename(aside)
    root.touch()
    try:
        yield
    finally:
        root.unlink()
        aside.rename(root)


def _fails(rig: Rig, claim: Claim) -> bool:
    """True if Prepare needs the CDI directory, and fails for want of it."""
    with _no_specs(rig):
        return bool(rig.prepare(claim).error)


@contextlib.contextmanager
def _held(rig: Rig) -> Iterator[None]:
    """Claims are read at the end only."""
    rig.store.held.clear()
    try:
        yield
    finally:
        rig.store.held.set()


def _begin(rig: Rig, claim: Claim) -> Any:
    """A Prepare that nobody waits for yet."""
    methods = wire.DRA_METHODS[rig.version()]
    method = methods.prepare
    stub = rig.channel(rig.options.dra_socket).unary_unary(
        method.path,
        request_serializer=method.request.SerializeToString,
        response_deserializer=method.response.FromString,
    )
    ref = methods.claim(namespace=claim.namespace, name=claim.name, uid=claim.uid)
    return stub.future(method.request(claims=[ref]), timeout=CALL_S, wait_for_ready=True)


def _abandoned(rig: Rig, claim: Claim) -> None:
    """A Prepare whose caller goes once the claim has been asked for; inside of ``_held``."""
    before = rig.store.gets
    call = _begin(rig, claim)
    assert rig.wait(lambda: rig.store.gets > before)
    call.cancel()


def _free(rig: Rig, device: str = "gpu-0") -> None:
    claim = rig.claim(result(device))
    good(rig, claim)
    freed(rig, claim)


def _longest(rig: Rig, name: str) -> float:
    """The longest of some calls of a driver that begins on empty directories."""
    with running(rig.fault) as other:
        with contextlib.suppress(grpc.RpcError):
            other.dra(name, ())
        other.longest.clear()
        for _ in range(3):
            claim = other.claim(result("gpu-0"))
            other.prepare(claim)
            other.unprepare(claim)
        return other.longest[name]


def _left(rig: Rig, claim: Claim) -> set[str]:
    """What a claim has left, beyond what a plain cycle leaves."""
    plain = rig.claim(result("gpu-2"))
    rig.prepare(plain)
    rig.unprepare(plain)
    usual = {path.name.replace(plain.uid, "UID") for path in rig.residue(plain)}
    return {path.name.replace(claim.uid, "UID") for path in rig.residue(claim)} - usual


@check("PREP-008")
def _(rig: Rig) -> None:
    unknown = Claim(name="unknown", uid=str(uuid.uuid4()))
    error = rig.prepare(unknown).error
    freed(rig, unknown)
    assert error


@check("PREP-009")
def _(rig: Rig) -> None:
    old = rig.claim(result("gpu-0"))
    rig.claim(result("gpu-0"), name=old.name)
    error = rig.prepare(old).error
    freed(rig, old)
    assert error


@check("PREP-013")
def _(rig: Rig) -> None:
    a, b = rig.claim(result("gpu-0")), rig.claim(result("gpu-0"))
    failed = _fails(rig, a)
    error = rig.prepare(b).error
    for claim in (b, a):
        rig.unprepare(claim)
    assert not (failed and error)


@check("PREP-014")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    _fails(rig, a)
    error = rig.prepare(a).error
    freed(rig, a)
    assert not error


@check("PREP-015")
def _(rig: Rig) -> None:
    assert _longest(rig, "prepare") < SLOW_S


@check("PREP-016")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    with _held(rig):
        _abandoned(rig, a)
        releasing = threading.Thread(target=rig.unprepare, args=(a,))
        releasing.start()
        releasing.join(LATE_S)
    releasing.join(CALL_S)
    threading.Event().wait(LATE_S)
    left = _left(rig, a)
    rig.prepare(a)
    rig.unprepare(a)
    assert not left
    _free(rig)


@check("PREP-018")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0", "container-0-request-0"))
    good(rig, a)
    freed(rig, a)


@check("PREP-019")
def _(rig: Rig) -> None:
    for name in ("prepare", "unprepare"):
        assert dict(rig.dra(name, ())) == {}


@check("PREP-020")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    freed(rig, a)
    rig.allocate(a, result("gpu-1"))
    before = rig.store.gets
    good(rig, a)
    freed(rig, a)
    assert rig.store.gets > before


@check("PREP-022")
def _(rig: Rig) -> None:
    """Of variant V11, whose part the fault replaces."""
    kind = rig.parts.claims if rig.fault == "PREP-022" else OneConsumer
    a = rig.claim(result("gpu-0"))
    stored = rig.stored(a)
    for consumers in ([{"resource": "pods"}] * 2, [{"resource": "podgroups"}]):
        stored["status"]["reservedFor"] = consumers
        assert _refuses(kind(DRIVER, rig.parts.api(None)), a)


def _refuses(claims: Claims, claim: Claim) -> bool:
    try:
        claims.allocation(ClaimRef(**dataclasses.asdict(claim)), left_s=None)
    except ClaimError:
        return True
    return False


@check("PREP-024")
def _(rig: Rig) -> None:
    for one, other in ((BETA, V1), (V1, BETA)):
        a = rig.claim(result("gpu-0"))
        if not {V1, BETA} <= set(rig.info.supported_versions):
            return
        first = rig.dra("prepare", (a,), one)[a.uid]
        again = rig.dra("prepare", (a,), other)[a.uid]
        error = rig.dra("unprepare", (a,), other)[a.uid].error
        left = _left(rig, a)
        rig.dra("unprepare", (a,), one)
        assert [d.device_name for d in first.devices] == [d.device_name for d in again.devices]
        assert (error, left) == ("", set())


@check("UNP-007")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    with _no_specs(rig):
        error = rig.unprepare(a)
    left = _left(rig, a)
    if error or left:
        freed(rig, a)
    assert error or not left
    assert not _left(rig, a)


@check("UNP-008")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    _fails(rig, a)
    error = rig.unprepare(a)
    rig.prepare(a)
    rig.unprepare(a)
    assert not error


@check("UNP-010")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    rig.stop()
    for checkpoint in rig.options.data_dir.rglob(f"*{a.uid}.json"):
        checkpoint.write_bytes(GARBAGE)
    rig.start()
    try:
        assert rig.unprepare(a) == ""
    finally:
        for path in rig.residue(a):
            path.unlink()


@check("UNP-011")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    rig.store.unreachable = True
    error = rig.unprepare(a)
    rig.store.unreachable = False
    if error:
        freed(rig, a)
    assert not error


@check("UNP-012")
def _(rig: Rig) -> None:
    a, b = rig.claim(result("gpu-0")), rig.claim(result("gpu-0"))
    good(rig, a)
    rig.delete(a)
    rig.stop()
    rig.start()
    error = rig.prepare(b).error
    freed(rig, b, a)
    assert not error


@check("UNP-013")
def _(rig: Rig) -> None:
    assert _longest(rig, "unprepare") < SLOW_S


@check("IDEM-003")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    with _held(rig):
        before = rig.store.gets
        calls = [_begin(rig, a) for _ in range(2)]
        rig.wait(lambda: rig.store.gets >= before + 2, LATE_S)
    first, second = (call.result().claims[a.uid] for call in calls)
    freed(rig, a)
    assert first == second


@check("IDEM-006")
def _(rig: Rig) -> None:
    a, b = rig.claim(result("gpu-0")), rig.claim(result("gpu-1"))
    entry = good(rig, a)
    answers = dict(rig.dra("prepare", (a, b)))
    freed(rig, a, b)
    assert answers[a.uid] == entry
    assert not answers[b.uid].error


@check("IDEM-008")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    rig.allocate(a, result("gpu-1"))
    entry = rig.prepare(a)
    freed(rig, a)
    assert entry.error or [d.device_name for d in entry.devices] == ["gpu-1"]


@check("IDEM-009")
def _(rig: Rig) -> None:
    a, b = rig.claim(result("gpu-0")), rig.claim(result("gpu-1"))
    entry = good(rig, a)
    resolved = rig.resolves(entry)
    good(rig, b)
    good(rig, a)
    freed(rig, b)
    still = rig.resolves(entry)
    freed(rig, a)
    assert resolved == still
