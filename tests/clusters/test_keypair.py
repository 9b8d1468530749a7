"""Keys for ServiceAccounts' tokens."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from pytest_dra.clusters import keypair

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
PRIME = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


@pytest.mark.parametrize("factor", [1, 2, 3, 12345, ORDER - 1])
def test_multiples_lie_on_the_curve(factor: int) -> None:
    x, y = keypair.multiplied(factor, G)
    assert (y * y - x**3 + 3 * x - B) % PRIME == 0


def test_the_last_multiple_is_the_mirror_image_of_the_first() -> None:
    assert keypair.multiplied(ORDER - 1, G) == (G[0], PRIME - G[1])


def test_each_key_is_another_one() -> None:
    assert len({keypair.private_key() for _ in range(5)}) == 5


OPENSSL = shutil.which("openssl") or ""


@pytest.mark.skipif(not OPENSSL, reason="no openssl on PATH")
def test_openssl_finds_the_key_in_order() -> None:
    done = subprocess.run(
        [OPENSSL, "ec", "-check", "-noout"],
        input=keypair.private_key(),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert "EC Key valid" in done.stdout + done.stderr, done.stderr
