"""``--dra-init``: one look at the driver, and a file that is a profile."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from pytest_dra.initial import accepted
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import load_profile
from pytest_dra.profile.draft import Finding
from tests.plugin.conftest import Runs
from tests.plugin.test_attach import Attached
from tests.plugin.test_attach import attached

__all__ = ["attached"]

BUNDLED = Path(__file__).parents[2] / "fake_driver" / "dra-profile.yaml"
FAKE = f"exec:{sys.executable} -m pytest_dra.fake_driver"


def written(runs: Runs, name: str = "dra-profile.yaml") -> DriverProfile:
    return load_profile(runs.folder / name)


def test_of_the_fake_driver_it_is_the_bundled_profile_and_what_was_seen(runs: Runs) -> None:
    done = runs.really("--dra-driver=fake", "--dra-init")
    assert done.ret == pytest.ExitCode.OK
    assert done.outlines == [
        "fake.dra.example: 14 devices in 1 pool, no optional feature seen",
        "written: dra-profile.yaml; check each value, then: "
        "pytest --dra-driver=fake --dra-profile=dra-profile.yaml",
    ]
    profile, bundled = written(runs), load_profile(BUNDLED)
    assert profile.launch.state == ("claims/*.json",)
    assert profile.driver.version_attribute == "driverVersion"
    assert profile == dataclasses.replace(
        bundled,
        path=profile.path,
        data=profile.data,
        driver=dataclasses.replace(bundled.driver, version_attribute="driverVersion"),
        launch=dataclasses.replace(bundled.launch, state=("claims/*.json",)),
    )
    assert not (runs.folder / "dra-results").exists()
    runs.really("--dra-driver=fake", "--dra-profile=dra-profile.yaml", "--dra-case=RST-004")
    assert {state for state in runs.states().values() if state != "not-run"} == {"passed"}


def test_of_a_command_it_has_the_component_and_is_enough(runs: Runs) -> None:
    done = runs.really(
        f"--dra-driver={FAKE} --variant=V12", "--dra-init", "--dra-profile=mine.yaml"
    )
    assert done.ret == pytest.ExitCode.OK, done.stderr.str()
    profile = written(runs, "mine.yaml")
    (component,) = profile.launch.components
    assert component.command[1:] == ("-m", "pytest_dra.fake_driver", "--variant=V12")
    assert component.registers
    assert profile.driver.kind_attribute == "kind"
    text = (runs.folder / "mine.yaml").read_text("utf-8")
    assert "(YAML, gone after Unprepare)" in text
    again = runs.really("--dra-profile=mine.yaml", "--dra-case=REG-001,PREP-001")
    states = {id: state for id, state in runs.states().items() if state != "not-run"}
    assert states == {"REG-001": "passed", "PREP-001": "passed"}, again.stdout.str()


def test_an_attached_driver_is_looked_at_as_well(attached: Attached, runs: Runs) -> None:
    attached.judge("--dra-init", "--dra-attach-wait=60")
    attached.attach()
    text = attached.output()
    assert attached.pytest is not None
    assert attached.pytest.returncode == pytest.ExitCode.OK, text
    assert "export KUBECONFIG=" in text
    assert written(runs).driver.name == "fake.dra.example"
    assert written(runs).launch.components == ()


def test_a_driver_that_does_not_come_up(runs: Runs) -> None:
    driver = "exec:sh -c 'echo no licence; exit 3'"
    done = runs.really(f"--dra-driver={driver}", "--dra-init")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    head, told, instance, output = done.outlines
    assert head == (
        "--dra-init: nothing is written, the driver did not come up: "
        "process 'driver' exited with code 3: no licence"
    )
    assert told == "its output ends:"
    assert instance.startswith("--- a-")
    assert output == "no licence"
    assert not {"dra-profile.yaml", "dra-results"} & {each.name for each in runs.folder.iterdir()}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ("--dra-driver=fake",),
            "--dra-init: dra-profile.yaml is there already and is not overwritten; "
            "name another file with --dra-profile=FILE, or move it away",
        ),
        (
            ("--dra-driver=fake", "--dra-profile=none/p.yaml"),
            "--dra-init: cannot write none/p.yaml: there is no directory none",
        ),
        (
            ("--dra-profile=other.yaml",),
            "--dra-init: no driver is named; add --dra-driver='exec:COMMAND LINE', attach or fake",
        ),
        (
            ("--dra-driver=exec:no-such-driver", "--dra-profile=other.yaml"),
            "--dra-driver: the driver's program 'no-such-driver' is not on PATH",
        ),
    ],
    ids=["there", "no-directory", "no-driver", "no-program"],
)
def test_what_is_refused(runs: Runs, arguments: tuple[str, ...], text: str) -> None:
    (runs.folder / "dra-profile.yaml").symlink_to("nowhere")
    done = runs.inside("--dra-init", *arguments)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert [line for line in done.errlines if line] == [f"ERROR: {text}"]
    assert not (runs.folder / "other.yaml").exists()


def test_what_no_profile_can_hold_is_only_told(tmp_path: Path) -> None:
    found = {
        "driver.name": Finding("It registered so.", "Bad_Name"),
        "launch.state": Finding("Seen.", ["x"]),
        "injection.absent_paths": Finding("Seen.", ["/dev/x" * 1000]),
    }
    file = tmp_path / "p.yaml"
    file.write_text(accepted("a head", found), "utf-8")
    profile = load_profile(file)
    assert profile.driver.name == ""
    assert profile.launch.state == ("x",)
    assert profile.injection.absent_paths is None
    assert "Seen, and not accepted here: got 'Bad_Name'" in file.read_text("utf-8")
