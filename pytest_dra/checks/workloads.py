"""Pods that a driver ships in its manifests: what they may do, and what a node plugin needs."""

from __future__ import annotations

import dataclasses
import posixpath
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any
from typing import Final

from pytest_dra.checks.flaws import Flaw
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable

WORKLOADS: Final = ("DaemonSet", "Deployment", "StatefulSet")

REGISTRY: Final = "/var/lib/kubelet/plugins_registry"
PLUGINS: Final = "/var/lib/kubelet/plugins"
CDI: Final = ("/var/run/cdi", "/run/cdi", "/etc/cdi")

NODE_CRITICAL: Final = "system-node-critical"
"""Priority of pods without which a node is no use."""

ROOT: Final = "/"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """An object that makes pods.

    Attributes:
        item: the object.
        pod: the spec of its pods.
        name: kind and name.
        namespace: "" where it names none.
        account: the ServiceAccount of its pods.
    """

    item: Json
    pod: Json
    name: str
    namespace: str
    account: str

    @property
    def containers(self) -> list[tuple[str, Json]]:
        """All containers, with their paths in the object."""
        return [
            (f"spec.template.spec.{field}[{index}]", each)
            for field in ("initContainers", "containers")
            for index, each in enumerate(list_at(self.pod, field))
        ]

    @property
    def host_paths(self) -> list[tuple[str, str]]:
        """The paths of the host in its volumes, with their places."""
        return [
            (
                f"spec.template.spec.volumes[{index}].hostPath",
                str(dict_at(each, "hostPath")["path"]),
            )
            for index, each in enumerate(list_at(self.pod, "volumes"))
            if dict_at(each, "hostPath").get("path")
        ]


def workload_of(item: Json) -> Workload | None:
    """An object as what makes pods; None for any other."""
    kind = item.get("kind")
    if kind not in WORKLOADS:
        return None
    pod = dict_at(dict_at(dict_at(item, "spec"), "template"), "spec")
    metadata = dict_at(item, "metadata")
    return Workload(
        item=item,
        pod=pod,
        name=f"{kind} {metadata.get('name', '')}",
        namespace=str(metadata.get("namespace") or ""),
        account=str(pod.get("serviceAccountName") or pod.get("serviceAccount") or "default"),
    )


def plugins_among(workloads: Iterable[Workload]) -> list[Workload]:
    """The DaemonSets that mount the kubelet's plugin registry; all of them if none does.

    Raises:
        NotApplicable: there is no DaemonSet.
    """
    every = [each for each in workloads if each.item.get("kind") == "DaemonSet"]
    if not every:
        raise NotApplicable("there is no DaemonSet among the manifests")
    found = [each for each in every if _mounts(each, (REGISTRY,))]
    return found or every


def privileges_must_have_reasons(
    workloads: Iterable[Workload], *, exempt: Collection[str]
) -> Iterator[Flaw]:
    """No pod is privileged, uses the host's network or processes or its whole file system.

    Args:
        workloads: of the manifests.
        exempt: what the vendor gives a reason for; the word that the flaw names stands in it.
    """
    allowed = {word for text in exempt for word in text.replace(",", " ").split()}
    for each in workloads:
        for word, field in _privileges(each):
            if word not in allowed:
                yield Flaw(
                    item=each.item,
                    field=field,
                    where=f"{field} of {each.name}",
                    got=f"host path {word}" if word == ROOT else word,
                    want="none of it, or a reason in driver.privileges of the profile",
                )


def _privileges(each: Workload) -> Iterator[tuple[str, str]]:
    for word in ("hostNetwork", "hostPID"):
        if each.pod.get(word) is True:
            yield word, f"spec.template.spec.{word}"
    for path, container in each.containers:
        if dict_at(container, "securityContext").get("privileged") is True:
            yield "privileged", f"{path}.securityContext.privileged"
    for path, host in each.host_paths:
        if posixpath.normpath(ROOT + host.lstrip(ROOT)) == ROOT:
            yield ROOT, path


