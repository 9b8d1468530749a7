"""What a run must be allowed to do on a cluster of others, asked before anything is made."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from pytest_dra.api import rbac
from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.live.deployment import DEFAULT_NAMESPACE
from pytest_dra.live.deployment import namespace_of
from pytest_dra.live.deployment import resource_of
from pytest_dra.live.foreign import NODE_FACT
from pytest_dra.live.shipment import plugins_of
from pytest_dra.spec import Json

REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False
)

AT_ONCE: Final = 8
"""Questions that are asked at the same time: there are some tens, of a round trip each."""

RBAC: Final = "rbac.authorization.k8s.io"
ESCALATE: Final = "escalate"
BIND: Final = "bind"
"""Verbs by which a user may grant what he does not have himself."""

EXTRAS: Final = Resource("authentication.k8s.io", "v1", "userextras", "", namespaced=False)
"""Facts about a user, such as the node of a pod's token, to be taken with his identity."""

READ: Final = ("get", "list")
MAKE: Final = ("create", "get", "list", "delete")
WATCH: Final = ("get", "list", "watch")
EXEC: Final = ("get", "create")
"""A server asks for one or the other, or both, by its version."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One verb on a resource; ``namespace`` "": in all, or the resource is in none.

    ``name``: of the only object that is meant. ``unless``: who may do all that needs nothing else.
    """

    verb: str
    resource: Resource
    namespace: str = ""
    subresource: str = ""
    name: str = ""
    unless: tuple[Need, ...] = ()

    @property
    def what(self) -> str:
        """Resource and namespace in words."""
        name = self.resource.plural + (f"/{self.subresource}" if self.subresource else "")
        group = f".{self.resource.group}" if self.resource.group else ""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{name}{group}{f' {self.name}' if self.name else ''}{where}"

    def body(self) -> Json:
        """The question as an object."""
        about = {
            "verb": self.verb,
            "group": self.resource.group,
            "version": self.resource.version,
            "resource": self.resource.plural,
            "subresource": self.subresource,
            "namespace": self.namespace,
            "name": self.name,
        }
        return {"spec": {"resourceAttributes": {key: each for key, each in about.items() if each}}}


def needs_of(
    client: Client,
    objects: Sequence[Json],
    *,
    namespace: str,
    allocates: bool = False,
    disturbs: bool = False,
) -> list[Need]:
    """Everything that a run may do.

    Args:
        client: of the cluster.
        objects: what is deployed.
        namespace: the run's own.
        allocates: our allocator gives devices to pods.
        disturbs: cases run that disturb others.

    Raises:
        ClusterError: the cluster serves no objects of a kind.
    """
    found = suites_needs(namespace=namespace)
    kinds: dict[tuple[str, str], Resource] = {}
    for item in objects:
        key = (str(item["apiVersion"]), str(item["kind"]))
        if key not in kinds:
            kinds[key] = resource_of(client, item)
        found += _each(MAKE, kinds[key], namespace_of(item, kinds[key]) or "")
    found += _each(("delete",), resources.PODS, "") if objects else []
    found += _granting(objects)
    homes = sorted({each.namespace or DEFAULT_NAMESPACE for each in plugins_of(objects)})
    for home in homes:
        found += _each(EXEC, resources.PODS, home, "exec")
    found += _allocating() if allocates else []
    found += _disturbing(homes) if disturbs else []
    return list(dict.fromkeys(found))


def _granting(objects: Sequence[Json]) -> Iterator[Need]:
    """Roles and bindings are made by those who have what they grant, or may grant all the same."""
    rules = {
        rbac.role_key(item["kind"], _home(item), item["metadata"]["name"]): tuple(
            _rules(item.get("rules") or (), _home(item))
        )
        for item in objects
        if item["kind"] in rbac.ROLES
    }
    for (kind, home, name), held in rules.items():
        yield Need(verb=ESCALATE, resource=_roles(kind), namespace=home, name=name, unless=held)
    for item in objects:
        if item["kind"] in rbac.BINDINGS:
            ref, home = item.get("roleRef") or {}, _home(item)
            kind, place, name = rbac.role_key(ref.get("kind"), home, ref.get("name"))
            held = rules.get((kind, place, name), ())
            yield Need(verb=BIND, resource=_roles(kind), namespace=home, name=name, unless=held)


def _home(item: Json) -> str:
    return str((item.get("metadata") or {}).get("namespace") or "")


def _roles(kind: str) -> Resource:
    return Resource(RBAC, "v1", f"{kind.lower()}s", kind, namespaced=kind == "Role")


