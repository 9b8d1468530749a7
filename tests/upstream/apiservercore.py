"""The kinds of the fuzz that are none of DRA's: see :mod:`tests.upstream.apiserverkinds`."""

from __future__ import annotations

from typing import Final

from tests.upstream.apiserverkinds import CLAIMS
from tests.upstream.apiserverkinds import CLASSES
from tests.upstream.apiserverkinds import RULES
from tests.upstream.apiserverkinds import SLICES
from tests.upstream.apiserverkinds import TEMPLATES
from tests.upstream.apiserverkinds import Written
from tests.upstream.apiservermeta import Edits

_TIME: Final = "2026-01-01T00:00:00Z"
_MICRO: Final = "2026-01-01T00:00:00.123456Z"

CONFIG_MAPS: Final = Written(
    path="core/configmaps",
    body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n0"}, "data": {"a": "b"}},
    edits={
        "data": ({"a": "c"}, {"x": "y", "z": ""}, {}, None),
        "binaryData": ({"b": "AAE="}, {}),
        "immutable": (True, False),
    },
    spoils={"data": ({"a b": "c"}, {"a": 1}, [], {"..": "x"}), "binaryData": ({"a": "AAE="},)},
)

SECRETS: Final = Written(
    path="core/secrets",
    body={"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "n0"}, "data": {"a": "Yg=="}},
    edits={
        "data": ({"a": "Yw=="}, {}, None),
        "stringData": ({"a": "x"}, {"s": "t"}),
        "immutable": (True, False),
    },
    spoils={"data": ({"a b": "Yg=="}, {"a": "?"}), "type": ("x", "kubernetes.io/tls", "")},
    fields=("metadata.name=n0", "type=Opaque", "type!=Opaque", "data=x"),
)

ACCOUNTS: Final = Written(
    path="core/serviceaccounts",
    body={"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "n0"}},
    edits={
        "automountServiceAccountToken": (True, False),
        "secrets": ([{"name": "s"}], []),
        "imagePullSecrets": ([{"name": "s"}],),
    },
    spoils={"secrets": ([{"foo": 1}], "x")},
)

LEASES: Final = Written(
    path="/apis/coordination.k8s.io/v1/namespaces/${ns}/leases",
    body={
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "n0"},
        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15},
    },
    edits={
        "spec.holderIdentity": ("you", None),
        "spec.renewTime": (_MICRO, _TIME, None),
        "spec.leaseTransitions": (1, 0),
        "spec.acquireTime": (_MICRO,),
        "spec": ({}, None),
    },
    spoils={
        "spec.leaseDurationSeconds": (0, -1, "1", 2147483648),
        "spec.leaseTransitions": (-1,),
        "spec.holderIdentity": ("", 1),
        "spec.strategy": ("OldestEmulationVersion", "x"),
        "spec.preferredHolder": ("y", ""),
        "spec.renewTime": ("now",),
    },
)

EVENTS: Final = Written(
    path="core/events",
    body={
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "n0"},
        "involvedObject": {"kind": "Pod", "name": "p0", "namespace": "${ns}"},
        "reason": "Started",
        "message": "m",
        "type": "Normal",
        "count": 1,
    },
    edits={
        "count": (2, 0),
        "message": ("other", ""),
        "type": ("Warning",),
        "lastTimestamp": (_TIME, None),
        "source": ({"component": "drv", "host": "h"}, {}),
    },
    spoils={
        "involvedObject": ({}, {"namespace": "default"}, {"kind": "Node", "name": "x"}),
        "type": ("Strange", ""),
        "eventTime": (_MICRO, _TIME),
        "series": ({"count": 2, "lastObservedTime": _MICRO},),
        "reportingComponent": ("x y", "a.example.com"),
        "action": ("Do",),
        "reason": ("",),
    },
    fields=(
        "involvedObject.name=p0",
        "involvedObject.kind=Pod,reason=Started",
        "type!=Normal",
        "source=drv",
        "reportingComponent=",
        "regarding.name=p0",
    ),
)

