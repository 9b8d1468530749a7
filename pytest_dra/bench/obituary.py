"""What has become of a driver, in one line: mostly it explains what a case finds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dra.api.names import driver_name_error
from pytest_dra.bench import abroad
from pytest_dra.checks import prepare
from pytest_dra.checks import rights
from pytest_dra.launch import Driver
from pytest_dra.spec import Blocked
from pytest_dra.spec import Violation
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry
from pytest_dra.timeline import ProcessEvent
from pytest_dra.timeline import RegistrationCall

if TYPE_CHECKING:
    from pytest_dra.bench.instance import Instance
    from pytest_dra.bench.warnings import Warnings

STOPPED = frozenset({"T", "t"})
"""States of a process that stands still until SIGCONT, or because of a debugger (proc(5))."""

ENDED = "exit"
"""What :class:`ProcessEvent` calls the end of a process."""

FOREGROUND = "; a driver has to stay in the foreground"
"""What is added where a process has ended as if its work were done, as a daemon's parent does."""


def obituary_of(driver: Driver) -> str:
    """The first of its processes that nobody asked to end; empty while all run."""
    for end in driver.early_exits():
        if end.exit_code is None and not end.log_tail:
            return f"process {end.component!r} has ended"
        last = (end.log_tail.strip().splitlines() or ["(no output)"])[-1]
        hint = FOREGROUND if end.exit_code == 0 else _unmade(driver, last)
        return f"process {end.component!r} exited with code {end.exit_code}: {last}{hint}"
    return ""


def add_condition(violation: Violation, instance: Instance) -> None:
    """Say in a finding what is wrong with the driver as a process, its node or its rights."""
    driver, place = instance.driver, instance.place
    abroad.look(instance)
    for fact in (
        obituary_of(driver),
        _standstill_of(driver),
        place.directories.damage(),
        lacking(instance),
        abroad.told(place.abroad.found, after=str(violation.got)) if place.abroad else "",
    ):
        if fact and fact not in str(violation.got):
            violation.got = f"{violation.got}; {fact}"


def explain(instance: Instance, error: BaseException) -> None:
    """Say in what a case has found what has become of driver and node, which mostly explains it."""
    found = error.finding if isinstance(error, Blocked) else error
    if isinstance(found, Violation):
        instance.add_obituary(found)


def unheard(instance: Instance, *, by: str) -> Blocked:
    """What a case raises that needs a driver which answers Unprepare, as ``by`` judges."""
    blocked = Blocked(by, prepare.silence())
    explain(instance, blocked)
    return blocked


def ending(instance: Instance, warnings: Warnings) -> str:
    """Why the next case needs a new process; a warning where the end was nobody's doing.

    A kubelet would start the container again, and nobody would see it but in its restarts.
    """
    end, word = first_end(instance), instance.obituary()
    if word and end is not None and not end.disturbed:
        warnings.add(f"{word}; nobody had given it a reason to end")
    return "the driver has ended"


def first_end(instance: Instance) -> Entry[ProcessEvent] | None:
    """The end of the first process of the driver since its newest start; None while all run."""
    ends = instance.timeline.entries(
        ProcessEvent,
        since=instance.started_serial,
        where=lambda event: event.instance == instance.name and event.action == ENDED,
    )
    return ends[0] if ends and instance.over else None


def unfit(instance: Instance, user: str) -> str:
    """Why a driver may not have come up that is no fault of its own; empty for any other.

    ``user``: as whom its containers run, whatever image and pod say; "" if as they say.
    """
    end = first_end(instance)
    if not user or end is None or end.disturbed or end.event.exit_code == 0:
        return ""
    if instance.timeline.entries(RegistrationCall, where=_is_accepted):
        return ""
    return (
        f"{obituary_of(instance.driver)}; {as_whom(user)}. Run pytest as root, or with a rootless "
        "engine (--dra-engine)"
    )


def as_whom(user: str) -> str:
    """Why containers run as a user of whom image and pod say nothing."""
    return f"containers run as {user}, since the engine is root's and this user is not root"


def _is_accepted(call: RegistrationCall) -> bool:
    return call.request.get("plugin_registered") is True


def lacking(instance: Instance) -> str:
    """The rights for want of which the API server refused something; empty if there are none."""
    user, driver = instance.user, instance.driver_name or ""
    asked = instance.timeline.entries(
        ApiRequest, disturbed=False, where=lambda event: event.identity == user
    )
    return rights.told(rights.missing((entry.event for entry in asked), driver=driver))


def _unmade(driver: Driver, last: str) -> str:
    """A way out for one that wants its data directory made, as a pod's ``hostPath`` makes it."""
    plugins = Path(driver.values["plugins_dir"])
    found = re.search(rf"{re.escape(str(plugins))}/([A-Za-z0-9.-]+)(?=/)", last)
    if found is None or Path(found[0]).is_dir() or driver_name_error(found[1]):
        return ""
    return f"; this directory is made before the start where --dra-driver-name={found[1]} is given"


def _standstill_of(driver: Driver) -> str:
    for name, process in driver.processes.items():
        if process.alive and _state_of(process.pid) in STOPPED:
            return f"process {name!r} stands still: it was stopped by a signal"
    return ""


def _state_of(pid: int) -> str:
    try:
        # The command may contain blanks and brackets; the state comes after the last one.
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
