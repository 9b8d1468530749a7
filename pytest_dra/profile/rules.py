"""What a profile must keep to beyond its form: known names, valid waivers, one that registers."""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Iterator

from pytest_dra.catalogue import catalogue
from pytest_dra.catalogue import did_you_mean
from pytest_dra.profile.document import Document
from pytest_dra.profile.model import CDI_FEATURE
from pytest_dra.profile.model import NRI_FEATURE
from pytest_dra.profile.model import PLACEHOLDERS
from pytest_dra.profile.model import Injection
from pytest_dra.profile.model import Scope
from pytest_dra.profile.model import ordinal
from pytest_dra.profile.problems import Path
from pytest_dra.profile.problems import Problem
from pytest_dra.spec import Json

PLACEHOLDER = re.compile(r"(?<!\{)\{([a-z_]+)\}(?!\})")
"""A lower-case word in single braces: doubled ones belong to Go templates."""

NUL = "\0"


def breaches(document: Document, data: Json, *, today: datetime.date) -> Iterator[Problem]:
    """Every rule that data of the right form breaks.

    Args:
        document: knows the lines.
        data: its data, which has passed the schema.
        today: the day on which a waiver must still be valid.
    """
    yield from _features(document, data.get("features", {}))
    yield from _injection(document, data)
    yield from _waivers(document, data.get("waivers", []), today)
    yield from _ranges(document, data.get("driver", {}))
    yield from _components(document, data)


def _features(document: Document, features: Json) -> Iterator[Problem]:
    known = catalogue().features
    for name in features:
        if name not in known:
            message = f"unknown feature{did_you_mean(name, known) or '; see the catalogue'}"
            yield document.problem(("features", name), message)


def _injection(document: Document, data: Json) -> Iterator[Problem]:
    kind = data.get("injection", {}).get("kind", Injection.CDI.value)
    for feature, wanted in ((CDI_FEATURE, Injection.CDI), (NRI_FEATURE, Injection.NRI)):
        declared = data.get("features", {}).get(feature)
        if declared is not None and declared["supported"] != (kind == wanted.value):
            said = "supported" if declared["supported"] else "not supported"
            yield document.problem(
                ("features", feature), f"{said}, but injection.kind is {kind}; change one of them"
            )


def _waivers(document: Document, waivers: list[Json], today: datetime.date) -> Iterator[Problem]:
    known = catalogue()
    seen: set[str] = set()
    for index, waiver in enumerate(waivers):
        case = waiver["case"]
        at: Path = ("waivers", index)
        if case in known.retired:
            yield document.problem((*at, "case"), f"case {case} is retired; remove the waiver")
        elif case not in known.cases:
            near = did_you_mean(case, known.cases)
            yield document.problem((*at, "case"), f"unknown case {case!r}{near}")
        elif case in seen:
            yield document.problem((*at, "case"), f"case {case} is waived twice")
        seen.add(case)
        try:
            expires = datetime.date.fromisoformat(waiver["expires"])
        except ValueError:
            message = f"got {waiver['expires']!r}, want a day that the calendar has"
            yield document.problem((*at, "expires"), message)
            continue
        if expires < today:
            yield document.problem(
                (*at, "expires"),
                f"the waiver of {case} expired on {expires}; mend the driver or renew the waiver",
            )


def _ranges(document: Document, driver: Json) -> Iterator[Problem]:
    for name in ("kubelets", "kubernetes"):
        given = driver.get(name, {})
        if "min" in given and "max" in given and ordinal(given["max"]) < ordinal(given["min"]):
            message = f"max {given['max']} is below min {given['min']}"
            yield document.problem(("driver", name), message)


def _components(document: Document, data: Json) -> Iterator[Problem]:
    components = data.get("launch", {}).get("components", [])
    scope = data.get("driver", {}).get("scope", Scope.NODE.value)
    here: Path = ("launch", "components")
    names: dict[str, int] = {}
    for index, component in enumerate(components):
        first = names.setdefault(component["name"], index)
        if first != index:
            message = f"the name {component['name']!r} is that of component {first} already"
            yield document.problem((*here, index, "name"), message)
        yield from _placeholders(document, component, (*here, index))
    registering = [index for index, each in enumerate(components) if each.get("registers")]
    for index in registering[1:]:
        message = f"component {registering[0]} registers already; one process does"
        yield document.problem((*here, index, "registers"), message)
    if scope == Scope.CLUSTER.value:
        for index in registering:
            message = "driver.scope is cluster, where nothing registers with a kubelet"
            yield document.problem((*here, index, "registers"), message)
    elif components and not registering and (len(components) > 1 or "registers" in components[0]):
        message = "no component registers with the kubelet; give one of them registers: true"
        yield document.problem(here, f"{message}, or set driver.scope: cluster")


def _placeholders(document: Document, component: Json, path: Path) -> Iterator[Problem]:
    texts: list[tuple[Path, str]] = [
        ((*path, "command", index), text) for index, text in enumerate(component["command"])
    ]
    texts += [((*path, "env", name), text) for name, text in component.get("env", {}).items()]
    if not component["command"][0].strip():
        yield document.problem((*path, "command", 0), "got an empty string, want a program")
    for at, text in texts:
        if NUL in text:
            yield document.problem(at, "a NUL character cannot be given to a process")
        for word in PLACEHOLDER.findall(text):
            if word not in PLACEHOLDERS:
                yield document.problem(at, f"unknown placeholder {{{word}}}{_meant(word)}")


def _meant(word: str) -> str:
    near = difflib.get_close_matches(word, PLACEHOLDERS, n=1)
    if near:
        return f"; did you mean {{{near[0]}}}?"
    return f"; there are {' '.join(f'{{{each}}}' for each in PLACEHOLDERS)}"
