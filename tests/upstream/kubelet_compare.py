"""Holds what a plugin saw of our kubelet against what it saw of the real one.

Per plugin and socket: the order of connections, calls, answers that were errors, cancellations and
closings by the kubelet, with deadline, path, authority, claims, registration result and error text
as far as the recording tells them; and the gaps between them. The order is free between sockets and
between calls with different claims. Per pod: its events about claims, its phase, the health of its
devices, and its end. Where the scenario has read the checkpoint: what is in it.
"""

from __future__ import annotations

import re
from typing import Any

from pytest_dra.spec import Json
from tests.upstream.kubelet_scope import ANY_INSTANCE

TOLERANCE_S = 1.2
"""How far a gap may be off: one turn of the kubelet's loop, and the tenth of a second to which both
of its times are good in the recordings."""

DIAL_SHARE = 0.25
"""How far, as a share of the gap, a connection may be off that was tried again and again: gRPC's
pauses are 20 % of chance each, ours are not."""

STATUS_TOLERANCE_S = 2.5
"""The same for what the API server shows of a pod: containers are listed once a second, and what
follows from it is told a turn later."""

RESET_S = 0.05
"""A reset this close to the end of its connection, or of the kubelet, belongs to it."""

CHANCES = (1.0, 0.9, 1.1, 0.8, 1.2)
"""gRPC's pauses between two connects are off by up to 20 %, by chance: where a recording hangs on
it, one of these has to agree."""

RACE_S = 0.05
"""The two are this close together, where they race."""

NOTIFY = "NotifyRegistrationStatus"
CALLS = ("NodePrepareResources", "NodeUnprepareResources")

OF_PODS = ("events", "status", "checkpoint")
"""Lanes that have what the kubelet tells of pods, and keeps."""

CHANCE_TEXT = re.compile(
    r"(code = (Unavailable|Canceled|Internal) desc = )(connection error|error reading|failed to |"
    r"grpc: |Stream removed|Socket closed|Channel|recvmsg|\d+ bytes).*"
)
"""What gRPC says of a broken connection, or of an answer that is no message, in its own words."""

Lanes = dict[str, list[tuple[float, list[Any]]]]


def differences(
    name: str, scenario: Json, ours: list[list[Any]], *, tolerance_s: float = TOLERANCE_S
) -> list[str]:
    """Each difference as one line; none if the kubelets agree."""
    any_instance = name in ANY_INSTANCE
    recorded = _lanes(scenario["saw"], any_instance=any_instance)
    ends = [act[0] for act in scenario["do"] if act[1] in ("stop", "reboot")]
    played = _lanes(without_resets(ours, ends), any_instance=any_instance)
    until = scenario["until"]
    dials = {act[2] for act in scenario["do"] if act[1] in ("bind", "mute") and act[3] == "reg"}
    found = []
    for lane in sorted({*recorded, *played}):
        label, _, sock = lane.partition("/")
        share = DIAL_SHARE if sock.startswith("dra") or label in dials else 0.0
        want, got = recorded.get(lane, []), played.get(lane, [])
        if label == "status":
            want, got = _without_overwritten(want, got), _without_overwritten(got, want)
        off_s = max(tolerance_s, STATUS_TOLERANCE_S) if label in OF_PODS else tolerance_s
        found += _lane(lane, want, got, until=until, tolerance_s=off_s, share=share)
    return found


def without_resets(saw: list[list[Any]], ends: list[float]) -> list[list[Any]]:
    """Without the resets of what still runs when our kubelet closes a connection or ends.

    The kubelet just closes, or its process ends; gRPC in Python resets what runs on a connection
    first. The plugin's handler is cancelled in both cases.
    """
    kept = []
    for index, (at, lane, what) in enumerate(saw):
        if what[0] == "cancelled":
            following = [
                row for row in saw[index + 1 :] if row[1] == lane and row[2][0] != "cancelled"
            ]
            closes = following and following[0][2] == ["close"] and following[0][0] - at <= RESET_S
            by_end = any(abs(at - end) <= RESET_S for end in ends)
            if closes and (by_end or what[1] in CALLS):
                continue
        kept.append([at, lane, what])
    return kept


