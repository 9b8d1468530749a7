"""What judges a driver within its cluster, as objects: an Indexed Job, or a plugin of Sonobuoy.

The pods of a Job are all alike, and may run anywhere: index N of the Job judges the N-th node of a
list that is made when the Job is, from wherever the pod runs. A shard leaves its report in a
ConfigMap with the Job's uid. It outlives pods and Job, since a Job that hangs, or that the cluster
removes when it has ended, would take all results along. Sonobuoy runs a pod on each node, and
collects files.

Source: sonobuoy.io, "Sonobuoy plugins" and the plugin's manifest (0.57).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.live.needed import Need
from pytest_dra.live.needed import suites_needs
from pytest_dra.report.jobruns import JOB_LABEL
from pytest_dra.report.shards import NODES
from pytest_dra.spec import Json

PROFILE: Final = "dra-profile.yaml"
"""Field of the job's ConfigMap with the driver's profile; NODES is that with its nodes."""

FOLDER: Final = "/job"
"""Where a shard finds that ConfigMap."""

WORK: Final = "/work"
"""Home of the image's user, which the report is written to."""

TEMPORARY: Final = "/tmp"  # noqa: S108 - the container's own
"""Where the suite keeps what a run needs."""

USER: Final = 10001
"""User of the suite's image."""

TIMEOUT_S: Final = 3600
"""Longest judgement of a node by default: one that works takes minutes."""

GRACE_S: Final = 300
"""From SIGTERM to SIGKILL: a run that is interrupted removes its pods and claims before it ends."""

RETRIES: Final = 1
"""How often a shard begins anew whose pod was lost; a driver that fails is no reason for it."""

ANY_NAMESPACE: Final = ""

RESULTS: Final = f"{TEMPORARY}/sonobuoy/results"
"""Where Sonobuoy's worker looks for results, unless it was told otherwise."""

SONOBUOY: Final = "sonobuoy-serviceaccount"
"""The account that Sonobuoy makes; it may do everything, unless it was told otherwise."""

RUN: Final = "JOB_UID"
"""Variable of a Job's pods by which their ConfigMaps are known to be of one run."""

UID_OF_JOB: Final = "metadata.labels['batch.kubernetes.io/controller-uid']"
"""Field of a pod: a label that the Job's controller gives it."""

NODE: Final = Need(verb="get", resource=resources.NODES)
"""Lets a shard see whether its node is still there."""

METRICS: Final = Need(verb="get", resource=resources.NODES, subresource="proxy")
"""Lets a shard read how long calls took, as the kubelet counts them; it lets others do far more."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is printed.

    Attributes:
        name: of the job and of everything that it has.
        namespace: of the job, which is made.
        image: of the suite, as the project's Dockerfile makes it.
        nodes: index N judges the N-th of them.
        options: of pytest.
        profile: text of the driver's profile, "" where there is none.
        at_once: shards that run at the same time.
        timeout_s: after which a shard ends, with a report of a part.
        host_network: pods use the network of their node.
        metrics: shards may read the kubelets' metrics.
    """

    name: str
    namespace: str
    image: str
    nodes: Sequence[str]
    options: Sequence[str]
    profile: str
    at_once: int
    timeout_s: int
    host_network: bool
    metrics: bool

    @property
    def config(self) -> dict[str, str]:
        """What all shards read."""
        listed = {NODES: "".join(f"{each}\n" for each in self.nodes)} if self.nodes else {}
        return {**listed, **({PROFILE: self.profile} if self.profile else {})}

    def command(self, *arguments: str) -> list[str]:
        """What a shard runs."""
        given = [f"--timeout={self.timeout_s}", *arguments]
        return ["dra-report", "shard", *given, *(["--", *self.options] if self.options else [])]


def job(plan: Plan) -> list[Json]:
    """An Indexed Job with all that it needs, in the order in which kubectl makes it."""
    account = [{"kind": "ServiceAccount", "name": plan.name, "namespace": plan.namespace}]
    looks = [NODE, *([METRICS] if plan.metrics else [])]
    everywhere = [*suites_needs(namespace=ANY_NAMESPACE), *looks]
    here = [Need(verb=verb, resource=resources.CONFIG_MAPS) for verb in ("create", "get", "update")]
    return [
        _named("v1", "Namespace", plan, plan.namespace),
        _named("v1", "ServiceAccount", plan),
        *_role("Cluster", everywhere, account, plan),
        *_role("", here, account, plan),
        {**_named("v1", "ConfigMap", plan), "data": plan.config},
        {**_named("batch/v1", "Job", plan), "spec": _indexed(plan)},
    ]


