"""What a rule of RBAC allows, and whom a binding means: for the server and the checks alike."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pytest_dra.spec import Json

ANY: Final = "*"

ROLES: Final = ("Role", "ClusterRole")
BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")

EVERY_ACCOUNT: Final = ("system:authenticated", "system:serviceaccounts")
"""The groups of every pod's account."""

Account = tuple[str, str]
"""Namespace and name of a ServiceAccount; without a namespace it is that of any."""


def allows(
    rule: Json, *, verb: str, group: str, resource: str, subresource: str = "", name: str = ""
) -> bool:
    """True if a rule allows a request for a resource."""
    names = texts(rule, "resourceNames")
    return (
        has(texts(rule, "verbs"), verb)
        and has(texts(rule, "apiGroups"), group)
        and _covers(texts(rule, "resources"), resource, subresource)
        and (not names or name in names)
    )


def allows_path(rule: Json, *, verb: str, path: str) -> bool:
    """True if a rule allows a request for a path that is no resource's."""
    return has(texts(rule, "verbs"), verb) and any(
        path == url or (url.endswith(ANY) and path.startswith(url[:-1]))
        for url in texts(rule, "nonResourceURLs")
    )


def _covers(resources: Collection[str], resource: str, subresource: str) -> bool:
    if not subresource:
        return has(resources, resource)
    wanted = (f"{resource}/{subresource}", f"{ANY}/{subresource}", ANY)
    return any(each in resources for each in wanted)


def has(values: Collection[str], value: str) -> bool:
    """True if it is among these, or each is."""
    return ANY in values or value in values


def texts(rule: Json, field: str) -> tuple[str, ...]:
    """A list of a rule; what is no list is none."""
    found = rule.get(field)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def means(subject: object, home: str, accounts: Collection[Account]) -> bool:
    """True if a subject of a binding is one of these accounts, or a group that has one.

    Args:
        subject: of a binding, as somebody has written it.
        home: the binding's namespace; where it has none, as before it is applied, any.
        accounts: see :data:`Account`.
    """
    if not isinstance(subject, dict):
        return False
    name = str(subject.get("name") or "")
    if subject.get("kind") == "Group":
        groups = {f"system:serviceaccounts:{namespace}" for namespace, _ in accounts}
        return name in groups or name in EVERY_ACCOUNT
    place = str(subject.get("namespace") or home)
    return subject.get("kind") == "ServiceAccount" and any(
        account == name and (not place or not namespace or place == namespace)
        for namespace, account in accounts
    )


def role_key(kind: object, namespace: object, name: object) -> tuple[str, str, str]:
    """What a role goes by: kind, namespace (a ClusterRole has none) and name."""
    return str(kind), str(namespace or "") if kind == "Role" else "", str(name)
