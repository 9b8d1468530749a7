"""Options: flag over environment over ini file over profile over default; the header says so."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.bench.soak import Soak
from pytest_dra.cel.engines import NAMES
from pytest_dra.options import CEL_ENGINES
from pytest_dra.options import KUBERNETES_VERSIONS
from pytest_dra.options import OPTIONS
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.options import check_platform
from pytest_dra.options import resolve
from pytest_dra.planning import plan_of
from pytest_dra.refusals import check_later_features
from tests.plugin.conftest import EVERY
from tests.plugin.conftest import Runs

PROFILE = """
apiVersion: pytest-dra.dev/v1alpha1
kind: DriverProfile
driver: {name: profile.example.com}
launch:
  components: [{name: plugin, command: ["true"], registers: true}]
"""


def settings(
    *,
    flags: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    ini: Mapping[str, object] | None = None,
    folder: Path | None = None,
) -> Settings:
    return resolve(
        flag=(flags or {}).get, ini=(ini or {}).get, environ=environ or {}, ini_directory=folder
    )


VALUES = {
    "dra_kubernetes": ("1.34", "1.35", "1.36"),
    "dra_cdi_library": ("1.1.0", "1.1.2", "1.1.0"),
    "dra_cel_engine": ("cel-python", "own", "cel-python"),
    "dra_allocator": ("kube-scheduler", "reference", "kube-scheduler"),
    "dra_suite": ("only", "with", "off"),
    "dra_logs": ("never", "always", "on-failure"),
    "dra_benches": ("2", "3", "1"),
    "dra_deadlines": ("lifted", "kept", "lifted"),
    "dra_require": ("partial", "conformant", "partial"),
}
"""Legal values of options with choices: for flag, environment, ini."""


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.dest)
def test_each_source_wins_over_those_below_it(option: object) -> None:
    assert isinstance(option, type(OPTIONS[0]))
    name = option.dest
    boolean = ("true", "false", "true")
    flag, environment, ini = boolean if option.flag else VALUES.get(name, ("f", "e", "i"))
    flags, environ, inis = {name: flag}, {option.variable: environment}, {name: ini}
    found = [
        settings(flags=flags, environ=environ, ini=inis),
        settings(environ=environ, ini=inis),
        settings(ini=inis),
        settings(),
    ]
    assert [(each[name], each.origin(name)) for each in found] == [
        (flag, "command line"),
        (environment, f"environment {option.variable}"),
        (ini, "ini"),
        (option.default, "default"),
    ]


def test_a_value_that_is_found_out_keeps_its_origin() -> None:
    found = settings(ini={"dra_cdi_library": "auto"}).instead("dra_cdi_library", "1.1.2")
    assert (found["dra_cdi_library"], found.origin("dra_cdi_library")) == ("1.1.2", "ini")


@pytest.mark.parametrize("kubernetes", KUBERNETES_VERSIONS)
def test_the_cdi_library_is_that_of_containerd_unless_one_is_given(kubernetes: str) -> None:
    flags = {"dra_driver": "fake", "dra_kubernetes": kubernetes}
    complete, plan = plan_of(settings(flags=flags))
    assert plan.cdi_library == complete["dra_cdi_library"] == "1.1.0"
    complete, plan = plan_of(settings(flags={**flags, "dra_cdi_library": "1.1.2"}))
    assert plan.cdi_library == complete["dra_cdi_library"] == "1.1.2"


def test_an_engine_whose_package_is_missing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    given = settings(flags={"dra_driver": "fake", "dra_cel_engine": "cel-python"})
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(OptionError, match=r"pip install 'pytest-dra\[cel\]', or use"):
        plan_of(given)
    assert plan_of(settings(flags={"dra_driver": "fake"}))[1].cel_engine == "own"


def test_histories_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "history.txt"
    file.write_text("# of yesterday\nABAb\n", "utf-8")
    given = settings(flags={"dra_driver": "fake", "dra_replay": str(file)})
    assert plan_of(given)[1].replay == ("ABAb",)
    file.write_text("AZ", "utf-8")
    with pytest.raises(OptionError, match=r"--dra-replay: .*'Z' is no step of a history"):
        plan_of(given)
    file.write_text("ABAb\n" * 20_000, "utf-8")
    with pytest.raises(OptionError, match=r"--dra-replay: .*history.txt: more than 65536 bytes"):
        plan_of(given)


def test_a_soak_has_a_seed_that_is_shown() -> None:
    given = settings(flags={"dra_driver": "fake", "dra_soak": "true"})
    assert "soak-seed=1 (default)" in given.described()
    assert plan_of(given)[1].soak == Soak(on=True, seed=1)
    given = settings(flags={"dra_driver": "fake"}, environ={"PYTEST_DRA_SOAK_SEED": "-7"})
    assert plan_of(given)[1].soak == Soak(on=False, seed=-7)
    assert not [each for each in settings().described() if each.startswith("soak")]


def test_a_seed_that_is_no_number_is_refused() -> None:
    given = settings(flags={"dra_driver": "fake", "dra_soak_seed": "x"})
    with pytest.raises(OptionError, match="--dra-soak-seed: got 'x', want a whole number"):
        plan_of(given)


def test_the_names_of_the_engines_are_those_of_the_package() -> None:
    assert CEL_ENGINES == NAMES


def test_a_profile_stands_above_the_default_and_below_everything_else() -> None:
    values = {"dra_driver_name": "profile.example.com"}
    assert settings().with_profile(values).origin("dra_driver_name") == "profile"
    given = settings(ini={"dra_driver_name": "ini.example.com"}).with_profile(values)
    assert given["dra_driver_name"] == "ini.example.com"


def test_an_empty_variable_is_no_value_and_an_empty_flag_is_the_default() -> None:
    environ = {"PYTEST_DRA_OUTPUT": "", "PYTEST_DRA_DRIVER": "fake"}
    found = settings(flags={"dra_driver": ""}, environ=environ, ini={"dra_output": "ini"})
    assert found["dra_output"] == "ini"
    assert (found["dra_driver"], found.origin("dra_driver")) == ("", "command line")


def test_relative_paths_of_the_ini_file_start_beside_it() -> None:
    ini = {"dra_output": "out", "dra_profile": "/absolute/x.yaml"}
    found = settings(ini=ini, folder=Path("/project"))
    assert found["dra_output"] == "/project/out"
    assert found["dra_profile"] == "/absolute/x.yaml"


@pytest.mark.parametrize("word", ["1", "true", "YES", "on", "0", "False", "no", "off"])
def test_switches_take_the_usual_words(word: str) -> None:
    found = settings(environ={"PYTEST_DRA_STRICT": word})
    assert found.strict is (word.lower() in ("1", "true", "yes", "on"))


@pytest.mark.parametrize(
    ("sources", "text"),
    [
        (
            {"environ": {"PYTEST_DRA_STRICT": "perhaps"}},
            "PYTEST_DRA_STRICT: got 'perhaps', want true or false",
        ),
        (
            {"ini": {"dra_suite": "all"}},
            "dra_suite (ini): got 'all', want one of auto, only, with, off",
        ),
        (
            {"flags": {"dra_require": "some"}},
            "--dra-require: got 'some', want one of conformant, partial",
        ),
        (
            {"flags": {"dra_logs": "now"}},
            "--dra-logs: got 'now', want one of never, on-failure, always",
        ),
        (
            {"environ": {"PYTEST_DRA_KUBERNETES": "1.33"}},
            "PYTEST_DRA_KUBERNETES: got '1.33', want one of 1.34, 1.35, 1.36, 1.37",
        ),
    ],
)
def test_a_value_that_is_no_choice_is_refused_as_it_was_spelled(
    sources: dict[str, Any], text: str
) -> None:
    with pytest.raises(OptionError) as caught:
        settings(**sources)
    assert str(caught.value) == text


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_than_on_linux_one_sentence_says_so(platform: str) -> None:
    with pytest.raises(OptionError) as caught:
        check_platform(platform)
    assert str(caught.value) == (
        f"--dra-driver: pytest-dra judges drivers on Linux only (this is {platform}): "
        "run it in a Linux container or virtual machine"
    )


def test_linux_and_an_embedded_cluster_are_fine() -> None:
    check_platform("linux")
    check_later_features(settings(flags={"dra_driver": "fake --fault=REG-001"}))


def test_the_header_names_the_origin_of_each_value(runs: Runs) -> None:
    (runs.folder / "p.yaml").write_text(PROFILE)
    (runs.folder / "inner").mkdir()
    runs.pytester.makeini("[pytest]\ndra_profile = p.yaml\ndra_output = out\n")
    runs.environment(PYTEST_DRA_KUBERNETES="1.35", PYTEST_DRA_STRICT="yes")
    done = runs.judge("--dra-require=partial", "--dra-case=prep-001", "-c", "tox.ini")
    header = next(line for line in done.outlines if line.startswith("dra: driver-name"))
    assert header.split(": ", 1)[1].split(", ") == [
        "driver-name=profile.example.com (profile)",
        f"profile={runs.folder}/p.yaml (ini)",
        "cluster=embedded (default)",
        "kubernetes=1.35 (environment PYTEST_DRA_KUBERNETES)",
        f"output={runs.folder}/out (ini)",
        "strict=true (environment PYTEST_DRA_STRICT)",
        "require=partial (command line)",
        "case=prep-001 (command line)",
    ]
    done.stdout.fnmatch_lines(["dra: judging fake (command line), pytest-dra *, 1 cases"])
    origins = {each["name"]: each["source"] for each in runs.report("out")["options"]}
    assert origins["--dra-output"] == "ini"
    assert origins["--dra-driver-name"] == "profile"
    assert origins["--dra-logs"] == "default"


def test_a_profile_alone_is_a_driver(runs: Runs) -> None:
    (runs.folder / "p.yaml").write_text(PROFILE)
    done = runs.inside("--dra-profile=p.yaml", "--dra-case=PREP-001", "--dra-require=partial")
    done.assert_outcomes(passed=1, deselected=EVERY - 1)
    done.stdout.fnmatch_lines(["dra: judging the profile's components (command line), *"])


def test_the_header_says_why_cases_are_not_judged_beside_each_other(runs: Runs) -> None:
    unknown = ("--dra-driver=exec:/bin/true", "--dra-case=PREP-001,PREP-002")
    told = "dra: one case at a time, *--dra-benches=4*launch.hardware: fake*"
    runs.inside(*unknown).stdout.fnmatch_lines([told])
    runs.inside(*unknown, "--dra-benches=1").stdout.no_fnmatch_line(told)
    runs.judge("--dra-case=PREP-001,PREP-002").stdout.no_fnmatch_line(told)


def test_an_ini_file_may_be_overridden_for_one_run(runs: Runs) -> None:
    runs.pytester.makeini("[pytest]\ndra_kubernetes = 1.34\n")
    runs.judge("-o", "dra_kubernetes=1.36", "--dra-case=PREP-001")
    assert runs.report()["verdictOf"]["kubernetes"] == "1.36"


def test_an_unset_switch_of_an_old_pytest_is_not_set() -> None:
    assert settings(ini={"dra_strict": []}).origin("dra_strict") == "default"
