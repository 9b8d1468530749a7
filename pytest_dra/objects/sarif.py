"""Findings as SARIF 2.1.0, which review tools read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest_dra
from pytest_dra.catalogue import catalogue
from pytest_dra.objects.findings import OWN_RULES
from pytest_dra.objects.findings import Finding
from pytest_dra.objects.findings import title_of
from pytest_dra.objects.reading import STANDARD_INPUT_NAME
from pytest_dra.spec import Json

VERSION: Final = "2.1.0"
SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def document(findings: Sequence[Finding], tool: str) -> Json:
    """One run of ``tool`` with all findings."""
    rules = sorted({finding.rule for finding in findings})
    driver = {
        "name": tool,
        "version": pytest_dra.__version__,
        "rules": [_rule(rule) for rule in rules],
    }
    return {
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, rules.index(finding.rule)) for finding in findings],
            }
        ],
    }


def _rule(rule: str) -> Json:
    found: Json = {"id": rule, "shortDescription": {"text": title_of(rule)}}
    if rule not in OWN_RULES:
        case = catalogue().case(rule)
        found["fullDescription"] = {"text": case.requirement}
        found["help"] = {"text": f"Otherwise: {case.breaks}"}
    return found


def _result(finding: Finding, index: int) -> Json:
    place: Json = {"artifactLocation": {"uri": _uri(finding.file)}}
    if finding.line > 0:
        place["region"] = {"startLine": finding.line}
    logical = {"name": finding.object, "fullyQualifiedName": _qualified(finding)}
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity.value,
        "message": {"text": f"{finding.object}: {finding.message}"},
        "locations": [{"physicalLocation": place, "logicalLocations": [logical]}],
        "properties": {"kubernetes": list(finding.versions), "field": finding.field},
    }


def _qualified(finding: Finding) -> str:
    return f"{finding.object} {finding.field}".rstrip()


def _uri(file: str) -> str:
    if file == STANDARD_INPUT_NAME:
        return "stdin"
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
