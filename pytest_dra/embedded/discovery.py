"""What the server says about itself: versions, groups, resources, in both forms of discovery."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded.kinds import Kind
from pytest_dra.spec import Json

AGGREGATED_TYPE: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""Content-Type of aggregated discovery; clients decide by its parameters."""

_AGGREGATED: Final = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2"}

_SUBRESOURCE_VERBS: Final[Mapping[str, list[str]]] = {
    "status": ["get", "patch", "update"],
    "binding": ["create"],
    "token": ["create"],
}

_SUBRESOURCE_KINDS: Final = {"binding": "Binding", "token": "TokenRequest"}

REVIEWS: Final[Mapping[str, Mapping[str, tuple[str, bool]]]] = MappingProxyType(
    {
        "authentication.k8s.io": {
            "selfsubjectreviews": ("SelfSubjectReview", False),
            "tokenreviews": ("TokenReview", False),
        },
        "authorization.k8s.io": {
            "localsubjectaccessreviews": ("LocalSubjectAccessReview", True),
            "selfsubjectaccessreviews": ("SelfSubjectAccessReview", False),
            "selfsubjectrulesreviews": ("SelfSubjectRulesReview", False),
            "subjectaccessreviews": ("SubjectAccessReview", False),
        },
    }
)
"""Questions that are answered and not stored.

By group and plural: the kind, and whether it belongs to a namespace.
"""

_COMPATIBILITY: Final = 1
"""Minor versions that a server stays compatible with below its own, by default."""


class Discovery:
    """All discovery documents of a server, made once."""

    def __init__(
        self, version: KubernetesVersion, kinds: Mapping[tuple[str, str, str], Kind]
    ) -> None:
        self._version = version
        self._groups: dict[str, dict[str, list[Kind]]] = {}
        for (group, api_version, _), kind in sorted(kinds.items(), key=_order):
            self._groups.setdefault(group, {}).setdefault(api_version, []).append(kind)
        for group in REVIEWS:
            self._groups.setdefault(group, {}).setdefault("v1", [])

    def has_group(self, group: str) -> bool:
        """True if any version of the group is served."""
        return group in self._groups

    def has_version(self, group: str, version: str) -> bool:
        """True if this version of the group is served."""
        return version in self._groups.get(group, {})

    def version(self) -> Json:
        """``/version``."""
        minor = self._version.minor
        return {
            "major": "1",
            "minor": str(minor),
            "emulationMajor": "1",
            "emulationMinor": str(minor),
            "minCompatibilityMajor": "1",
            "minCompatibilityMinor": str(minor - _COMPATIBILITY),
            "gitVersion": f"v1.{minor}.0",
            "gitCommit": "0" * 40,
            "gitTreeState": "clean",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "go0",
            "compiler": "gc",
            "platform": "linux/amd64",
        }

    def api_versions(self) -> Json:
        """``/api``."""
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}

    def groups(self) -> Json:
        """``/apis``."""
        groups = [self._group(name) for name in self._groups if name]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, name: str) -> Json:
        """``/apis/<group>``."""
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name)}

    def _group(self, name: str) -> Json:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version}
            for version in self._groups[name]
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def resources(self, group: str, version: str) -> Json:
        """``/api/v1`` and ``/apis/<group>/<version>``."""
        listed: list[Json] = []
        for kind in self._groups[group][version]:
            resource = kind.resource
            entry: Json = {
                "name": resource.plural,
                "singularName": kind.singular,
                "namespaced": resource.namespaced,
                "kind": resource.kind,
                "verbs": list(kind.verbs),
                "storageVersionHash": _storage_hash(kind),
            }
            if kind.short_names:
                entry["shortNames"] = list(kind.short_names)
            if kind.categories:
                entry["categories"] = list(kind.categories)
            listed.append(entry)
            for name in kind.subresources:
                listed.append(
                    {
                        "name": f"{resource.plural}/{name}",
                        "singularName": "",
                        "namespaced": resource.namespaced,
                        "kind": _SUBRESOURCE_KINDS.get(name, resource.kind),
                        "verbs": _SUBRESOURCE_VERBS[name],
                    }
                )
        for plural, (name, placed) in REVIEWS.get(group, {}).items():
            listed.append(
                {
                    "name": plural,
                    "singularName": name.lower(),
                    "namespaced": placed,
                    "kind": name,
                    "verbs": ["create"],
                }
            )
        out: Json = {"kind": "APIResourceList", "groupVersion": version, "resources": listed}
        if group:
            out["apiVersion"] = "v1"
            out["groupVersion"] = f"{group}/{version}"
        return out

    def aggregated(self, *, core: bool) -> Json:
        """``/api`` or ``/apis`` in the aggregated form."""
        items = []
        for name, versions in self._groups.items():
            if bool(name) is core:
                continue
            entries = [
                {
                    "version": version,
                    "freshness": "Current",
                    "resources": [
                        *(_aggregated_resource(kind) for kind in kinds),
                        *_aggregated_reviews(name, version),
                    ],
                }
                for version, kinds in versions.items()
            ]
            items.append({"metadata": {"name": name} if name else {}, "versions": entries})
        return {**_AGGREGATED, "metadata": {}, "items": items}


def _order(entry: tuple[tuple[str, str, str], Kind]) -> tuple[str, int, int, int, str]:
    """By group, then stable before beta before alpha and newer before older, then by name."""
    (group, version, plural), _ = entry
    match = _VERSION.fullmatch(version)
    if match is None:
        return group, len(_STAGES), 0, 0, plural
    return group, _STAGES.index(match[2] or ""), -int(match[1]), -int(match[3] or 0), plural


_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES: Final = ("", "beta", "alpha")


def _aggregated_reviews(group: str, version: str) -> list[Json]:
    return [
        {
            "resource": plural,
            "responseKind": {"group": group, "version": version, "kind": kind},
            "scope": "Namespaced" if placed else "Cluster",
            "singularResource": kind.lower(),
            "verbs": ["create"],
        }
        for plural, (kind, placed) in REVIEWS.get(group, {}).items()
    ]


def _aggregated_resource(kind: Kind) -> Json:
    resource = kind.resource
    names = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    out: Json = {
        "resource": resource.plural,
        "responseKind": names,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        out["shortNames"] = list(kind.short_names)
    if kind.categories:
        out["categories"] = list(kind.categories)
    if kind.subresources:
        out["subresources"] = [
            {
                "subresource": name,
                "responseKind": {**names, "kind": _SUBRESOURCE_KINDS.get(name, resource.kind)},
                "verbs": _SUBRESOURCE_VERBS[name],
            }
            for name in kind.subresources
        ]
    return out


def _storage_hash(kind: Kind) -> str:
    resource = kind.resource
    group = "" if kind.fails_as_core else resource.group
    text = f"{group}/{kind.stored_version or resource.version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()
