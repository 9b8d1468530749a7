"""``--dra-init``: looks at a driver once and writes a first ``dra-profile.yaml``."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import Final

import pytest_dra
from pytest_dra.bench.attached import Tell
from pytest_dra.bench.portrait import NotSeen
from pytest_dra.bench.portrait import Portrait
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.launch import LaunchError
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.plan import Plan
from pytest_dra.planning import PROFILE_FILE
from pytest_dra.planning import plan_of
from pytest_dra.profile import ProfileError
from pytest_dra.profile import load_profile
from pytest_dra.profile.draft import Finding
from pytest_dra.profile.draft import drafted
from pytest_dra.profile.fields import FIELDS
from pytest_dra.session import Session

OK: Final = 0
FAILED: Final = 1
INTERRUPTED: Final = 2
"""Exit statuses: the file is written; the driver did not come up; Ctrl-C."""

KIND_NAMES: Final = ("type", "kind", "model", "productName")
"""What attributes that tell kinds apart are usually called."""

MOST_SHOWN: Final = 8
"""Values of an attribute that a comment names."""

MOST_FILES: Final = 64
"""Files of state that are written down: a driver has a few."""

OUTPUT_LINES: Final = 10
"""Lines of the driver's output that explain why it did not come up."""


def write_profile(settings: Settings, *, tell: Tell | None = None) -> int:
    """Start the driver, look, write the file; says on standard output what was done.

    Returns:
        Exit status.

    Raises:
        OptionError: an option cannot be used, or the file is there already.
    """
    file = Path(settings["dra_profile"] or PROFILE_FILE)
    if os.path.lexists(file):
        raise OptionError(
            f"--dra-init: {file} is there already and is not overwritten; "
            "name another file with --dra-profile=FILE, or move it away"
        )
    if not file.parent.is_dir():
        raise OptionError(f"--dra-init: cannot write {file}: there is no directory {file.parent}")
    if not settings["dra_driver"]:
        raise OptionError(
            "--dra-init: no driver is named; add --dra-driver='exec:COMMAND LINE', attach or fake"
        )
    settings, plan = plan_of(settings.instead("dra_profile", ""), tell=tell)
    with Session(plan) as session:
        bench = None
        try:
            bench = session.bench
            portrait = Portrait.of(bench)
        except KeyboardInterrupt:
            _say("--dra-init: interrupted, nothing is written")
            return INTERRUPTED
        except (NotSeen, LaunchError, ClusterError) as error:
            _say(f"--dra-init: nothing is written, the driver did not come up: {error}")
            started = bench is not None and bench.started
            lines = bench.instance.driver.log_tail().splitlines() if bench and started else []
            _say(*(["its output ends:"] if lines else []), *lines[-OUTPUT_LINES:])
            return FAILED
    text = accepted(_head(portrait, plan), findings(portrait, settings, plan))
    try:
        with file.open("x", encoding="utf-8") as made:
            made.write(text)
    except OSError as error:
        raise OptionError(f"--dra-init: cannot write {file}: {error.strerror}") from error
    _say(*_told(portrait, settings, file))
    return OK


def accepted(head: str, found: dict[str, Finding]) -> str:
    """The draft, without values that a profile cannot have: a driver may say anything."""
    with tempfile.TemporaryDirectory(prefix="dra-init-") as folder:
        file = Path(folder) / PROFILE_FILE
        text = drafted(head, found)
        file.write_text(text, "utf-8")
        try:
            load_profile(file)
        except ProfileError as error:
            for problem in error.problems:
                path = ".".join(problem.path.partition("[")[0].split(".")[:2])
                found[path] = Finding(f"Seen, and not accepted here: {problem.message}.")
            text = drafted(head, found)
    return text


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _told(portrait: Portrait, settings: Settings, file: Path) -> list[str]:
    launched = settings["dra_driver"]
    start = "" if launched.startswith("exec:") else f" --dra-driver={_word(launched)}"
    return [
        f"{portrait.name}: {_count(portrait.devices, 'device')} in "
        f"{_count(portrait.pools, 'pool')}, "
        + (", ".join(sorted(portrait.signs)) or "no optional feature seen"),
        f"written: {file}; check each value, then: pytest{start} --dra-profile={_word(str(file))}",
    ]


def _word(text: str) -> str:
    return shlex.quote(text)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _head(portrait: Portrait, plan: Plan) -> str:
    return (
        f"Profile of {portrait.name}, begun by pytest --dra-init (pytest-dra "
        f"{pytest_dra.__version__}) with one look at the driver on Kubernetes {plan.kubernetes}. "
        "Check each value. What could not be seen is commented out, with its default or an example."
    )


def findings(portrait: Portrait, settings: Settings, plan: Plan) -> dict[str, Finding]:
    """What is known of each field of the profile: seen, given on the command line, or bundled."""
    return {
        **dict(_known(plan)),
        **dict(_driver(portrait)),
        **dict(_launch(portrait, settings, plan)),
        **dict(_injection(portrait)),
        **dict(_budgets(portrait)),
        **{
            f"features.{name}": Finding(f"Seen: {sign}.", {"supported": True})
            for name, sign in portrait.signs.items()
        },
        **dict(_bundled(plan)),
    }