def _lanes(saw: list[list[Any]], *, any_instance: bool) -> Lanes:
    made: Lanes = {}
    calls: dict[tuple[str, str], str] = {}
    for at, lane, what in saw:
        method = what[1] if len(what) > 1 and what[1] in CALLS else ""
        if method and what[0] == "call":
            of = "any/dra" if any_instance else lane
            calls[lane, method] = f"{of} {','.join(sorted(what[2].get('claims', ())))}"
        steps = made.setdefault(calls.get((lane, method), lane), [])
        steps.append((at, what))
        if what == ["open"]:
            _put_before_notify(steps)
    return made


def _without_overwritten(
    steps: list[tuple[float, list[Any]]], others: list[tuple[float, list[Any]]]
) -> list[tuple[float, list[Any]]]:
    """Without a phase that the other side has overwritten before anybody saw it."""
    if any(what[1:2] == ["Running"] for _, what in others):
        return steps
    return [(at, what) for at, what in steps if what[1:2] != ["Running"]]


def _put_before_notify(steps: list[tuple[float, list[Any]]]) -> None:
    """Give the last step, a connection, its place before a Notify with which it races.

    That happens where the registration socket is the endpoint as well.
    """
    place = len(steps) - 1
    at = steps[place][0]
    while place > 0:
        before, what = steps[place - 1]
        if at - before > RACE_S or (what != ["close"] and what[1:2] != [NOTIFY]):
            return
        steps[place - 1 : place + 1] = reversed(steps[place - 1 : place + 1])
        place -= 1


def _lane(
    lane: str,
    want: list[tuple[float, list[Any]]],
    got: list[tuple[float, list[Any]]],
    *,
    until: float,
    tolerance_s: float,
    share: float,
) -> list[str]:
    before_want = before_got = 0.0
    for step in range(max(len(want), len(got))):
        if step >= len(want):
            at, what = got[step]
            if at >= until - tolerance_s:
                return []
            return [
                f"{lane} step {step}: ours has {_told(what)} at {at:.2f} s, the real one nothing"
            ]
        at, what = want[step]
        if step >= len(got):
            return [
                f"{lane} step {step}: the real one has {_told(what)} at {at:.2f} s, ours nothing"
            ]
        our_at, our_what = got[step]
        if not _same(what, our_what):
            return [
                f"{lane} step {step}: ours {_told(our_what)} at {our_at:.2f} s, "
                f"the real one {_told(what)} at {at:.2f} s"
            ]
        gap, our_gap = at - before_want, our_at - before_got
        dialled = share * gap if what[0] == "open" else 0.0
        # What the scenario does at its own time is late after something early.
        off = min(abs(gap - our_gap), abs(at - our_at))
        if off > tolerance_s + dialled:
            return [
                f"{lane} step {step} ({_told(what)}): ours {our_gap:.2f} s after the step before, "
                f"the real one {gap:.2f} s"
            ]
        before_want, before_got = at, our_at
    return []


def _same(want: list[Any], got: list[Any]) -> bool:
    if want[0] != got[0] or len(want) != len(got):
        return False
    if want[0] != "event" and want[:2] != got[:2]:
        return False
    if want[0] == "event":
        return _event(want[1]) == _event(got[1])
    if want[0] != "call":
        return want == got
    recorded, ours = want[2], got[2]
    for key, value in recorded.items():
        mine = ours.get(key)
        if key == "error":
            value, mine = _normalised(value), _normalised(mine or "")
        if key == "claims":
            value, mine = sorted(value), sorted(mine or [])
        if value != mine:
            return False
    # These are always recorded where they are; the others only the first time.
    return all(key in recorded or key not in ours for key in ("deadline", "error", "claims"))


def _told(what: list[Any]) -> str:
    details = what[-1] if isinstance(what[-1], dict) else {}
    parts = [str(part) for part in what if not isinstance(part, dict)]
    return " ".join(parts + [f"{key}={value}" for key, value in details.items()])


def _event(text: str) -> str:
    """An event's text without what is chance in it: uids of no object, and gRPC's own words."""
    return CHANCE_TEXT.sub(r"\1", re.sub(r"\bU\d+\b", "U", text))


def _normalised(text: str) -> str:
    """An error text without its numbers, which count and date."""
    return re.sub(r"\d+", "N", text)
