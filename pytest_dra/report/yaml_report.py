"""``report.yaml``: the canonical report, checked against its schema before it is written.

Imports PyYAML and jsonschema inside of its functions: a run that writes no report pays for none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from pytest_dra.report.files import ReportError
from pytest_dra.report.plain import one_line
from pytest_dra.spec import Json

if TYPE_CHECKING:
    from jsonschema import ValidationError

SCHEMA = Path(__file__).with_name("schema.json")

WIDTH = 100
"""Column at which long texts are folded."""

PROBLEMS_SHOWN = 5


def problems_of(data: object) -> list[tuple[tuple[str | int, ...], str]]:
    """Where a report differs from ``schema.json``: path and message of each difference."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    found = _validator()(schema).iter_errors(data)
    return [(tuple(each.absolute_path), each.message) for each in found]


@lru_cache(maxsize=1)
def _validator() -> Any:
    import jsonschema

    extend: Any = jsonschema.validators.extend
    return extend(jsonschema.Draft202012Validator, {"uniqueItems": _each_once})


def _each_once(
    validator: Any, wanted: object, items: object, schema: object
) -> Iterator[ValidationError]:
    """``uniqueItems``. That of jsonschema holds each object against all others."""
    from jsonschema import ValidationError

    if not wanted or not isinstance(items, list):
        return
    seen: set[str] = set()
    for item in items:
        text = json.dumps(item, sort_keys=True, default=str)
        if text in seen:
            yield ValidationError(f"{one_line(text)} stands twice")
            return
        seen.add(text)


def check(data: object) -> None:
    """Hold a report against ``schema.json``.

    Raises:
        ReportError: lists where it differs.
    """
    problems = sorted(
        f"{_spelled(place)}: {one_line(message)}" for place, message in problems_of(data)
    )
    if problems:
        more = len(problems) - PROBLEMS_SHOWN
        listed = "; ".join(problems[:PROBLEMS_SHOWN]) + (f"; {more} more" if more > 0 else "")
        raise ReportError(f"the report has not the form of its schema: {listed}")


def _spelled(place: tuple[str | int, ...]) -> str:
    return "$" + "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in place)


def render(data: Json) -> str:
    """A report as YAML text, keys sorted, texts of several lines readable.

    Raises:
        ReportError: the data has not the form of the schema, which is a fault of this suite.
    """
    check(data)
    return _written([data], sort_keys=True)


def documents(every: Iterable[Json]) -> str:
    """Objects as YAML documents, keys in their order, texts of several lines readable."""
    return _written(every, explicit_start=True, sort_keys=False)


def _written(every: Iterable[Json], **how: Any) -> str:
    import yaml

    # libyaml's where there is one: a report of many failures takes a second without it. Every
    # list is written out, instead of an alias.
    base = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    dumper: Any = type("Dumper", (base,), {"ignore_aliases": lambda self, data: True})

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    dumper.add_representer(str, text)
    return str(
        yaml.dump_all(
            every,
            Dumper=dumper,
            allow_unicode=True,
            default_flow_style=False,
            width=WIDTH,
            **how,
        )
    )
