"""A key pair on the curve P-256, which kube-apiserver signs ServiceAccounts' tokens with.

It lives as long as one test run, in a private directory; no library is needed to make it.
Source: SEC 1 (arithmetic, EC private keys) and SEC 2 (the numbers of secp256r1).
"""

from __future__ import annotations

import base64
import secrets
from typing import Final

_P: Final = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_A: Final = _P - 3
_G: Final = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_BYTES: Final = 32
_LINE: Final = 64
"""Characters of a line in PEM."""

_OID: Final = bytes.fromhex("06082a8648ce3d030107")
"""The name of the curve, in DER."""

_SEQUENCE, _INTEGER, _BIT_STRING, _OCTETS, _CURVE, _PUBLIC = 0x30, 0x02, 0x03, 0x04, 0xA0, 0xA1

Point = tuple[int, int]


def private_key() -> str:
    """A new key as PEM, with its public half in it."""
    secret = secrets.randbelow(_ORDER - 1) + 1
    public = b"\0\4" + b"".join(each.to_bytes(_BYTES, "big") for each in multiplied(secret, _G))
    content = b"".join(
        (
            _der(_INTEGER, b"\1"),
            _der(_OCTETS, secret.to_bytes(_BYTES, "big")),
            _der(_CURVE, _OID),
            _der(_PUBLIC, _der(_BIT_STRING, public)),
        )
    )
    text = base64.b64encode(_der(_SEQUENCE, content)).decode()
    lines = [text[start : start + _LINE] for start in range(0, len(text), _LINE)]
    name = "EC PRIVATE KEY"
    return "\n".join((f"-----BEGIN {name}-----", *lines, f"-----END {name}-----", ""))


def multiplied(factor: int, point: Point) -> Point:
    """``factor`` (above 0, below the order) times a point of the curve."""
    found: Point | None = None
    for bit in bin(factor)[2:]:
        if found is not None:
            found = _sum(found, found)
        if bit == "1":
            found = point if found is None else _sum(found, point)
    if found is None:
        raise ValueError("a factor of 0 has no point")
    return found


def _sum(one: Point, other: Point) -> Point:
    if one == other:
        slope = (3 * one[0] ** 2 + _A) * pow(2 * one[1], -1, _P)
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, _P)
    x = (slope**2 - one[0] - other[0]) % _P
    return x, (slope * (one[0] - x) - one[1]) % _P


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    long = size > 0x7F
    return bytes([tag, *([0x81] if long else []), size]) + content
