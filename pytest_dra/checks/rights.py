"""Which rules of RBAC a driver lacks, told from the requests that were refused for want of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest

FORBIDDEN: Final = 403
INVALID: Final = 422

SHOWN_MAX: Final = 4
"""Rules that are shown: a driver without any would fill the finding with them."""

_CLAIMS: Final = "resourceclaims"
_STATUS: Final = {"status.devices": "driver", "status.allocation": "binding"}
"""Parts of a claim's status that need a right of their own from 1.36 on, and to what."""

Rule = tuple[str, str, str]
"""Group, resource with its subresource, and the only name that is needed ("" for any)."""


def missing(requests: Iterable[ApiRequest], *, driver: str) -> list[str]:
    """The rules that would have allowed what was refused, as they stand in a role.

    Args:
        requests: all requests of one account that nobody disturbed.
        driver: its name, which is that of the right to report its devices.
    """
    found: dict[Rule, set[str]] = {}
    for request in requests:
        if request.code == FORBIDDEN and request.resource:
            full = f"{request.resource}/{request.subresource}".rstrip("/")
            found.setdefault((request.group, full, ""), set()).add(request.verb)
        elif request.code == INVALID and request.resource == _CLAIMS:
            for part in _parts(request.answer):
                name = driver if part == "driver" else ""
                prefix = "associated-node:" if part == "driver" else ""
                rule = (request.group, f"{_CLAIMS}/{part}", name)
                found.setdefault(rule, set()).add(f"{prefix}{request.verb}")
    return [_text(rule, verbs) for rule, verbs in sorted(found.items())]


def told(rules: list[str]) -> str:
    """One clause for a finding; empty if nothing is missing."""
    if not rules:
        return ""
    more = f" and {len(rules) - SHOWN_MAX} more" if len(rules) > SHOWN_MAX else ""
    return f"its roles lack {', '.join(rules[:SHOWN_MAX])}{more}: the API server refused that"


def _parts(answer: Json | None) -> Iterable[str]:
    causes = ((answer or {}).get("details") or {}).get("causes") or []
    for cause in causes:
        if cause.get("reason") == "FieldValueForbidden" and cause.get("field") in _STATUS:
            yield _STATUS[cause["field"]]


def _text(rule: Rule, verbs: set[str]) -> str:
    group, resource, name = rule
    names = f", resourceNames: [{name}]" if name else ""
    listed = ", ".join(sorted(verbs))
    return f'{{apiGroups: ["{group}"], resources: [{resource}]{names}, verbs: [{listed}]}}'
