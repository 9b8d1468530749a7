"""Which rules of RBAC a driver lacks: for what was refused, and for what it has asked at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Final

from pytest_dra.api import rbac
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry

CREATED: Final = 201
FORBIDDEN: Final = 403
INVALID: Final = 422

SHOWN_MAX: Final = 4
"""Rules that are shown: a driver without any would fill the finding with them."""

_CLAIMS: Final = "resourceclaims"
_STATUS: Final = {"status.devices": "driver", "status.allocation": "binding"}
"""Parts of a claim's status that need a right of their own from 1.36 on, and to what."""

CREATE: Final = "create"
_REFUSED_CREATION: Final = "cannot create resource"
"""Part of every refusal of an apply or update that would have created."""

NOT_FOUND: Final = 404
NOT_SERVED: Final = "the server could not find the requested resource"
"""What kube-apiserver answers to a path of no resource that it has."""

TELLING: Final = 300
"""Requests of a run that shows what a driver uses."""

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
            message = str((request.answer or {}).get("message") or "")
            verb = CREATE if _REFUSED_CREATION in message else request.verb
            found.setdefault((request.group, full, ""), set()).add(verb)
        elif request.code == INVALID and request.resource == _CLAIMS:
            for part in _parts(request.answer):
                name = driver if part == "driver" else ""
                prefix = "associated-node:" if part == "driver" else ""
                rule = (request.group, f"{_CLAIMS}/{part}", name)
                found.setdefault(rule, set()).add(f"{prefix}{request.verb}")
    return [_text(rule, verbs) for rule, verbs in sorted(found.items())]


def used(request: ApiRequest) -> tuple[str, ...]:
    """The rights that a request has used: an apply or update that has created needs both."""
    made = request.code == CREATED and request.verb in ("patch", "update")
    return (request.verb, CREATE) if made else (request.verb,)


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


@dataclasses.dataclass(frozen=True, slots=True)
class Grant:
    """A rule of a role, and where it holds: a namespace, or everywhere ("")."""

    rule: Json
    namespace: str = ""

    def covers(self, request: ApiRequest, verb: str = "") -> bool:
        """True if it allows what was asked; ``verb`` for one beside the request's own."""
        return self.namespace in ("", request.namespace) and rbac.allows(
            self.rule,
            verb=verb or request.verb,
            group=request.group,
            resource=request.resource,
            subresource=request.subresource,
            name=request.name,
        )


def grants_of(
    objects: Iterable[Json], accounts: Collection[rbac.Account], known: Mapping[str, list[Json]]
) -> list[Grant]:
    """What the (Cluster)Roles grant that are bound to some accounts.

    Args:
        objects: of the manifests.
        accounts: namespace ("" for any) and name of ServiceAccounts.
        known: rules of the ClusterRoles that every cluster has, by name.
    """
    every = list(objects)
    rules = {
        rbac.role_key(item["kind"], _place(item), item["metadata"].get("name")): item.get("rules")
        for item in every
        if item.get("kind") in rbac.ROLES
    }
    found = []
    for binding in every:
        home = _place(binding)
        if binding.get("kind") in rbac.BINDINGS and any(
            rbac.means(subject, home, accounts) for subject in binding.get("subjects") or []
        ):
            ref = binding.get("roleRef") or {}
            key = rbac.role_key(ref.get("kind"), home, ref.get("name"))
            for rule in rules.get(key) or known.get(str(ref.get("name"))) or []:
                everywhere = binding["kind"] == "ClusterRoleBinding"
                found.append(Grant(rule, "" if everywhere else home))
    return found


def _place(item: Json) -> str:
    return str(item["metadata"].get("namespace") or "")


def all_must_be_covered(requests: Iterable[Entry[ApiRequest]], grants: Collection[Grant]) -> None:
    """Every request for a resource is one that the shipped roles allow.

    Args:
        requests: all that the driver has asked; discovery and health are passed over.
        grants: what it is granted.
    """
    lacking: dict[Rule, set[str]] = {}
    proof: list[int] = []
    by_name = any(grant.rule.get("resourceNames") for grant in grants)
    covered: set[tuple[str, ...]] = set()
    for entry in requests:
        request = entry.event
        name = request.name if by_name else ""
        place = (request.group, request.resource, request.subresource, request.namespace, name)
        for verb in used(request) if request.resource and not _is_nowhere(request) else ():
            if (verb, *place) in covered:
                continue
            if any(grant.covers(request, verb) for grant in grants):
                covered.add((verb, *place))
            else:
                full = f"{request.resource}/{request.subresource}".rstrip("/")
                lacking.setdefault((request.group, full, ""), set()).add(verb)
                proof.append(entry.serial)
    rules = [_text(rule, verbs) for rule, verbs in sorted(lacking.items())]
    if rules:
        raise Violation(
            "requests to the API server beside the roles of the manifests",
            got=f"asked, and not granted: {', '.join(rules[:SHOWN_MAX])}",
            want="a role that grants what the driver asks: a real cluster answers 403",
            proof=tuple(proof[:SHOWN_MAX]),
        )


def _is_nowhere(request: ApiRequest) -> bool:
    """True for a path that no server has: made of a name in a call that was no name, perhaps."""
    message = (request.answer or {}).get("message")
    return request.code == NOT_FOUND and message == NOT_SERVED


Verbs = dict[tuple[str, str], set[str]]
"""Verbs by group and resource, with its subresource."""


def verbs_of(requests: Iterable[ApiRequest]) -> Verbs:
    """What requests need to be granted."""
    found: Verbs = {}
    for each in requests:
        if each.resource:
            full = f"{each.resource}/{each.subresource}".rstrip("/")
            found.setdefault((each.group, full), set()).update(used(each))
    return found


def unused(requests: Collection[ApiRequest], grants: Iterable[Grant]) -> str:
    """The verbs that are granted on named resources and were not used, for a remark; or empty.

    A run with few requests says nothing.
    """
    if len(requests) < TELLING:
        return ""
    found = sorted(idle_verbs(requests, grants).items(), key=lambda each: each[0][1])
    texts = [f"{', '.join(sorted(verbs))} of {resource}" for (_, resource), verbs in found]
    return f"granted and never used in this run: {'; '.join(texts)}" if texts else ""


def idle_verbs(requests: Iterable[ApiRequest], grants: Iterable[Grant]) -> Verbs:
    """What is granted on named resources and was not used."""
    asked, idle = verbs_of(requests), Verbs()
    for grant in grants:
        for group in rbac.texts(grant.rule, "apiGroups"):
            for resource in rbac.texts(grant.rule, "resources"):
                for verb in rbac.texts(grant.rule, "verbs"):
                    used = verb in asked.get((group, resource), ())
                    if rbac.ANY not in (group, resource, verb) and not used:
                        idle.setdefault((group, resource), set()).add(verb)
    return idle
