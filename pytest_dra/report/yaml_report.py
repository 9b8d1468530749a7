"""``report.yaml``: the canonical report, checked against its schema before it is written.

Imports PyYAML and jsonschema inside of its functions: a run that writes no report pays for none.
"""

from __future__ import annotations

import json
from pathlib import Path

from pytest_dra.report.files import ReportError
from pytest_dra.report.plain import one_line
from pytest_dra.spec import Json

SCHEMA = Path(__file__).with_name("schema.json")

WIDTH = 100
"""Column at which long texts are folded."""

PROBLEMS_SHOWN = 5


def check(data: object) -> None:
    """Hold a report against ``schema.json``.

    Raises:
        ReportError: lists where it differs.
    """
    import jsonschema

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    found = jsonschema.Draft202012Validator(schema).iter_errors(data)
    problems = sorted(f"{each.json_path}: {one_line(each.message)}" for each in found)
    if problems:
        more = len(problems) - PROBLEMS_SHOWN
        listed = "; ".join(problems[:PROBLEMS_SHOWN]) + (f"; {more} more" if more > 0 else "")
        raise ReportError(f"the report has not the form of its schema: {listed}")


def render(data: Json) -> str:
    """A report as YAML text, keys sorted, texts of several lines readable.

    Raises:
        ReportError: the data has not the form of the schema, which is a fault of this suite.
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes texts of several lines as blocks, and every list out instead of aliases."""

        def ignore_aliases(self, data: object) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    check(data)
    Dumper.add_representer(str, text)
    return str(
        yaml.dump(
            data,
            Dumper=Dumper,
            sort_keys=True,
            allow_unicode=True,
            default_flow_style=False,
            width=WIDTH,
        )
    )
