"""ClusterRoles that every cluster has, as far as a driver's manifests may name them.

Facts of Kubernetes 1.37. Of ``view``, ``edit`` and ``admin`` only the kinds are named that this
server has.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from pytest_dra.spec import Json

_READ: Final = ("get", "list", "watch")
_WRITE: Final = ("create", "delete", "deletecollection", "patch", "update")

_INFO: Final = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY: Final = (
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
)
_ISSUER: Final = (
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/",
    "/openid/v1/jwks",
    "/openid/v1/jwks/",
)


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> Json:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _urls(paths: Sequence[str]) -> Json:
    return {"nonResourceURLs": list(paths), "verbs": ["get"]}


_VIEW: Final = (
    _rule("", ("configmaps", "events", "namespaces", "pods", "pods/status"), _READ),
    _rule("", ("serviceaccounts",), _READ),
    _rule("apps", ("daemonsets", "daemonsets/status", "deployments", "deployments/status"), _READ),
    _rule(
        "resource.k8s.io",
        ("resourceclaims", "resourceclaims/status", "resourceclaimtemplates"),
        _READ,
    ),
)
_EDIT: Final = (
    *_VIEW,
    _rule("", ("secrets",), _READ),
    _rule("", ("configmaps", "events", "pods", "secrets", "serviceaccounts"), _WRITE),
    _rule("", ("serviceaccounts/token",), ("create",)),
    _rule("apps", ("daemonsets", "deployments"), _WRITE),
    _rule("coordination.k8s.io", ("leases",), (*_READ, *_WRITE)),
    _rule("resource.k8s.io", ("resourceclaims", "resourceclaimtemplates"), _WRITE),
)

ROLES: Final[Mapping[str, list[Json]]] = MappingProxyType(
    {
        "cluster-admin": [
            _rule("*", ("*",), ("*",)),
            {"nonResourceURLs": ["*"], "verbs": ["*"]},
        ],
        "system:basic-user": [
            _rule("authentication.k8s.io", ("selfsubjectreviews",), ("create",)),
            _rule(
                "authorization.k8s.io",
                ("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
                ("create",),
            ),
        ],
        "system:cluster-trust-bundle-discovery": [
            _rule("certificates.k8s.io", ("clustertrustbundles",), _READ)
        ],
        "system:discovery": [_urls(_DISCOVERY)],
        "system:public-info-viewer": [_urls(_INFO)],
        "system:service-account-issuer-discovery": [_urls(_ISSUER)],
        "system:auth-delegator": [
            _rule("authentication.k8s.io", ("tokenreviews",), ("create",)),
            _rule("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
        ],
        "view": [*_VIEW],
        "edit": [*_EDIT],
        "admin": [
            *_EDIT,
            _rule("authorization.k8s.io", ("localsubjectaccessreviews",), ("create",)),
            _rule("rbac.authorization.k8s.io", ("rolebindings", "roles"), (*_READ, *_WRITE)),
        ],
    }
)
"""Rules by the name of the role."""

EVERYBODY: Final = (
    (
        "system:authenticated",
        ("system:basic-user", "system:discovery", "system:public-info-viewer"),
    ),
    ("system:unauthenticated", ("system:public-info-viewer",)),
    (
        "system:serviceaccounts",
        ("system:cluster-trust-bundle-discovery", "system:service-account-issuer-discovery"),
    ),
    ("system:masters", ("cluster-admin",)),
)
"""Groups, and the roles that each cluster binds to them."""
