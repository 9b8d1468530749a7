"""Authorization by the RBAC objects that are stored in the server itself, and by node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_dra.embedded.access import ANONYMOUS
from pytest_dra.embedded.access import MASTERS
from pytest_dra.embedded.access import Attempt
from pytest_dra.embedded.access import User
from pytest_dra.embedded.nodeaccess import NodeAccess
from pytest_dra.embedded.store import Store
from pytest_dra.spec import Json

_ACCOUNT: Final = "system:serviceaccount:"
_OPEN_TO_KNOWN: Final = ("/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz")
"""Where everybody with an identity may look (system:discovery)."""


class Rbac:
    """An :data:`~pytest_dra.embedded.access.Authorizer`: Node and RBAC, as clusters have it.

    Used from the server's loop only. Changes of roles and bindings count at once.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._nodes = NodeAccess(store)

    def __call__(self, attempt: Attempt) -> bool:
        """True if the user may do so."""
        user = attempt.user
        if MASTERS in user.groups or self._nodes.allows(attempt):
            return True
        if attempt.path and user != ANONYMOUS and attempt.verb == "get":
            first = "/" + attempt.path.strip("/").partition("/")[0]
            if first in _OPEN_TO_KNOWN:
                return True
        return any(_grants(rule, attempt) for rule in self._rules(user, attempt.namespace))

    def _rules(self, user: User, namespace: str) -> Iterator[Json]:
        for binding in self._store.sorted("rbac.ClusterRoleBinding"):
            if _binds(binding.object, user, ""):
                yield from self._of_role(binding.object["roleRef"], "")
        if not namespace:
            return
        for binding in self._store.sorted("rbac.RoleBinding", namespace):
            if _binds(binding.object, user, namespace):
                yield from self._of_role(binding.object["roleRef"], namespace)

    def _of_role(self, reference: Json, namespace: str) -> list[Json]:
        if reference.get("kind") == "Role":
            found = self._store.get("rbac.Role", namespace, reference["name"])
        else:
            found = self._store.get("rbac.ClusterRole", "", reference["name"])
        rules: list[Json] = (found.object.get("rules") or []) if found else []
        return rules


def _binds(binding: Json, user: User, namespace: str) -> bool:
    for subject in binding.get("subjects") or []:
        name = subject.get("name", "")
        kind = subject.get("kind")
        if kind == "ServiceAccount":
            place = subject.get("namespace") or namespace
            if user.name == f"{_ACCOUNT}{place}:{name}":
                return True
        elif name == user.name if kind == "User" else name in user.groups:
            return True
    return False


def _grants(rule: Json, attempt: Attempt) -> bool:
    if not _has(rule, "verbs", attempt.verb):
        return False
    if attempt.path:
        return any(
            attempt.path == url or (url.endswith("*") and attempt.path.startswith(url[:-1]))
            for url in rule.get("nonResourceURLs") or []
        )
    if not _has(rule, "apiGroups", attempt.group):
        return False
    names = rule.get("resourceNames") or []
    if names and attempt.name not in names:
        return False
    resources = rule.get("resources") or []
    if not attempt.subresource:
        return "*" in resources or attempt.resource in resources
    wanted = (f"{attempt.resource}/{attempt.subresource}", f"*/{attempt.subresource}", "*")
    return any(name in resources for name in wanted)


def _has(rule: Json, name: str, value: str) -> bool:
    given = rule.get(name) or []
    return "*" in given or value in given
