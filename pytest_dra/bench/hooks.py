"""Commands of the profile's ``hooks``: what a vendor has to make hardware come and go."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

from pytest_dra.bench.claims import Claim
from pytest_dra.bench.devices import Device
from pytest_dra.bench.instance import Instance
from pytest_dra.launch import Component
from pytest_dra.launch import LaunchError
from pytest_dra.launch.component import environment
from pytest_dra.launch.component import find_program
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.timeline import Mark

HOOK_S = 30.0
"""Longest run of a hook: it only makes something happen, and does not wait for the driver."""

PRINTED_MAX = 64 * 1024
"""Bytes of a hook's output that are looked at."""

SHOWN = 200
"""Bytes of a hook's output that are shown where it failed."""


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
) -> str:
    """Run a hook for one instance; placeholders and environment are those of its components.

    ``values`` are further placeholders. Returns the begin of what it prints.

    Raises:
        UnsupportedEnvironment: it cannot be run, fails, or takes too long.
    """
    known = instance.driver.values
    instance.timeline.add(Mark(text=f"{name} runs", instance=instance.name))
    try:
        filled = Component(name=name, command=tuple(command)).filled({**known, **(values or {})})
        env = environment(known, {})
        program = find_program(filled, env, cwd=Path.cwd())
        done = subprocess.run(
            [program, *filled.command[1:]],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=HOOK_S,
            check=False,
        )
    except (LaunchError, OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedEnvironment(f"{name}: {error}", way_out=f"mend {name}") from error
    if done.returncode:
        output = (done.stderr or done.stdout)[-SHOWN:].decode(errors="replace").strip()
        raise UnsupportedEnvironment(
            f"{name} ended with {done.returncode}: {output}", way_out=f"mend {name}"
        )
    return done.stdout[:PRINTED_MAX].decode(errors="replace")