NEW_EVENTS: Final = Written(
    path="/apis/events.k8s.io/v1/namespaces/${ns}/events",
    body={
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "n0"},
        "regarding": {"kind": "Pod", "name": "p0", "namespace": "${ns}"},
        "reason": "Started",
        "note": "m",
        "type": "Normal",
        "action": "Start",
        "reportingController": "drv.example.com",
        "reportingInstance": "drv-0",
        "eventTime": _MICRO,
    },
    edits={
        "series": (
            {"count": 2, "lastObservedTime": _MICRO},
            {"count": 3, "lastObservedTime": _TIME},
        ),
        "note": ("other", ""),
        "related": ({"kind": "Node", "name": "x"},),
    },
    spoils={
        "reportingController": ("", "a b"),
        "reportingInstance": ("", {"$repeat": ["x", 129]}),
        "action": ("",),
        "reason": ("", {"$repeat": ["x", 129]}),
        "type": ("Strange", ""),
        "eventTime": (None,),
        "note": ({"$repeat": ["x", 1025]}, {"$repeat": ["x", 1024]}),
        "series": ({"count": 1, "lastObservedTime": _MICRO}, {"count": 2}),
        "deprecatedCount": (1,),
        "deprecatedSource": ({"component": "x"},),
        "regarding": ({}, {"namespace": "default"}),
    },
    fields=("regarding.name=p0", "reason=Started", "involvedObject.name=p0", "type=Normal"),
)

NODES: Final = Written(
    path="nodes",
    body={"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}},
    edits={
        "spec.unschedulable": (True, False),
        "spec.taints": ([{"key": "a", "effect": "NoSchedule"}], []),
        "spec.providerID": ("x://y",),
        "metadata.labels": ({"zone": "a"}, {"zone": "b"}),
    },
    status={
        "status.capacity": ({"cpu": "4"}, {"cpu": "4000m", "memory": "1024Mi"}, {}),
        "status.allocatable": ({"cpu": "3"},),
        "status.conditions": (
            [{"type": "Ready", "status": "True"}],
            [{"type": "Ready", "status": "False"}, {"type": "Disk", "status": "True"}],
        ),
        "status.addresses": ([{"type": "InternalIP", "address": "10.0.0.1"}],),
        "status.nodeInfo.kubeletVersion": ("v1.37.0",),
    },
    spoils={
        "spec.taints": (
            [{"key": "", "effect": "NoSchedule"}],
            [{"key": "a", "effect": "x"}],
            [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}],
        ),
        "spec.podCIDR": ("10.0.0.0/24",),
        "spec.podCIDRs": (["10.0.0.0/24"], ["x"]),
    },
    sub=("status",),
    namespaced=False,
    fields=("metadata.name=n0", "spec.unschedulable=true", "spec.unschedulable=false", "spec.x=y"),
)

PODS: Final = Written(
    path="core/pods",
    body={
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "n0"},
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "i"}],
        },
    },
    edits={
        "spec.containers[0].image": ("j", "k:1"),
        "spec.nodeName": ("node-a",),
        "spec.resourceClaims": (
            [{"name": "g", "resourceClaimName": "n0"}],
            [{"name": "g", "resourceClaimTemplateName": "n0"}],
            [],
        ),
        "spec.terminationGracePeriodSeconds": (0, 5, 1),
        "spec.restartPolicy": ("Never",),
    },
    status={
        "status.phase": ("Running", "Succeeded", "Failed"),
        "status.conditions": (
            [{"type": "Ready", "status": "True"}],
            [{"type": "Other", "status": "False"}],
        ),
        "status.resourceClaimStatuses": (
            [{"name": "g", "resourceClaimName": "n0"}],
            [{"name": "zz"}],
        ),
        "status.message": ("m",),
    },
    spoils={
        "spec.containers": (
            [],
            None,
            [{"name": "C", "image": "i"}],
            [{"name": "c", "image": "i"}, {"name": "c", "image": "i"}],
            [{"name": "c"}],
        ),
        "spec.resourceClaims": (
            [{"name": "g"}],
            [{"name": "", "resourceClaimName": "x"}],
            [{"name": "g", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}],
        ),
        "spec.containers[0].resources": ({"claims": [{"name": "zz"}]},),
        "spec.restartPolicy": ("Sometimes",),
        "spec.serviceAccountName": ("missing",),
        "spec.nodeName": ("A_",),
    },
    sub=("status",),
    fields=(
        "spec.nodeName=node-a",
        "spec.nodeName=",
        "status.phase=Pending",
        "status.phase!=Pending",
        "metadata.name=n0",
        "spec.restartPolicy=Always",
        "spec.x=y",
    ),
)

