"""Small checks of much at a time and of the unexpected."""

from __future__ import annotations

import contextlib

import grpc

from pytest_dra import wire
from tests.fake_driver.rig import CALL_S
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good

UNKNOWN = b"\xc2\x3e\x01x"

ABORTED: list[bool] = []
"""That the driver would have ended the process at once."""


@check("ROB-001")
def _(rig: Rig) -> None:
    names = [*(f"gpu-{n}" for n in range(8)), *(f"nic-{n}" for n in range(4))]
    claims = tuple(rig.claim(result(name)) for name in names)
    answers = rig.dra("prepare", claims)
    assert all(not answers[claim.uid].error for claim in claims)
    freed(rig, *claims)


@check("ROB-004")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    methods = wire.DRA_METHODS[rig.version()]
    method = methods.prepare
    request = method.request(
        claims=[methods.claim(namespace=a.namespace, name=a.name, uid=a.uid)]
    ).SerializeToString()
    stub = rig.channel(rig.options.dra_socket).unary_unary(
        method.path,
        request_serializer=bytes,
        response_deserializer=method.response.FromString,
    )
    answer = stub(request + UNKNOWN, timeout=CALL_S, wait_for_ready=True)
    freed(rig, a)
    assert not answer.claims[a.uid].error


@check("ROB-005")
def _(rig: Rig) -> None:
    padding = {"opaque": {"driver": "other.example.com", "parameters": {"text": "x" * 10000}}}
    a = rig.claim(result("gpu-0"), config=[{"source": "FromClaim", **padding} for _ in range(8)])
    good(rig, a)
    freed(rig, a)


@check("ROB-007")
def _(rig: Rig) -> None:
    ABORTED.clear()
    with contextlib.suppress(grpc.RpcError):
        rig.prepare(Claim(name="c", uid=""))
    assert not ABORTED
