"""Hostile requests: ``python -m tests.soak.hostile_requests [--count N] [--seed N]``.

Random bytes, broken JSON, YAML, CBOR and protobuf, odd headers, paths, queries and values go to the
embedded server one after another. No answer may be a 500 of its own making (some of the real
server's failures are 500 without a reason; ours never says InternalError), nothing may be logged
as an exception, and nothing may take longer than a bound. At the end the server must still work.
The closing line has the numbers; exits 1 if anything was found.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import logging
import socket
import sys
import time
import urllib.parse
from typing import Final

from tests.soak.hostility import Attacker
from tests.soak.hostility import Hostile
from tests.upstream.apiserver import server

COUNT: Final = 24_000
SEED: Final = 1

ANSWER_S: Final = 10.0
"""Longest answer; a version that lies ahead is waited for 3 s, watches end after 1 s."""

STOCKED_EVERY: Final = 50
"""So many requests apart the objects are made anew that others are to change."""

PARTIAL_S: Final = 0.1
"""How long an answer to a part of a request is waited for."""

_LENGTHS: Final = frozenset(("Content-Length", "Transfer-Encoding", "Expect", "Upgrade"))
_READ: Final = 1 << 16
_ANSWER_MAX: Final = 64 << 20
_ERRORS: Final = 500
_SHOWN_MAX: Final = 300


@dataclasses.dataclass(slots=True)
class Result:
    """What has been sent, how it was answered, and what should not have happened."""

    sent: int = 0
    codes: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    findings: list[str] = dataclasses.field(default_factory=list)
    slowest_s: float = 0.0


class _Log(logging.Handler):
    """Keeps what is logged as an error: no request may lead to one."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(self.format(record))


def attack(*, count: int, seed: int) -> Result:
    """Send ``count`` requests to a fresh server."""
    attacker, result, log = Attacker(seed), Result(), _Log()
    running = server("1.37")
    logging.getLogger().addHandler(log)
    try:
        place = urllib.parse.urlsplit(running.url)
        address = (str(place.hostname), int(place.port or 0))
        for number in range(count):
            if number % STOCKED_EVERY == 0:
                for wanted in attacker.stock():
                    _send(address, wanted.encoded())
            _one(address, attacker.request(), result, log)
        alive = _send(address, b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        if b" 200 " not in alive[:20]:
            result.findings.append(f"afterwards the server answers {alive[:80]!r}")
    finally:
        logging.getLogger().removeHandler(log)
        running.stop()
    return result


def _one(address: tuple[str, int], hostile: Hostile, result: Result, log: _Log) -> None:
    began = time.monotonic()
    asked = hostile.encoded()
    shown = f"{hostile.what}: {asked[:_SHOWN_MAX]!r}"
    result.sent += 1
    # of what is no whole request a server may wait for the rest
    partial = bool(hostile.raw) or not _LENGTHS.isdisjoint(hostile.headers)
    try:
        answer = _send(address, asked, within_s=PARTIAL_S if partial else ANSWER_S)
    except TimeoutError:
        answer = b""
        if not partial:
            result.findings.append(f"no answer: {shown}")
    result.slowest_s = max(result.slowest_s, time.monotonic() - began)
    code = answer.split(b" ", 2)[1].decode("latin-1") if answer.startswith(b"HTTP/1.1 ") else "none"
    result.codes[code] += 1
    if code.isdigit() and int(code) >= _ERRORS and not _is_upstream(answer):
        result.findings.append(f"{code}: {shown}\n    {answer[-_SHOWN_MAX:]!r}")
    if log.records:
        result.findings.append(f"logged: {shown}\n{log.records[0]}")
        log.records.clear()


def _is_upstream(answer: bytes) -> bool:
    """True for the failures of the real server that are 5xx: no reason, or Timeout."""
    try:
        status = json.loads(answer.partition(b"\r\n\r\n")[2])
    except ValueError:
        return b"InternalError" not in answer and b"reason" not in answer and b"{" in answer
    return isinstance(status, dict) and status.get("reason") in (None, "Timeout")


def _send(address: tuple[str, int], data: bytes, *, within_s: float = ANSWER_S) -> bytes:
    """The whole answer to raw bytes; what is cut off on the way is an answer too.

    Raises:
        TimeoutError: the connection has not been ended ``within_s`` seconds.
    """
    parts: list[bytes] = []
    end = time.monotonic() + within_s
    with socket.create_connection(address, timeout=ANSWER_S) as link:
        try:
            link.sendall(data)
            while sum(map(len, parts)) < _ANSWER_MAX:
                link.settimeout(max(0.01, end - time.monotonic()))
                part = link.recv(_READ)
                if not part:
                    break
                parts.append(part)
        except (ConnectionError, BrokenPipeError):
            pass
    return b"".join(parts)


def main(arguments: list[str]) -> int:
    """Attack, and print what was found and a closing line."""
    parser = argparse.ArgumentParser(prog="tests.soak.hostile_requests")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    result = attack(count=options.count, seed=options.seed)
    for finding in result.findings:
        sys.stdout.write(f"{finding}\n")
    codes = ", ".join(f"{count} {code}" for code, count in sorted(result.codes.items()))
    sys.stdout.write(
        f"seed {options.seed}: {result.sent} requests ({codes}), slowest {result.slowest_s:.1f} s, "
        f"{len(result.findings)} findings\n"
    )
    return 1 if result.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
