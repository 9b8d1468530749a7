"""Holds what a plugin saw of our kubelet against what it saw of the real one.

Per plugin and socket: the order of connections, calls, answers that were errors, cancellations and
closings by the kubelet, with deadline, path, authority, claims, registration result and error text
as far as the recording tells them; and the gaps between them. The order between sockets is free.
"""

from __future__ import annotations

import re
from typing import Any

from pytest_dra.spec import Json
from tests.upstream.kubelet_scope import ANY_INSTANCE

TOLERANCE_S = 1.1
"""How far a gap may be off: one turn of the kubelet's loop, and the tenth of a second to which the
recordings are good."""

DIAL_SHARE = 0.25
"""How far, as a share of the gap, a connection may be off that was tried again and again: gRPC's
pauses are 20 % of chance each, ours are not."""

RESET_S = 0.05
"""A reset this close to the end of its connection, or of the kubelet, belongs to it."""

CHANCES = (1.0, 0.9, 1.1, 0.8, 1.2)
"""gRPC's pauses between two connects are off by up to 20 %, by chance: where a recording hangs on
it, one of these has to agree."""

RACE_S = 0.05
"""The two are this close together, where they race."""

NOTIFY = "NotifyRegistrationStatus"
CALLS = ("NodePrepareResources", "NodeUnprepareResources")

Lanes = dict[str, list[tuple[float, list[Any]]]]


def differences(
    name: str, scenario: Json, ours: list[list[Any]], *, tolerance_s: float = TOLERANCE_S
) -> list[str]:
    """Each difference as one line; none if the kubelets agree."""
    any_instance = name in ANY_INSTANCE
    recorded = _lanes(scenario["saw"], any_instance=any_instance)
    ends = [act[0] for act in scenario["do"] if act[1] in ("stop", "reboot")]
    played = _lanes(_without_resets(ours, ends), any_instance=any_instance)
    until = scenario["until"]
    dials = {act[2] for act in scenario["do"] if act[1] in ("bind", "mute") and act[3] == "reg"}
    found = []
    for lane in sorted({*recorded, *played}):
        label, _, sock = lane.partition("/")
        share = DIAL_SHARE if sock == "dra" or label in dials else 0.0
        want, got = recorded.get(lane, []), played.get(lane, [])
        found += _lane(lane, want, got, until=until, tolerance_s=tolerance_s, share=share)
    return found


def _without_resets(saw: list[list[Any]], ends: list[float]) -> list[list[Any]]:
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
    for at, lane, what in saw:
        is_call = len(what) > 1 and what[1] in CALLS
        steps = made.setdefault("any/dra calls" if any_instance and is_call else lane, [])
        steps.append((at, what))
        if what == ["open"]:
            _put_before_notify(steps)
    return made


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
    if want[:2] != got[:2] or len(want) != len(got):
        return False
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


def _normalised(text: str) -> str:
    """An error text without its numbers, which count and date."""
    return re.sub(r"\d+", "N", text)
