"""From the pod of a DaemonSet to containers that are run without a cluster."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.checks.workloads import REGISTRY
from pytest_dra.checks.workloads import Workload
from pytest_dra.checks.workloads import dict_at
from pytest_dra.checks.workloads import list_at
from pytest_dra.containers.confinement import confinement
from pytest_dra.containers.references import CONFIG_MAP
from pytest_dra.containers.references import DEFAULT
from pytest_dra.containers.references import SECRET
from pytest_dra.containers.references import PodSpecError
from pytest_dra.containers.references import References
from pytest_dra.containers.volumes import Volumes
from pytest_dra.launch import Component
from pytest_dra.launch.containerspec import ContainerSpec
from pytest_dra.spec import Json

_REFERENCE: Final = re.compile(r"\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")
"""What Kubernetes replaces in commands, arguments and variables; two dollars are one."""

_NAME: Final = re.compile(r"[^=\0]+")
"""What a variable may be called."""

_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


def literal(text: str) -> str:
    """Text in which nothing is a placeholder."""
    return text.replace("{", "{{").replace("}", "}}")


class Pod:
    """The pod of a workload.

    Args:
        workload: a DaemonSet.
        objects: all manifests, for what the pod refers to.
    """

    def __init__(self, workload: Workload, objects: Sequence[Json]) -> None:
        self._workload = workload
        self._references = References(objects, namespace=workload.namespace or DEFAULT)
        self._volumes = Volumes(workload, self._references)

    def components(self, image: str) -> tuple[Component, ...]:
        """The containers that run an image, as components; init containers are left out.

        Raises:
            PodSpecError: one of them needs what only a cluster has.
        """
        found = [
            each for each in list_at(self._workload.pod, "containers") if each.get("image") == image
        ]
        made = tuple(map(self._component, found))
        if any(each.registers for each in made):
            return made
        return tuple(dataclasses.replace(each, registers=True) for each in made)

    @property
    def account(self) -> str:
        """NAMESPACE/NAME of the pod's ServiceAccount."""
        return f"{self._references.namespace}/{self._workload.account}"

    def _component(self, container: Json) -> Component:
        name = str(container.get("name") or "")
        where = f"container {name!r} of {self._workload.name}"
        env = self._env(container, where)
        command = [expanded(word, env) for word in _words(container, "command", where)]
        arguments = [expanded(word, env) for word in _words(container, "args", where)]
        mounts = tuple(self._volumes.mounts(container, where))
        spec = ContainerSpec(
            image=str(container["image"]),
            entrypoint=command[0] if command else "",
            mounts=mounts,
            options=tuple(confinement(self._workload.pod, container, where)),
        )
        return Component(
            name=name,
            command=(*command[1:], *arguments),
            env=env,
            registers=any(_reaches(each.host, REGISTRY) for each in mounts if each.host),
            container=spec,
        )

    def _env(self, container: Json, where: str) -> dict[str, str]:
        """The variables, with placeholders for what is known when the container is started."""
        made: dict[str, str] = {}
        for source in list_at(container, "envFrom"):
            prefix = str(source.get("prefix") or "")
            for field, kind in (("configMapRef", CONFIG_MAP), ("secretRef", SECRET)):
                if field in source:
                    data = self._references.data(kind, dict_at(source, field), where)
                    made.update({f"{prefix}{key}": _text(text) for key, text in data.items()})
        for variable in list_at(container, "env"):
            name = str(variable.get("name") or "")
            if not _NAME.fullmatch(name):
                raise PodSpecError(f"{where}: {name!r} is no name of a variable")
            if "valueFrom" in variable:
                value = self._from(dict_at(variable, "valueFrom"), f"{where}, variable {name}")
                if value is not None:
                    made[name] = value
            else:
                made[name] = expanded(str(variable.get("value") or ""), made)
        return made

    def _from(self, source: Json, where: str) -> str | None:
        for field, kind in (("configMapKeyRef", CONFIG_MAP), ("secretKeyRef", SECRET)):
            if field in source:
                wanted = dict_at(source, field)
                data = self._references.data(kind, wanted, where)
                if wanted.get("key") in data:
                    return _text(data[str(wanted["key"])])
                if wanted.get("optional") is True:
                    return None
                raise PodSpecError(
                    f"{where}: {kind} {wanted.get('name')} has no key {wanted.get('key')!r}"
                )
        if "resourceFieldRef" in source:
            # An unlimited container is told what the node has; nobody looks at how much that is.
            return "0"
        return self._of_pod(str(dict_at(source, "fieldRef").get("fieldPath")), where)

    def _of_pod(self, field: str, where: str) -> str:
        metadata = dict_at(dict_at(dict_at(self._workload.item, "spec"), "template"), "metadata")
        own = str(dict_at(self._workload.item, "metadata").get("name") or "")
        known = {
            "spec.nodeName": "{node}",
            "metadata.uid": "{pod_uid}",
            "metadata.name": literal(f"{own}-0"),
            "metadata.namespace": literal(self._references.namespace),
            "spec.serviceAccountName": literal(self._workload.account),
            "status.hostIP": "127.0.0.1",
            "status.hostIPs": "127.0.0.1",
            "status.podIP": "127.0.0.1",
            "status.podIPs": "127.0.0.1",
        }
        keyed = _KEYED.fullmatch(field)
        if keyed:
            return literal(str(dict_at(metadata, keyed[1]).get(keyed[2]) or ""))
        if field not in known:
            raise PodSpecError(
                f"{where}: the field {field} of a pod is not known without a cluster"
            )
        return known[field]


def expanded(text: str, known: Mapping[str, str]) -> str:
    """A text of a pod with ``$(NAME)`` replaced, as far as the names are known.

    ``known`` and what is returned may hold placeholders; in ``text`` nothing is one.
    """
    made, at = [], 0
    for found in _REFERENCE.finditer(text):
        made.append(literal(text[at : found.start()]))
        name = found[1]
        made.append(known.get(name, literal(found[0])) if name else "$")
        at = found.end()
    return "".join((*made, literal(text[at:])))


def _text(data: bytes) -> str:
    return literal(data.decode("utf-8", "replace").replace("\0", ""))


def _words(container: Json, field: str, where: str) -> list[str]:
    found = container.get(field)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        raise PodSpecError(f"{where}: {field}: got {found!r:.80}, want a list of words")
    return found


def _reaches(host: str, path: str) -> bool:
    """True if a mounted path of the host is a directory, a part of it, or what contains it."""
    top = f"{host.rstrip('/')}/"
    return host == path or path.startswith(top) or host.startswith(f"{path}/")
