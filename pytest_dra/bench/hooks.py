"""The profile's ``hooks``, as commands or functions: they change hardware, or show it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.bench.claims import Claim
from pytest_dra.bench.devices import Device
from pytest_dra.bench.instance import Instance
from pytest_dra.launch import Component
from pytest_dra.launch import LaunchError
from pytest_dra.launch import oneshot
from pytest_dra.launch.component import environment
from pytest_dra.launch.component import find_program
from pytest_dra.profile.plugged import Plugged
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.timeline import Mark

HOOK_S: Final = 30.0
"""Longest run of a hook: it only makes something happen, and does not wait for the driver."""

PRINTED_MAX: Final = 64 * 1024
"""Bytes of a hook's output that are looked at."""

SHOWN: Final = 400
"""Bytes of a hook's complaints that are shown where it failed."""

PREFIX: Final = "DRA_"
"""How the variables of a hook begin that have what it is about (``DRA_DEVICE``)."""


def values_of(claim: Claim, device: Device) -> dict[str, str]:
    """Placeholders of a hook that is about a claim and a device that it holds."""
    return {
        "claim_uid": claim.uid,
        "claim_name": claim.name,
        "claim_namespace": claim.namespace,
        "pool": device.pool,
        "device": device.name,
    }


def run(
    instance: Instance,
    command: Sequence[str],
    *,
    name: str,
    values: Mapping[str, str] | None = None,
    appended: Sequence[str] = (),
) -> str:
    """Run a hook for one instance; placeholders and environment are those of its components.

    Args:
        instance: whose directories and node the hook is told.
        command: of the profile; a function of a plugin goes before it.
        name: of the field, such as ``hooks.fault``.
        values: further placeholders and variables; the keywords of a function.
        appended: further arguments of a command.

    Returns:
        The begin of what it prints.

    Raises:
        UnsupportedEnvironment: it cannot be run, fails, or takes too long.
    """
    more = dict(values or {})
    instance.timeline.add(Mark(text=f"{name} runs", instance=instance.name, data=more or None))
    known = instance.driver.values
    if isinstance(command, Plugged):
        printed = _called(command, name, {"driver": known, **more, **command.more})
        if printed is not None:
            return printed[:PRINTED_MAX]
        if not len(command):
            raise _broken(name, f"no {_function(command)} knows how; each has returned None")
    return _executed((*command, *appended), name, known, more)


def _executed(
    command: Sequence[str], name: str, known: Mapping[str, str], more: Mapping[str, str]
) -> str:
    try:
        filled = Component(name=name, command=tuple(command)).filled({**known, **more})
        own = {f"{PREFIX}{key.upper()}": text for key, text in more.items()}
        env = environment(known, {f"{PREFIX}HOOK": name, **own})
        program = find_program(filled, env, cwd=Path.cwd())
        done = oneshot.run(
            [program, *filled.command[1:]], env, timeout_s=HOOK_S, begin=PRINTED_MAX, end=SHOWN
        )
    except LaunchError as error:
        raise _broken(name, str(error).removeprefix(f"component {name!r}: ")) from error
    if done.code:
        said = done.complained or done.printed[-SHOWN:].strip() or "(no output)"
        raise _broken(name, f"ended with {done.code}: {said}")
    return done.printed


def _called(command: Plugged, name: str, keywords: Mapping[str, Any]) -> str | None:
    """What a function returns, in a thread of its own: there is no other way to give it up."""
    answer: Future[Any] = Future()

    def work() -> None:
        try:
            answer.set_result(command.call(**keywords))
        except BaseException as error:
            answer.set_exception(error)

    function = _function(command)
    threading.Thread(target=work, name=function, daemon=True).start()
    try:
        found = answer.result(HOOK_S)
    except FutureTimeoutError as error:
        if not answer.done():
            raise _broken(name, f"{function} has not returned within {HOOK_S:g} s") from error
        raise _raised(name, function, error) from error
    except BaseException as error:
        if not answer.done():
            # An interrupt of the run itself.
            raise
        raise _raised(name, function, error) from error
    if found is None or isinstance(found, str):
        return found
    if found is not True:
        raise _broken(name, f"{function} returned {found!r:.100}, want a text, True or None")
    return ""


def _raised(name: str, function: str, error: BaseException) -> UnsupportedEnvironment:
    return _broken(name, f"{function} raised {type(error).__name__}: {error}"[:SHOWN])


def _function(command: Plugged) -> str:
    return f"pytest_dra_{command.name}"


def _broken(name: str, why: str) -> UnsupportedEnvironment:
    return UnsupportedEnvironment(f"{name}: {why}", way_out=f"mend {name}")