def _known(plan: Plan) -> Iterator[tuple[str, Finding]]:
    """What the bundled profile of the fake driver says, where there is one."""
    data = plan.profile.data
    for field in FIELDS:
        block = data.get(field.block)
        value = block if not field.key else (block or {}).get(field.key)
        if value is not None:
            if field.path == "manifests":
                value = [str(path) for path in plan.profile.manifests]
            yield field.path, Finding("From the bundled profile.", value)
    for name, value in data.get("features", {}).items():
        yield f"features.{name}", Finding("From the bundled profile.", value)


def _bundled(plan: Plan) -> Iterator[tuple[str, Finding]]:
    """Of these one look shows less than somebody who knows the driver has written."""
    known = dict(_known(plan))
    for path in ("driver.kind_attribute", "injection.absent_paths"):
        if path in known:
            yield path, known[path]


def _driver(portrait: Portrait) -> Iterator[tuple[str, Finding]]:
    yield "driver.name", Finding("It registered under this one.", portrait.name)
    kind = _kind_attribute(portrait)
    names = ", ".join(portrait.attributes) or "none"
    if kind:
        values = [repr(_scalar(each)) for each in portrait.attributes[kind]]
        shown = ", ".join(values[:MOST_SHOWN] + ["..."] * (len(values) > MOST_SHOWN))
        yield "driver.kind_attribute", Finding(f"Guessed: its values are {shown}.", kind)
    else:
        yield "driver.kind_attribute", Finding(f"Attributes seen: {names}.")
    versions = [
        name
        for name, values in portrait.attributes.items()
        if all("version" in each for each in values)
    ]
    if len(versions) == 1:
        finding = Finding("The only attribute with a version as its value.", versions[0])
        yield "driver.version_attribute", finding
    elif versions:
        finding = Finding(f"Attributes with versions: {', '.join(versions)}.")
        yield "driver.version_attribute", finding
    domains = sorted({n.partition("/")[0] for n in portrait.attributes if "/" in n})
    if domains:
        yield "driver.domains", Finding(f"Domains in names of attributes: {', '.join(domains)}.")


def _kind_attribute(portrait: Portrait) -> str:
    """An attribute with a usual name that has a string on some device."""
    for name in KIND_NAMES:
        if any("string" in value for value in portrait.attributes.get(name, ())):
            return name
    return ""


def _scalar(value: dict[str, Any]) -> object:
    return next(iter(value.values()), None)


def _launch(portrait: Portrait, settings: Settings, plan: Plan) -> Iterator[tuple[str, Finding]]:
    if settings["dra_driver"].startswith("exec:"):
        command = list(plan.components[0].command)
        one = {"name": "driver", "command": command, "registers": True}
        yield "launch.components", Finding("From --dra-driver.", [one])
    else:
        given = Finding(f"It was started with --dra-driver={settings['dra_driver']}.")
        yield "launch.components", given
    cycle = portrait.cycle
    if cycle is not None and cycle.state:
        text = f"Made or changed by Prepare of {cycle.device}; check that nothing is missing."
        yield "launch.state", Finding(text, list(cycle.state[:MOST_FILES]))


def _injection(portrait: Portrait) -> Iterator[tuple[str, Finding]]:
    cycle = portrait.cycle
    if cycle is None:
        yield "injection.kind", Finding("No device could be given away to look at it.")
        return
    if cycle.problem:
        yield "injection.kind", Finding(f"Prepare of {cycle.device} failed: {cycle.problem}.")
        return
    if not cycle.ids:
        text = f"No CDI id was returned for {cycle.device}; nri if it injects that way."
        yield "injection.kind", Finding(text, "none")
        return
    specs = ", ".join(
        f"{name} ({_form(name)}, {'gone after Unprepare' if gone else 'stays'})"
        for name, gone in cycle.specs.items()
    )
    kinds = ", ".join(cycle.kinds) or "none"
    text = f"CDI ids were returned for {cycle.device}; kinds: {kinds}; specs: {specs or 'none'}."
    yield "injection.kind", Finding(text, "cdi")
    what = "lacks these" if cycle.absent else "has all"
    text = f"This machine {what} of the edits of {cycle.device}; check the other devices."
    yield "injection.absent_paths", Finding(text, list(cycle.absent))
    stay = [name for name, gone in cycle.specs.items() if not gone]
    if stay:
        text = f"Stayed after Unprepare of {cycle.device}."
        yield "injection.permanent", Finding(text, stay)


def _form(name: str) -> str:
    return "JSON" if name.endswith(".json") else "YAML"


def _budgets(portrait: Portrait) -> Iterator[tuple[str, Finding]]:
    yield "budgets.start", Finding(f"Seen: {portrait.registered_s:.1f} s.")
    if portrait.devices:
        yield "budgets.publish", Finding(f"Seen: {portrait.published_s:.1f} s.")