def _rules(rules: Sequence[Json], namespace: str) -> Iterator[Need]:
    """What one has who has all that these rules grant."""
    for rule in rules:
        for group in rbac.texts(rule, "apiGroups"):
            for full in rbac.texts(rule, "resources"):
                plural, _, sub = full.partition("/")
                resource = Resource(group, "", plural, "", namespaced=bool(namespace))
                yield from _each(rbac.texts(rule, "verbs"), resource, namespace, sub)


def wished() -> list[Need]:
    """What a run does where it may, and goes without where it may not.

    The metrics of kubelets lie behind a right by which one can do everything on a node.
    """
    return [*_each(("list",), resources.NODES), *_each(("get",), resources.NODES, "", "proxy")]


def suites_needs(*, namespace: str) -> list[Need]:
    """What a run does whatever it deploys: all that it needs where a driver is installed."""
    return [*_own(namespace), *_seen()]


def _each(
    verbs: Iterable[str], resource: Resource, namespace: str = "", subresource: str = ""
) -> Iterator[Need]:
    for verb in verbs:
        yield Need(verb=verb, resource=resource, namespace=namespace, subresource=subresource)


def _own(namespace: str) -> Iterator[Need]:
    """What is made in the run's namespace, and that itself."""
    yield from _each(MAKE, resources.NAMESPACES)
    for resource in (
        resources.PODS,
        resources.RESOURCE_CLAIMS,
        resources.RESOURCE_CLAIM_TEMPLATES,
    ):
        yield from _each(MAKE, resource, namespace)
    yield from _each(("patch",), resources.PODS, namespace)
    yield from _each(EXEC, resources.PODS, namespace, "exec")
    # Classes with configuration of a case, which are in no namespace.
    yield from _each(MAKE, resources.DEVICE_CLASSES)
    yield from _each(READ, resources.EVENTS, namespace)
    yield from _each(("list",), resources.SERVICE_ACCOUNTS, namespace)


def _seen() -> Iterator[Need]:
    """What is looked at everywhere."""
    yield from _each(READ, resources.RESOURCE_SLICES)
    yield from _each(("list",), resources.PODS)
    yield from _each(("get",), resources.PODS, "", "log")


def _allocating() -> Iterator[Need]:
    for resource in (
        resources.PODS,
        resources.NODES,
        resources.RESOURCE_CLAIMS,
        resources.RESOURCE_CLAIM_TEMPLATES,
        resources.RESOURCE_SLICES,
        resources.DEVICE_CLASSES,
    ):
        yield from _each(WATCH, resource)
    yield from _each(("update", "patch"), resources.RESOURCE_CLAIMS)
    yield from _each(("update", "patch"), resources.RESOURCE_CLAIMS, "", "status")
    yield from _each(("patch",), resources.PODS, "", "status")
    yield from _each(("create",), resources.PODS, "", "binding")
    yield from _each(("create", "patch"), resources.EVENTS)


def _disturbing(homes: Iterable[str]) -> Iterator[Need]:
    """What the driver's identity must not do is tried in its name; it gets a second instance."""
    yield from _each(("create", "delete"), resources.RESOURCE_SLICES)
    yield from _each(("impersonate",), resources.SERVICE_ACCOUNTS)
    yield from _each(("impersonate",), EXTRAS, "", NODE_FACT)
    for home in homes:
        yield from _each(("create", "get", "patch"), resources.PODS, home)


def must_be_granted(client: Client, needs: Sequence[Need]) -> None:
    """Ask for each right whether this user has it.

    Raises:
        ClusterError: some are missing, all of them in one sentence; or the server cannot be asked.
    """
    told = missing(client, needs)
    if told:
        raise ClusterError(
            f"this user may not: {told}. Nothing was made; use a user who may, see CLUSTERS.md"
        )


def missing(client: Client, needs: Sequence[Need]) -> str:
    """The rights that this user does not have, in words; empty if he has them all.

    Raises:
        ClusterError: the server cannot be asked.
    """
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            granted = list(pool.map(lambda need: _may(client, need), needs))
    except KubeError as error:
        raise ClusterError(f"what this user may do cannot be asked: {error}") from error
    lacking: dict[str, list[str]] = {}
    for need, is_granted in zip(needs, granted, strict=True):
        if not is_granted:
            lacking.setdefault(need.what, []).append(need.verb)
    return "; ".join(f"{', '.join(verbs)} {what}" for what, verbs in lacking.items())


def _may(client: Client, need: Need) -> bool:
    if _has(client, need):
        return True
    return bool(need.unless) and all(_has(client, each) for each in need.unless)


def _has(client: Client, need: Need) -> bool:
    answer = client.create(REVIEWS, need.body())
    return bool((answer.get("status") or {}).get("allowed"))
