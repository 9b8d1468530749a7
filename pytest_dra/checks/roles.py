"""Rights that a driver ships in its manifests, as rules of (Cluster)Roles."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Final

from pytest_dra.api import rbac
from pytest_dra.checks.flaws import Flaw
from pytest_dra.checks.workloads import Workload
from pytest_dra.checks.workloads import dict_at
from pytest_dra.checks.workloads import list_at
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable

GROUP: Final = "resource.k8s.io"
STATUS: Final = (GROUP, "resourceclaims/status")
DRIVER: Final = (GROUP, "resourceclaims/driver")
"""What is written, and what the API server asks besides, from 1.36 on (contract 1.5)."""

WRITES: Final = ("update", "patch")
PREFIXES: Final = ("associated-node:", "arbitrary-node:")

READS: Final = frozenset({"get", "list", "watch"})
ALL: Final = READS | {"create", "update", "patch", "delete", "deletecollection"}

ALLOWED: Final[dict[tuple[str, str], frozenset[str]]] = {
    (GROUP, "resourceslices"): ALL,
    (GROUP, "resourceclaims"): READS,
    ("", "nodes"): frozenset({"get"}),
    STATUS: frozenset({"get", *WRITES}),
    DRIVER: frozenset(f"{prefix}{verb}" for prefix in PREFIXES for verb in WRITES),
    ("", "events"): frozenset({"create", *WRITES}),
    ("events.k8s.io", "events"): frozenset({"create", *WRITES}),
    ("coordination.k8s.io", "leases"): ALL,
}
"""What a kubelet plugin may need (KEP 4381), by group and resource."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Right:
    """One rule of a role that an account has."""

    item: Json
    path: str
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def role(self) -> str:
        """Kind and name of the role."""
        return f"{self.item.get('kind')} {_name(self.item)}"

    def covers(self, place: tuple[str, str], verb: str) -> bool:
        """True if it allows the verb on a resource (group, name)."""
        group, resource = place
        return (
            rbac.has(self.groups, group)
            and rbac.has(self.resources, resource)
            and rbac.has(self.verbs, verb)
        )


def rights_of(workload: Workload, objects: Iterable[Json]) -> list[Right]:
    """The rules of all roles that are bound to the account of a workload's pods."""
    every, account = list(objects), (workload.namespace, workload.account)
    roles = {
        rbac.role_key(item["kind"], _namespace(item), _name(item)): item
        for item in every
        if item.get("kind") in rbac.ROLES
    }
    found: dict[int, Json] = {}
    for binding in every:
        if binding.get("kind") not in rbac.BINDINGS:
            continue
        subjects = list_at(binding, "subjects")
        if not any(rbac.means(each, _namespace(binding), [account]) for each in subjects):
            continue
        ref = dict_at(binding, "roleRef")
        role = roles.get(rbac.role_key(ref.get("kind"), _namespace(binding), ref.get("name")))
        if role is not None:
            found[id(role)] = role
    return [right for role in found.values() for right in _rules(role)]


def _name(item: Json) -> str:
    return str(dict_at(item, "metadata").get("name") or "")


def _namespace(item: Json) -> str:
    return str(dict_at(item, "metadata").get("namespace") or "")


def _rules(role: Json) -> Iterator[Right]:
    for index, rule in enumerate(list_at(role, "rules")):
        yield Right(
            item=role,
            path=f"rules[{index}]",
            groups=rbac.texts(rule, "apiGroups"),
            resources=rbac.texts(rule, "resources"),
            verbs=rbac.texts(rule, "verbs"),
            names=rbac.texts(rule, "resourceNames"),
        )


def rights_must_be_few(rights: Iterable[Right], *, exempt: Collection[str]) -> Iterator[Flaw]:
    """A node plugin has the rights that its work needs, and no wildcards.

    Args:
        rights: of the plugin's account.
        exempt: what the vendor gives a reason for, such as ``list nodes`` or ``pods``.
    """
    for right in rights:
        for group in right.groups:
            for resource in right.resources:
                allowed = ALLOWED.get((group, resource), frozenset())
                beyond = [verb for verb in right.verbs if verb not in allowed]
                beyond = [verb for verb in beyond if not _is_exempt(verb, resource, exempt)]
                if beyond:
                    shown = f"{resource}.{group}" if group else resource
                    yield Flaw(
                        item=right.item,
                        field=right.path,
                        where=f"{right.path} of {right.role}",
                        got=f"{', '.join(beyond)} of {shown}",
                        want="what a node plugin needs, or a reason in driver.extra_rights of the "
                        "profile",
                    )


def _is_exempt(verb: str, resource: str, exempt: Collection[str]) -> bool:
    """True if a text names the resource, and the verb or none at all."""
    for text in exempt:
        words = set(text.replace(",", " ").split())
        if resource in words and (verb in words or not words & ALL):
            return True
    return False


def status_writes_must_be_covered(
    by_account: Iterable[Collection[Right]], *, driver: str
) -> Iterator[Flaw]:
    """Who may write the status of claims may write the part of its driver, from 1.36 on.

    Args:
        by_account: the rights of each account.
        driver: its name.

    Raises:
        NotApplicable: no account may write the status of claims.
    """
    writers = 0
    for rights in by_account:
        verbs = [verb for verb in WRITES if any(right.covers(STATUS, verb) for right in rights)]
        if not verbs:
            continue
        writers += 1
        wanted = [f"{prefix}{verb}" for verb in verbs for prefix in PREFIXES]
        if not any(
            right.covers(DRIVER, verb) and (not right.names or driver in right.names)
            for right in rights
            for verb in wanted
        ):
            first = next(right for right in rights if right.covers(STATUS, verbs[0]))
            yield Flaw(
                item=first.item,
                field=first.path,
                where=f"{first.path} of {first.role}",
                got=f"{', '.join(verbs)} of resourceclaims/status, and nothing of "
                f"resourceclaims/driver for {driver}",
                want=f"one of {', '.join(wanted)} on resourceclaims/driver, or each status write "
                "is refused",
            )
    if not writers:
        raise NotApplicable("no role grants writes of resourceclaims/status")
