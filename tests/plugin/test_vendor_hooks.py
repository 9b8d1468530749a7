"""A driver with a vendor's hooks: as commands of the profile, and as functions of a conftest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from tests.faults.faulty import FEATURED
from tests.faults.faulty import SHORT
from tests.plugin.conftest import Runs
from tests.sweep.profiles import profile_with

VENDOR = Path(__file__).with_name("vendor.py")

CASES = "TAINT-005,PART-007,CONF-006,ROB-010,META-004,RST-011"
"""One of each hook; the first three are MUSTs."""

DRIVER = (sys.executable, "-m", "pytest_dra.fake_driver", "--instance-uid={pod_uid}")
FEATURES = "--features=taints,notices,partitions,dynamic,metadata"

CONFTEST = """
from pathlib import Path

def pytest_dra_fault(driver, device):
    Path(driver["driver_dir"], f"faulty-{device}").touch()
    return True

def pytest_dra_heal(driver, device):
    Path(driver["driver_dir"], f"faulty-{device}").unlink()
    return True

def pytest_dra_hotplug(driver, action):
    unplugged = Path(driver["driver_dir"], "unplugged")
    unplugged.touch() if action == "remove" else unplugged.unlink()
    return True

def pytest_dra_inventory(driver):
    return "\\n".join(each.name for each in Path(driver["driver_dir"], "partitions").iterdir())

def pytest_dra_metadata_update(driver, claim_uid):
    Path(driver["driver_dir"], f"update-{claim_uid}").touch()
    return True

def pytest_dra_observe(driver, device):
    raise LookupError(f"nothing shows {device}")

def pytest_dra_previous():
    return PREVIOUS
"""


def option_with(runs: Runs, **changes: Any) -> str:
    """The profile of a driver in processes of its own, without hooks but these; its option."""
    made = profile_with(SHORT, *FEATURED)
    del made["hooks"], made["manifests"], made["launch"]["previous"]
    component = {"name": "driver", "command": [*DRIVER, FEATURES], "registers": True}
    made["launch"] = {**made["launch"], **changes.pop("launch", {}), "components": [component]}
    for feature in ("ConsumableCapacity", "BindingConditions", "DeviceHealth", "HealthMessage"):
        del made["features"][feature]
    del made["features"]["DeviceStatus"]
    made["features"]["Hotplug"] = {"supported": True}
    (runs.folder / "profile.yaml").write_text(yaml.safe_dump({**made, **changes}), "utf-8")
    return "--dra-profile=profile.yaml"


def command(hook: str) -> list[str]:
    return [sys.executable, str(VENDOR), hook, "{driver_dir}"]


def test_commands_of_the_profile_judge_a_driver_that_is_a_process(runs: Runs) -> None:
    single = ("fault", "heal", "inventory", "observe", "metadata_update")
    hooks = {
        **{name: command(name) for name in single},
        "hotplug": {action: command(action) for action in ("add", "remove")},
    }
    previous = {"previous": {"command": [*DRIVER, FEATURES, "--state-version=1"]}}
    runs.really(option_with(runs, hooks=hooks, launch=previous), f"--dra-case={CASES}")
    chosen = CASES.split(",")
    assert {id: runs.states()[id] for id in chosen} == dict.fromkeys(chosen, "passed")


def test_functions_of_a_conftest_do_the_same_and_are_named_where_they_fail(runs: Runs) -> None:
    previous = [*DRIVER, FEATURES, "--state-version=1"]
    (runs.folder / "conftest.py").write_text(f"PREVIOUS = {previous!r}\n{CONFTEST}", "utf-8")
    done = runs.really(option_with(runs), f"--dra-case={CASES}")
    done.stdout.fnmatch_lines(
        ["dra: hooks of pytest plugins: observe, inventory, fault, heal, hotplug, metadata_update"]
    )
    cases = runs.cases()
    states = {id: cases[id]["state"] for id in CASES.split(",")}
    assert states.pop("CONF-006") == "unsupported-environment"
    assert states == dict.fromkeys(states, "passed")
    assert cases["CONF-006"]["reason"].startswith(
        "hooks.observe: pytest_dra_observe raised LookupError: nothing shows "
    )


def test_a_case_that_lacks_a_hook_says_which_field_or_function_would_run_it(runs: Runs) -> None:
    done = runs.apart(option_with(runs), "--dra-case=TAINT-005,PART-007")
    for field in ("fault", "inventory"):
        done.stdout.fnmatch_lines(
            [f"*give hooks.{field} (*) in the profile (--dra-profile), or implement pytest_dra_*"]
        )


def test_a_previous_release_that_is_no_command_is_refused(runs: Runs) -> None:
    (runs.folder / "conftest.py").write_text("def pytest_dra_previous():\n    return 'x'\n")
    done = runs.apart(option_with(runs))
    done.stderr.fnmatch_lines(["*pytest_dra_previous: got 'x', want a command as a list of words"])
