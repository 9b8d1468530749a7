"""Authorization by the RBAC objects that are stored in the server itself, and by node."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from typing import Final

from pytest_dra.api import rbac
from pytest_dra.embedded import policies
from pytest_dra.embedded.access import ACCOUNT
from pytest_dra.embedded.access import MASTERS
from pytest_dra.embedded.access import Attempt
from pytest_dra.embedded.access import User
from pytest_dra.embedded.builtinroles import EVERYBODY
from pytest_dra.embedded.builtinroles import ROLES
from pytest_dra.embedded.nodeaccess import NodeAccess
from pytest_dra.embedded.store import Store
from pytest_dra.spec import Json

_CLUSTER_ROLE: Final = "rbac.ClusterRole"


class Rbac:
    """An :data:`~pytest_dra.embedded.access.Authorizer`: Node and RBAC, as clusters have it.

    Used from the server's loop only. Changes of roles and bindings count at once. The roles that a
    cluster brings along are not among the stored objects unless somebody makes them.

    Args:
        store: where roles, bindings and what nodes may see are.
        trusted: groups that may do everything.
    """

    def __init__(self, store: Store, trusted: Collection[str] = ()) -> None:
        self._store = store
        self._everybody = (*EVERYBODY, *((group, ("cluster-admin",)) for group in trusted))
        self._nodes = NodeAccess(store)

    def __call__(self, attempt: Attempt) -> bool:
        """True if the user may do so."""
        user = attempt.user
        if MASTERS in user.groups or self._nodes.allows(attempt):
            return True
        return any(_grants(rule, attempt) for rule in self.rules(user, attempt.namespace))

    def rules(self, user: User, namespace: str) -> Iterator[Json]:
        """All that a user is granted, in a namespace and everywhere."""
        for group, roles in self._everybody:
            if group in user.groups:
                for name in roles:
                    yield from ROLES[name]
        for kind, reference in self._references(user, namespace):
            yield from self._of_role(kind, reference, namespace) or ()

    def node_why_not(self, attempt: Attempt) -> str:
        """What the node authorizer says of a kubelet that may not."""
        return self._nodes.why_not(attempt)

    def why_not(self, attempt: Attempt) -> str:
        """What is wrong with the bindings of a user who may not: roles that do not exist."""
        found = []
        for kind, name in self._references(attempt.user, attempt.namespace):
            if self._of_role(kind, name, attempt.namespace) is None:
                found.append(f'{kind.lower()}.rbac.authorization.k8s.io "{name}" not found')
        if not found:
            return ""
        return f"RBAC: {found[0]}" if len(found) == 1 else f"RBAC: [{', '.join(found)}]"

    def _references(self, user: User, namespace: str) -> Iterator[tuple[str, str]]:
        """Kind and name of the roles that are bound to a user."""
        places = [("rbac.ClusterRoleBinding", "")]
        if namespace:
            places.append(("rbac.RoleBinding", namespace))
        for kind, place in places:
            for binding in self._store.sorted(kind, place or None):
                if _binds(binding.object, user, place):
                    reference = binding.object["roleRef"]
                    yield reference.get("kind", ""), reference.get("name", "")

    def _of_role(self, kind: str, name: str, namespace: str) -> list[Json] | None:
        if kind == "Role":
            found = self._store.get("rbac.Role", namespace, name)
        else:
            found = self._store.get(_CLUSTER_ROLE, "", name)
            if found is None:
                return ROLES.get(name)
        if found is None:
            return None
        if aggregation := found.object.get("aggregationRule"):
            return self._aggregated(aggregation)
        rules: list[Json] = found.object.get("rules") or []
        return rules

    def _aggregated(self, aggregation: Json) -> list[Json]:
        """The rules of all ClusterRoles with the labels that the role names."""
        selectors = aggregation.get("clusterRoleSelectors") or []
        return [
            rule
            for role in self._store.sorted(_CLUSTER_ROLE)
            if any(policies.selects(selector, role.object) for selector in selectors)
            for rule in role.object.get("rules") or []
        ]


def _binds(binding: Json, user: User, namespace: str) -> bool:
    for subject in binding.get("subjects") or []:
        name = subject.get("name", "")
        kind = subject.get("kind")
        if kind == "ServiceAccount":
            place = subject.get("namespace") or namespace
            if user.name == f"{ACCOUNT}{place}:{name}":
                return True
        elif name == user.name if kind == "User" else name in user.groups:
            return True
    return False


def _grants(rule: Json, attempt: Attempt) -> bool:
    if attempt.path:
        return rbac.allows_path(rule, verb=attempt.verb, path=attempt.path)
    return rbac.allows(
        rule,
        verb=attempt.verb,
        group=attempt.group,
        resource=attempt.resource,
        subresource=attempt.subresource,
        name=attempt.name,
    )
