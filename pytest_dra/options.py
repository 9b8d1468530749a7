"""The ``--dra-*`` options: flag > environment > ini > profile > default, and where each came from.

Standard library only: this module is imported by every pytest run of the environment. No
dataclasses here: making one costs half a millisecond.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from typing import NamedTuple

from pytest_dra.api.releases import LATEST
from pytest_dra.api.releases import VERSIONS
from pytest_dra.clusteroptions import CLUSTER_OPTIONS
from pytest_dra.option import Option

KUBERNETES_VERSIONS: Final = VERSIONS
SUITES: Final = ("auto", "only", "with", "off")
LOGS: Final = ("never", "on-failure", "always")
VERDICTS_REQUIRED: Final = ("conformant", "partial")
DEADLINES: Final = ("kept", "lifted")
ATTACH: Final = "attach"
AUTO: Final = "auto"
BENCHES: Final = (AUTO, *(str(number) for number in range(1, 9)))
CDI_LIBRARIES: Final = (AUTO, "1.1.0", "1.1.2")
CEL_OWN: Final = "own"
CEL_PYTHON: Final = "cel-python"
CEL_ENGINES: Final = (CEL_OWN, CEL_PYTHON)
REFERENCE: Final = "reference"
KUBE_SCHEDULER: Final = "kube-scheduler"
ALLOCATORS: Final = (REFERENCE, KUBE_SCHEDULER)

FLAG: Final = "command line"
DEFAULT: Final = "default"
PROFILE: Final = "profile"
INI: Final = "ini"

STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"
"""Where a step of GitHub Actions (and of what follows its example) puts Markdown to be shown."""

SEED: Final = "dra_soak_seed"
"""Shown in each soak, since it belongs to what is found."""

NOT_GIVEN: Final[tuple[object, ...]] = (None, "", [])
"""What pytest says of an ini value that is not there; the list is that of pytest 8.0."""

TRUE_WORDS: Final = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS: Final = frozenset({"0", "false", "no", "off", ""})


class OptionError(Exception):
    """An option has a value that cannot be used; the text names option, value and way out."""


OPTIONS: Final = (
    Option(
        "--dra-driver",
        "the driver to judge: fake [ARGUMENTS] (bundled), exec:COMMAND LINE (with placeholders "
        "{kubeconfig} {node} {driver_name} {registry_dir} {plugins_dir} {driver_dir} {cdi_dir} "
        "{static_cdi_dir} {pod_uid}), attach (its environment is shown, and a driver waited for "
        "that you start yourself, in a debugger for example), or an image",
        "",
        "fake|exec:COMMAND|attach|IMAGE",
    ),
    Option(
        "--dra-attach-wait",
        "seconds that a driver is waited for with --dra-driver=attach",
        "600",
        "SECONDS",
    ),
    Option(
        "--dra-deadlines",
        "lifted: no call, start or publication is given up within an hour, for a driver that "
        "stands still in a debugger; cases that judge lateness are unsupported-environment",
        "kept",
        "WHICH",
        choices=DEADLINES,
    ),
    Option("--dra-driver-name", "name that the driver must register under", "", "NAME"),
    Option("--dra-objects", "judge these objects, no driver", "", "FILE|-|kubeconfig[:CONTEXT]"),
    Option("--dra-profile", "profile file of the driver (dra-profile.yaml)", "", "FILE"),
    Option(
        "--dra-init", "look at the driver once and write a first profile file", "false", flag=True
    ),
    *CLUSTER_OPTIONS,
    Option(
        "--dra-kubernetes",
        "Kubernetes version to judge for",
        LATEST,
        "VERSION",
        choices=KUBERNETES_VERSIONS,
    ),
    Option(
        "--dra-feature-gates",
        "feature gates of the API server that are not at the defaults of the Kubernetes version",
        "",
        "A=true,B=false",
    ),
    Option(
        "--dra-cdi-library",
        "version of the CDI library that reads the specs, as container runtimes have it; auto: "
        "that of containerd at the time of that Kubernetes version",
        AUTO,
        "VERSION",
        choices=CDI_LIBRARIES,
    ),
    Option(
        "--dra-cel-engine",
        "what evaluates device selectors: own, or as a second opinion cel-python (pip install "
        "'pytest-dra[cel]'; without the parts that Kubernetes adds)",
        CEL_OWN,
        "ENGINE",
        choices=CEL_ENGINES,
    ),
    Option(
        "--dra-allocator",
        "what gives devices to pods: reference (our own), or a whole cluster's kube-scheduler; "
        "default: the latter where there is one",
        "",
        "ALLOCATOR",
        choices=ALLOCATORS,
    ),
    Option(
        "--dra-suite",
        "only: the packaged cases; with: your tests beside them; off: your tests; auto: the "
        "packaged cases where the command line names a driver and no paths, paths alone where it "
        "names some, and both where the driver comes from environment or ini file",
        "auto",
        "WHICH",
        choices=SUITES,
    ),
    Option("--dra-output", "directory for the report", "dra-results", "DIR"),
    Option(
        "--dra-summary",
        "file to which the summary is appended as Markdown, besides $GITHUB_STEP_SUMMARY",
        "",
        "FILE",
    ),
    Option(
        "--dra-logs",
        "keep logs and traffic of cases below the output directory",
        "on-failure",
        "WHEN",
        choices=LOGS,
    ),
    Option(
        "--dra-jail",
        "the driver sees its own /var/lib/kubelet, /var/run/cdi, /etc/cdi and boot id, and the "
        "trees of launch.trees, in a mount namespace (root, or a kernel with user namespaces)",
        "false",
        flag=True,
    ),
    Option(
        "--dra-benches",
        "so many cases at most are judged at the same time, each on a bench and driver processes "
        "of its own; 1: one after the other; auto: 4 where launch.hardware is fake or none and the "
        "API server is not apiserver, else 1; on a kind cluster with pods of their own",
        AUTO,
        "N",
        choices=BENCHES,
    ),
    Option("--dra-soak", "cases that can do more do more, and wait longer", "false", flag=True),
    Option("--dra-soak-seed", "whole number by which a soak chooses what it does", "1", "NUMBER"),
    Option("--dra-replay", "histories that IDEM-009 plays, as a failure leaves them", "", "FILE"),
    Option("--dra-strict", "a failed SHOULD fails the run", "false", flag=True),
    Option(
        "--dra-require",
        "lowest verdict that exits 0",
        "conformant",
        "VERDICT",
        choices=VERDICTS_REQUIRED,
    ),
    Option(
        "--dra-case",
        "only these cases: ids, areas, patterns or conformance profiles, by comma "
        "(PREP-006,IDEM-*,REG,CLUSTER-CORE)",
        "",
        "IDS",
    ),
)


class Setting(NamedTuple):
    """A value and its origin: ``command line``, ``environment NAME``, ``ini``, ``profile``..."""

    value: str
    origin: str


class Settings:
    """All options, resolved; look-up by ``dest`` name, e.g. ``settings["dra_driver"]``.

    ``environ`` names the kubeconfig of a cluster that exists, as for kubectl.
    """

    __slots__ = ("by_name", "environ")

    def __init__(
        self, by_name: Mapping[str, Setting], *, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.by_name = by_name
        self.environ = environ

    def __getitem__(self, name: str) -> str:
        return self.by_name[name].value

    def origin(self, name: str) -> str:
        """Where the value came from."""
        return self.by_name[name].origin

    @property
    def active(self) -> bool:
        """True when a driver is to be judged: one is named, or its profile is."""
        return bool(self["dra_driver"] or self["dra_profile"])

    @property
    def strict(self) -> bool:
        """A failed SHOULD fails the run."""
        return self["dra_strict"] == "true"

    @property
    def soaks(self) -> bool:
        """Cases do more and wait longer."""
        return self["dra_soak"] == "true"

    @property
    def jailed(self) -> bool:
        """The driver runs in file systems of its own."""
        return self["dra_jail"] == "true"

    @property
    def attached(self) -> bool:
        """The driver is started by its author, not by the suite."""
        return self["dra_driver"].split() == [ATTACH]

    @property
    def patient(self) -> bool:
        """Deadlines are lifted."""
        return self["dra_deadlines"] == "lifted"

    @property
    def asked_on_command_line(self) -> bool:
        """The driver (or its profile) was named on the command line."""
        return any(
            self[name] and self.origin(name) == FLAG for name in ("dra_driver", "dra_profile")
        )

    def summaries(self, environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
        """Files to which the summary is appended as Markdown."""
        named = (environ.get(STEP_SUMMARY, ""), self["dra_summary"])
        return tuple(Path(each).absolute() for each in dict.fromkeys(named) if each)

    def for_fixtures(self) -> Settings:
        """The same, of the bundled driver where none is named: what the fixtures run on."""
        if self.active:
            return self
        return self._with({"dra_driver": Setting("fake", DEFAULT)})

    def with_profile(self, values: Mapping[str, str]) -> Settings:
        """Settings that a profile file gives rank above defaults and below everything else."""
        return self._with(
            {
                name: Setting(value, PROFILE)
                for name, value in values.items()
                if value and self.origin(name) == DEFAULT
            }
        )

    def instead(self, name: str, value: str) -> Settings:
        """The same with another value, found out for what was given: its origin stays."""
        return self._with({name: Setting(value, self.origin(name))})

    def within(self, environ: Mapping[str, str]) -> Settings:
        """The same in another environment."""
        return Settings(self.by_name, environ=environ)

    def _with(self, settings: Mapping[str, Setting]) -> Settings:
        return Settings({**self.by_name, **settings}, environ=self.environ)

    def described(self) -> list[str]:
        """``name=value (origin)`` of everything that matters, for header and report."""
        shown = []
        for option in OPTIONS:
            setting = self.by_name[option.dest]
            always = option.dest in _ALWAYS_SHOWN or (option.dest == SEED and self.soaks)
            if setting.value and (setting.origin != DEFAULT or always):
                short = option.dest.removeprefix("dra_").replace("_", "-")
                shown.append(f"{short}={setting.value} ({setting.origin})")
        return shown


_ALWAYS_SHOWN: Final = frozenset({"dra_cluster", "dra_kubernetes", "dra_output", "dra_require"})


def resolve(
    *,
    flag: Callable[[str], object],
    ini: Callable[[str], object],
    environ: Mapping[str, str] = os.environ,
    ini_directory: Path | None = None,
) -> Settings:
    """Look each option up: flag > environment > ini > default.

    Args:
        flag: value on the command line by ``dest``, None if not given.
        ini: value in the ini file by ``dest``, one of NOT_GIVEN if it is not there.
        environ: the environment.
        ini_directory: relative paths in the ini file start here.

    Raises:
        OptionError: a value that is not among the choices.
    """
    found: dict[str, Setting] = {}
    for option in OPTIONS:
        setting = Setting(option.default, DEFAULT)
        from_ini = ini(option.dest)
        if from_ini not in NOT_GIVEN:
            setting = Setting(str(from_ini), INI)
            if option.is_path and ini_directory is not None:
                setting = Setting(str(ini_directory / str(from_ini)), INI)
        if environ.get(option.variable):
            setting = Setting(environ[option.variable], f"environment {option.variable}")
        from_flag = flag(option.dest)
        if from_flag is not None:
            # Empty on the command line: the default again, whatever environment and ini file say.
            setting = Setting(str(from_flag) or option.default, FLAG)
        found[option.dest] = _checked(option, setting)
    return Settings(found)


def _checked(option: Option, setting: Setting) -> Setting:
    if option.flag:
        word = setting.value.strip().lower()
        if word not in TRUE_WORDS | FALSE_WORDS:
            raise OptionError(
                f"{_spelled(option, setting)}: got {setting.value!r}, want true or false"
            )
        return Setting("true" if word in TRUE_WORDS else "false", setting.origin)
    if option.choices and setting.value not in (*option.choices, option.default):
        raise OptionError(
            f"{_spelled(option, setting)}: got {setting.value!r}, "
            f"want one of {', '.join(option.choices)}"
        )
    return setting


def _spelled(option: Option, setting: Setting) -> str:
    if setting.origin == FLAG:
        return option.name
    if setting.origin == INI:
        return f"{option.dest} (ini)"
    return option.variable


NEEDS_DRIVER: Final = {"dra_suite": ("only", "with"), "dra_case": ()}
"""Options without sense where nothing is judged, with the values concerned (none: all)."""


def check_driver_is_named(settings: Settings) -> None:
    """Options that ask for the cases need a driver to judge.

    Raises:
        OptionError: one of them is on the command line, and no driver is named anywhere.
    """
    if settings.active:
        return
    for name, values in NEEDS_DRIVER.items():
        if settings.origin(name) == FLAG and (settings[name] in values or not values):
            option = next(each for each in OPTIONS if each.dest == name)
            raise OptionError(
                f"{option.name}={settings[name]}: no driver is named; "
                "add --dra-driver=fake or --dra-driver='exec:COMMAND LINE'"
            )


def check_platform(platform: str | None = None) -> None:
    """The bench needs Linux.

    Raises:
        OptionError: anywhere else, in one sentence.
    """
    platform = platform or sys.platform
    if not platform.startswith("linux"):
        raise OptionError(
            f"--dra-driver: pytest-dra judges drivers on Linux only (this is {platform}): "
            "run it in a Linux container or virtual machine"
        )