def _named(version: str, kind: str, plan: Plan, name: str = "") -> Json:
    """An object of this name, the job's by default; in the job's namespace, if in any."""
    metadata: Json = {"name": name or plan.name, "labels": {JOB_LABEL: plan.name}}
    if kind not in ("Namespace", "ClusterRole", "ClusterRoleBinding"):
        metadata["namespace"] = plan.namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _role(prefix: str, needs: Iterable[Need], account: list[Json], plan: Plan) -> Iterable[Json]:
    api = "rbac.authorization.k8s.io"
    kind = f"{prefix}Role"
    yield {**_named(f"{api}/v1", kind, plan), "rules": rules_of(needs)}
    reference = {"apiGroup": api, "kind": kind, "name": plan.name}
    bound = _named(f"{api}/v1", f"{kind}Binding", plan)
    yield {**bound, "roleRef": reference, "subjects": account}


def rules_of(needs: Iterable[Need]) -> list[Json]:
    """Rules of RBAC that allow all of this, those with the same verbs together."""
    verbs: dict[tuple[str, str], list[str]] = {}
    for need in needs:
        known = verbs.setdefault((need.resource.group, _path(need.resource, need.subresource)), [])
        known += [need.verb] if need.verb not in known else []
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, path), found in verbs.items():
        alike.setdefault((group, tuple(sorted(found))), []).append(path)
    return [
        {"apiGroups": [group], "resources": sorted(paths), "verbs": list(found)}
        for (group, found), paths in sorted(alike.items())
    ]


def _path(resource: Resource, subresource: str) -> str:
    return f"{resource.plural}/{subresource}" if subresource else resource.plural


def _indexed(plan: Plan) -> Json:
    container = {
        **_container(plan, [f"--keep={plan.name}", f"--job={FOLDER}"]),
        "env": [{"name": RUN, "valueFrom": {"fieldRef": {"fieldPath": UID_OF_JOB}}}],
        "volumeMounts": [*_mounts(), {"name": "job", "mountPath": FOLDER, "readOnly": True}],
    }
    volumes = [*_volumes(), {"name": "job", "configMap": {"name": plan.name}}]
    return {
        "completionMode": "Indexed",
        "completions": len(plan.nodes),
        "parallelism": min(plan.at_once, len(plan.nodes)),
        "backoffLimitPerIndex": RETRIES,
        "template": {
            "metadata": {"labels": {JOB_LABEL: plan.name}},
            "spec": {
                **_pod(plan),
                "serviceAccountName": plan.name,
                "restartPolicy": "Never",
                "activeDeadlineSeconds": plan.timeout_s + GRACE_S,
                "containers": [container],
                "volumes": volumes,
            },
        },
    }


def sonobuoy(plan: Plan) -> Json:
    """The definition of a plugin of Sonobuoy, which runs a shard on each node."""
    node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    results = {"name": "results", "mountPath": RESULTS}
    made: Json = {
        "sonobuoy-config": {
            "driver": "DaemonSet",
            "plugin-name": plan.name,
            "result-format": "junit",
            "description": "conformance of a DRA driver, judged on each node (pytest-dra)",
        },
        "podSpec": {
            **_pod(plan),
            "containers": [],
            "serviceAccountName": SONOBUOY,
            "restartPolicy": "Always",
            "tolerations": [{"operator": "Exists"}],
            "volumes": _volumes(),
        },
        "spec": {
            **_container(plan, ["--sonobuoy"]),
            "env": [node],
            "volumeMounts": [*_mounts(), results],
        },
    }
    return {**made, "config-map": plan.config} if plan.config else made


def _pod(plan: Plan) -> Json:
    """What the pods of both have in common."""
    network: Mapping[str, object] = {
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
    }
    return {
        "terminationGracePeriodSeconds": GRACE_S,
        **(network if plan.host_network else {}),
    }


def _container(plan: Plan, arguments: Sequence[str]) -> Json:
    return {
        "name": "shard",
        "image": plan.image,
        "imagePullPolicy": "IfNotPresent",
        "command": plan.command(*arguments),
        "workingDir": WORK,
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
        # Of the container, since Sonobuoy adds one of its own.
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _volumes() -> list[Json]:
    return [{"name": name, "emptyDir": {}} for name in ("work", "tmp")]


def _mounts() -> list[Json]:
    return [{"name": "work", "mountPath": WORK}, {"name": "tmp", "mountPath": TEMPORARY}]
