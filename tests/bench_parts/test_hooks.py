"""Hooks of vendors: commands and functions, what they are told, and how their failures are told."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import Any
from typing import cast

import pytest

from pytest_dra.bench import hooks
from pytest_dra.bench.instance import Instance
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import PLACEHOLDERS
from pytest_dra.profile.plugged import Plugged
from pytest_dra.profile.plugged import plugged
from pytest_dra.profile.plugged import with_calls
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.timeline import Timeline

VALUES = {"pool": "p", "device": "gpu-0"}


@pytest.fixture
def instance() -> Instance:
    values = {name: f"/{name}" for name in PLACEHOLDERS}
    made = SimpleNamespace(name="a", timeline=Timeline(), driver=SimpleNamespace(values=values))
    return cast("Instance", made)


def broken(instance: Instance, command: tuple[str, ...], name: str = "hooks.fault") -> str:
    with pytest.raises(UnsupportedEnvironment) as caught:
        hooks.run(instance, command, name=name, values=VALUES)
    assert caught.value.way_out == f"mend {name}"
    return str(caught.value)


def test_a_command_gets_placeholders_variables_and_no_shell(instance: Instance) -> None:
    script = "import os, sys; print(sys.argv[1:], os.environ['DRA_HOOK'], os.environ['DRA_DEVICE'])"
    command = (sys.executable, "-c", script, "{device}", "{node}", "$HOME;ls")
    printed = hooks.run(instance, command, name="hooks.fault", values=VALUES, appended=("4",))
    assert printed == "['gpu-0', '/node', '$HOME;ls', '4'] hooks.fault gpu-0\n"
    assert [entry.event.text for entry in instance.timeline.all()] == ["hooks.fault runs"]


def test_a_command_that_fails_is_told_by_the_hooks_name_with_its_complaint(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert broken(instance, ("sh", "-c", "echo no such device >&2; exit 3")) == (
        "hooks.fault: ended with 3: no such device"
    )
    assert broken(instance, ("sh", "-c", "echo out; exit 1")).endswith("ended with 1: out")
    assert "'./nothing' not found" in broken(instance, ("./nothing",))
    assert broken(instance, ("true", "{claim}")).startswith("hooks.fault: placeholder {claim}")
    monkeypatch.setattr(hooks, "HOOK_S", 0.3)
    assert broken(instance, ("sleep", "20")) == "hooks.fault: has not ended within 0.3 s"


def test_no_more_is_kept_of_the_output_than_is_looked_at(instance: Instance) -> None:
    command = (sys.executable, "-c", "print('x' * 1_000_000)")
    assert len(hooks.run(instance, command, name="hooks.inventory")) == hooks.PRINTED_MAX


def test_a_function_goes_before_the_command_which_is_left_what_it_does_not_know(
    instance: Instance,
) -> None:
    asked = []

    def fault(**keywords: Any) -> str | bool | None:
        asked.append(keywords)
        answers: dict[str, str | bool] = {"gpu-0": "broken", "gpu-1": True}
        return answers.get(keywords["device"])

    def run(device: str, command: tuple[str, ...] = ("echo", "{device}")) -> str:
        values = {"pool": "p", "device": device}
        hook = Plugged(fault, "fault", command)
        return hooks.run(instance, hook, name="hooks.fault", values=values)

    assert [run(f"gpu-{number}") for number in range(3)] == ["broken", "", "gpu-2\n"]
    assert asked[0] == {"driver": instance.driver.values, "pool": "p", "device": "gpu-0"}
    with pytest.raises(UnsupportedEnvironment, match=r"no pytest_dra_fault knows how"):
        run("gpu-2", ())


def test_a_function_that_fails_or_does_not_return_is_told(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def calling(does: Any) -> Plugged:
        return Plugged(lambda **_: does(), "heal")

    def fails() -> None:
        raise ValueError("no device gpu-0")

    def late() -> None:
        raise TimeoutError("of its own")

    name = "hooks.heal"
    said = broken(instance, calling(fails), name)
    assert said == "hooks.heal: pytest_dra_heal raised ValueError: no device gpu-0"
    assert "raised TimeoutError: of its own" in broken(instance, calling(late), name)
    assert "raised Failed: no" in broken(instance, calling(lambda: pytest.fail("no")), name)
    assert "raised SystemExit" in broken(instance, calling(sys.exit), name)
    assert "returned 5, want a text, True or None" in broken(instance, calling(lambda: 5), name)
    monkeypatch.setattr(hooks, "HOOK_S", 0.1)
    ends = threading.Event()
    try:
        said = broken(instance, calling(ends.wait), name)
        assert said == "hooks.heal: pytest_dra_heal has not returned within 0.1 s"
    finally:
        ends.set()


def test_a_profile_gives_what_functions_stand_for() -> None:
    def told(**keywords: Any) -> str:
        return str(keywords)

    found = with_calls(DEFAULT_PROFILE, {"fault": told, "hotplug": told})
    assert (found.gives("hooks.fault"), found.gives("hooks.heal")) == (True, False)
    assert found.gives("hooks.hotplug")
    assert plugged(found) == ["fault", "hotplug"]
    assert plugged(DEFAULT_PROFILE) == []
    assert found.hooks.hotplug is not None
    add = found.hooks.hotplug.add
    assert isinstance(add, Plugged)
    assert add.more == {"action": "add"}
