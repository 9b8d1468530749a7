"""The kinds beside those of DRA: core, events, leases, RBAC, workloads."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.embedded import configs
from pytest_dra.embedded import core
from pytest_dra.embedded import definitions
from pytest_dra.embedded import events
from pytest_dra.embedded import leases
from pytest_dra.embedded import policyrules
from pytest_dra.embedded import roles
from pytest_dra.embedded.labels import NAMED
from pytest_dra.embedded.labels import PLACED
from pytest_dra.embedded.labels import event_fields
from pytest_dra.embedded.labels import flag
from pytest_dra.embedded.labels import paths
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.embedded.verbs import ALL_VERBS


def other_kinds() -> list[dict[str, Any]]:
    """What each of them is made of, as :class:`~pytest_dra.embedded.kinds.Kind` takes it."""
    return [
        *_plain_kinds(),
        *_core_kinds(),
        *_event_kinds(),
        *_rbac_kinds(),
        *_app_kinds(),
        *_extension_kinds(),
    ]


_POD_FIELDS: Final = MappingProxyType(
    {
        **paths(
            PLACED,
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ),
        "spec.hostNetwork": flag("spec.hostNetwork"),
    }
)


def _plain_kinds() -> list[dict[str, Any]]:
    plain = {
        resources.SERVICE_ACCOUNTS: ("core.ServiceAccount", Strategy, ("sa",), True),
        resources.CONFIG_MAPS: ("core.ConfigMap", configs.ConfigMaps, ("cm",), False),
    }
    return [
        {
            "resource": resource,
            "type": name,
            "strategy": strategy(name),
            "fields": PLACED,
            "short_names": short,
            "deletes_to_object": to_object,
            "subresources": ("token",) if resource is resources.SERVICE_ACCOUNTS else (),
        }
        for resource, (name, strategy, short, to_object) in plain.items()
    ]


def _rbac_kinds() -> list[dict[str, Any]]:
    kinds = {
        "ClusterRole": ("clusterroles", False),
        "ClusterRoleBinding": ("clusterrolebindings", False),
        "Role": ("roles", True),
        "RoleBinding": ("rolebindings", True),
    }
    return [
        {
            "resource": Resource(_RBAC, "v1", plural, name, namespaced),
            "type": f"rbac.{name}",
            "strategy": roles.Rbac(f"rbac.{name}"),
            "fields": PLACED if namespaced else NAMED,
            "deletes_to_object": False,
        }
        for name, (plural, namespaced) in kinds.items()
    ]


def _app_kinds() -> list[dict[str, Any]]:
    return [
        {
            "resource": Resource("apps", "v1", plural, name, namespaced=True),
            "type": f"apps.{name}",
            "strategy": core.Workloads(f"apps.{name}"),
            "fields": PLACED,
            "short_names": (short,),
            "categories": ("all",),
            "deletes_to_object": False,
        }
        for name, plural, short in (
            ("Deployment", "deployments", "deploy"),
            ("DaemonSet", "daemonsets", "ds"),
        )
    ]


def _extension_kinds() -> list[dict[str, Any]]:
    return [
        {
            "resource": Resource(
                "apiextensions.k8s.io",
                "v1",
                "customresourcedefinitions",
                "CustomResourceDefinition",
                namespaced=False,
            ),
            "type": definitions.TYPE,
            "strategy": definitions.Definitions(definitions.TYPE),
            "fields": NAMED,
            "short_names": ("crd", "crds"),
            "categories": ("api-extensions",),
            "subresources": ("status",),
        },
        {
            "resource": Resource(
                policyrules.GROUP,
                "v1",
                "validatingadmissionpolicies",
                "ValidatingAdmissionPolicy",
                namespaced=False,
            ),
            "type": policyrules.POLICY,
            "strategy": policyrules.Policies(policyrules.POLICY),
            "fields": NAMED,
            "categories": ("api-extensions",),
            "subresources": ("status",),
            "deletes_to_object": False,
        },
        {
            "resource": Resource(
                policyrules.GROUP,
                "v1",
                "validatingadmissionpolicybindings",
                "ValidatingAdmissionPolicyBinding",
                namespaced=False,
            ),
            "type": policyrules.BINDING,
            "strategy": policyrules.Bindings(policyrules.BINDING),
            "fields": NAMED,
            "categories": ("api-extensions",),
            "deletes_to_object": False,
        },
    ]


_RBAC: Final = "rbac.authorization.k8s.io"


def _core_kinds() -> list[dict[str, Any]]:
    return [
        {
            "resource": resources.NAMESPACES,
            "type": "core.Namespace",
            "strategy": core.Namespaces("core.Namespace"),
            "fields": paths(NAMED, "status.phase"),
            "short_names": ("ns",),
            "subresources": ("status",),
            "verbs": tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
        },
        {
            "resource": resources.NODES,
            "type": "core.Node",
            "strategy": core.Nodes("core.Node"),
            "fields": MappingProxyType({**NAMED, "spec.unschedulable": flag("spec.unschedulable")}),
            "short_names": ("no",),
            "subresources": ("status",),
            "deletes_to_object": False,
        },
        {
            "resource": resources.PODS,
            "type": "core.Pod",
            "strategy": core.Pods("core.Pod"),
            "fields": _POD_FIELDS,
            "short_names": ("po",),
            "categories": ("all",),
            "subresources": ("binding", "status"),
        },
        {
            "resource": resources.SECRETS,
            "type": "core.Secret",
            "strategy": configs.Secrets("core.Secret"),
            "fields": paths(PLACED, "type"),
            "deletes_to_object": False,
        },
    ]


def _event_kinds() -> list[dict[str, Any]]:
    return [
        {
            "resource": resources.EVENTS,
            "type": "core.Event",
            "strategy": events.CoreEvents("core.Event"),
            "fields": event_fields(
                "involvedObject",
                ("source", "source.component"),
                ("reportingComponent", "reportingComponent"),
            ),
            "short_names": ("ev",),
            "deletes_to_object": False,
        },
        {
            "resource": resources.EVENTS_K8S_IO,
            "type": "events.Event",
            "stored": "core.Event",
            "strategy": events.NewEvents("events.Event"),
            "fields": event_fields("regarding", ("reportingController", "reportingComponent")),
            "short_names": ("ev",),
            "deletes_to_object": False,
            "fails_as_core": True,
            "view": events.to_new,
            "unview": events.to_core,
        },
        {
            "resource": resources.LEASES,
            "type": "coordination.Lease",
            "strategy": leases.Leases("coordination.Lease"),
            "fields": PLACED,
            "deletes_to_object": False,
        },
    ]