def plugins_must_be_fit_for_nodes(
    plugins: Iterable[Workload], *, seamless: bool, injects_cdi: bool
) -> Iterator[Flaw]:
    """A node plugin survives a full node, knows its node and has the kubelet's directories.

    Args:
        plugins: the DaemonSets that register with the kubelet.
        seamless: two pods of the driver may run on a node at a time.
        injects_cdi: the driver writes CDI specs.
    """
    for each in plugins:
        for field, got, want in _unfit(each, seamless=seamless, injects_cdi=injects_cdi):
            yield Flaw(
                item=each.item, field=field, where=f"{field} of {each.name}", got=got, want=want
            )


def _unfit(
    each: Workload, *, seamless: bool, injects_cdi: bool
) -> Iterator[tuple[str, object, str]]:
    pod = "spec.template.spec"
    priority = each.pod.get("priorityClassName")
    if priority != NODE_CRITICAL:
        yield f"{pod}.priorityClassName", priority, NODE_CRITICAL
    rolling = dict_at(dict_at(dict_at(each.item, "spec"), "updateStrategy"), "rollingUpdate")
    surge = rolling.get("maxSurge")
    surges = str(surge or 0).strip("%") not in ("", "0")
    if surges and not seamless:
        want = "0: the driver does not declare SeamlessUpgrade"
        yield "spec.updateStrategy.rollingUpdate.maxSurge", surge, want
    if "spec.nodeName" not in _downward(each):
        yield f"{pod}.containers", "no environment variable from spec.nodeName", "the node's name"
    if surges and seamless and "metadata.uid" not in _downward(each):
        want = "the pod's uid, so that the sockets of two pods have different names"
        yield f"{pod}.containers", "no environment variable from metadata.uid", want
    wanted = [(REGISTRY,), (PLUGINS,), *([CDI] if injects_cdi else [])]
    for paths in wanted:
        if not _mounts(each, paths):
            hosts = sorted(path for _, path in each.host_paths)
            yield f"{pod}.volumes", hosts, f"the host path {' or '.join(paths)}, mounted"


def plugins_must_be_probed(plugins: Iterable[Workload]) -> Iterator[Flaw]:
    """A container that registers with the kubelet has a liveness probe."""
    for each in plugins:
        registering = [pair for pair in each.containers if _mounts(each, (REGISTRY,), pair[1])]
        chosen = registering or each.containers
        if not any(dict_at(container, "livenessProbe") for _, container in chosen):
            path = chosen[0][0] if chosen else "spec.template.spec.containers"
            yield Flaw(
                item=each.item,
                field=f"{path}.livenessProbe",
                where=f"{path}.livenessProbe of {each.name}",
                got=None,
                want="a probe that fails when the driver cannot answer the kubelet",
            )


def _downward(each: Workload) -> set[str]:
    """Fields of the pod that its containers get as environment variables."""
    return {
        str(dict_at(dict_at(variable, "valueFrom"), "fieldRef").get("fieldPath", ""))
        for _, container in each.containers
        for variable in list_at(container, "env")
    }


def _mounts(each: Workload, paths: Iterable[str], container: Json | None = None) -> bool:
    """True if a container, or the given one, has one of the paths, a part of it, or what contains
    it."""
    chosen = [container] if container else [each for _, each in each.containers]
    mounted = {str(mount.get("name")) for one in chosen for mount in list_at(one, "volumeMounts")}
    hosts = [
        PurePosixPath(str(dict_at(volume, "hostPath")["path"]))
        for volume in list_at(each.pod, "volumes")
        if dict_at(volume, "hostPath").get("path") and str(volume.get("name")) in mounted
    ]
    return any(
        host == wanted or host in wanted.parents or wanted in host.parents
        for host in hosts
        for wanted in map(PurePosixPath, paths)
    )


def dict_at(value: Any, field: str) -> Json:
    """The mapping in a field; an empty one where there is something else, or nothing."""
    found = value.get(field) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def list_at(value: Json, field: str) -> list[Json]:
    """The mappings in a field's list; none where there is something else, or nothing."""
    found = value.get(field)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
