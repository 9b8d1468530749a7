"""Configurations that a driver cannot read, made of those that its vendor gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_dra.profile.model import SamplesBlock
from pytest_dra.spec import Json

OTHER_VERSION: Final = "bad.example.com/v0"
UNKNOWN: Final = "pytestDraUnknown"
NUMBER: Final = 7

LENIENT: Final = "an empty configuration"
"""The one that may also mean defaults."""

_IDENTITY = ("apiVersion", "kind")


def malformed(samples: SamplesBlock) -> Mapping[str, Json]:
    """Configurations to be refused, by what a message calls them."""
    good = samples.good_config[0]
    found = {f"samples.bad_config[{n}]": each for n, each in enumerate(samples.bad_config)}
    found[f"a configuration of {OTHER_VERSION}"] = with_other_version(good)
    text = next((name for name, value in _fields(good) if isinstance(value, str)), None)
    if text is not None:
        found[f"a number as {text} of a configuration"] = {**good, text: NUMBER}
    return {**found, LENIENT: {}}


def with_other_version(good: Json) -> Json:
    """The configuration as of an API group that nobody has."""
    return {**good, "apiVersion": OTHER_VERSION}


def with_unknown_field(good: Json) -> Json:
    """The configuration with a field that nobody has."""
    return {**good, UNKNOWN: 1}


def words_of(parameters: Json) -> list[str]:
    """Words by which an error may name the configuration: its kind, its fields and their values."""
    texts = [str(parameters[name]) for name in _IDENTITY if parameters.get(name)]
    fields = [name for name, _ in _fields(parameters)]
    return [*texts, *fields, *_IDENTITY]


def _fields(parameters: Json) -> list[tuple[str, object]]:
    return [(name, value) for name, value in parameters.items() if name not in _IDENTITY]