NAMESPACES: Final = Written(
    path="nss",
    body={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "${ns}-0"}},
    edits={"metadata.labels": ({"a": "1"}, {"kubernetes.io/metadata.name": "x"}, {})},
    spoils={
        "metadata.name": ("", "a.b", "Upper", {"$repeat": ["x", 64]}),
        "spec.finalizers": (["kubernetes"], ["x"], []),
        "status.phase": ("Terminating",),
    },
    namespaced=False,
    fields=("metadata.name=${ns}-0", "metadata.name=${ns}"),
)

_RULE: Final = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_RULES: Final[Edits] = {
    "rules": ([_RULE], [_RULE, {"nonResourceURLs": ["/x"], "verbs": ["get"]}], None),
}
_BAD_RULES: Final[Edits] = {
    "rules": (
        [{"verbs": []}],
        [{"apiGroups": [""], "resources": ["pods"]}],
        [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "nonResourceURLs": ["/"]}],
        [{"resources": ["pods"], "verbs": ["get"]}],
    )
}
_SUBJECTS: Final[Edits] = {
    "subjects": (
        [{"kind": "User", "name": "u"}],
        [{"kind": "ServiceAccount", "name": "s", "namespace": "default"}],
        [{"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"}],
        [],
    )
}
_BAD_SUBJECTS: Final[Edits] = {
    "subjects": (
        [{"kind": "User"}],
        [{"kind": "ServiceAccount", "name": "s"}],
        [{"kind": "Other", "name": "s"}],
        [{"kind": "User", "name": "u", "apiGroup": "x"}],
    ),
    "roleRef": (
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "other"},
        {"apiGroup": "x", "kind": "Role", "name": "n"},
        {"kind": "Other", "name": "n"},
        {"kind": "ClusterRole", "name": ""},
        {},
    ),
}


def _role(kind: str, plural: str, *, namespaced: bool) -> Written:
    return Written(
        path=f"{_RBAC}/{'namespaces/${ns}/' if namespaced else ''}{plural}",
        body={
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": "n0"},
            "rules": [_RULE],
        },
        edits=_RULES,
        spoils=_BAD_RULES,
        namespaced=namespaced,
    )


def _binding(kind: str, plural: str, *, namespaced: bool) -> Written:
    return Written(
        path=f"{_RBAC}/{'namespaces/${ns}/' if namespaced else ''}{plural}",
        body={
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": "n0"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "n0",
            },
            "subjects": [{"kind": "User", "name": "u"}],
        },
        edits=_SUBJECTS,
        spoils=_BAD_SUBJECTS,
        namespaced=namespaced,
    )


KINDS: Final = {
    "slices": SLICES,
    "claims": CLAIMS,
    "templates": TEMPLATES,
    "classes": CLASSES,
    "rules": RULES,
    "configmaps": CONFIG_MAPS,
    "secrets": SECRETS,
    "accounts": ACCOUNTS,
    "leases": LEASES,
    "events": EVENTS,
    "newevents": NEW_EVENTS,
    "nodes": NODES,
    "pods": PODS,
    "namespaces": NAMESPACES,
    "roles": _role("Role", "roles", namespaced=True),
    "clusterroles": _role("ClusterRole", "clusterroles", namespaced=False),
    "rolebindings": _binding("RoleBinding", "rolebindings", namespaced=True),
    "clusterrolebindings": _binding("ClusterRoleBinding", "clusterrolebindings", namespaced=False),
}
"""All kinds by the names of ``--kinds``."""
