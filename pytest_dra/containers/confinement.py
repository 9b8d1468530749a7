"""What a container may do, from the security contexts of its pod, as options of an engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from typing import Final

from pytest_dra.checks.workloads import dict_at
from pytest_dra.containers.references import PodSpecError
from pytest_dra.spec import Json

_CAPABILITY: Final = re.compile(r"[A-Z][A-Z_]{0,40}")
_PROFILE: Final = "Unconfined"

ID_MAX: Final = 2**31 - 1
"""Highest user and group id of Kubernetes."""


def confinement(pod: Json, container: Json, where: str) -> Iterator[str]:
    """Words for ``docker run`` or ``podman run``; what the pod does not say is the engine's.

    Raises:
        PodSpecError: a value has no sense.
    """
    own = dict_at(container, "securityContext")
    whole = dict_at(pod, "securityContext")
    if own.get("privileged") is True:
        yield "--privileged"
    for field, option in (("add", "--cap-add"), ("drop", "--cap-drop")):
        for name in _list(dict_at(own, "capabilities").get(field)):
            if not _CAPABILITY.fullmatch(name):
                raise PodSpecError(f"{where}: {name!r} is no capability")
            yield f"{option}={name}"
    user = _id(own.get("runAsUser", whole.get("runAsUser")), where)
    group = _id(own.get("runAsGroup", whole.get("runAsGroup")), where)
    if user or group:
        yield f"--user={user or '0'}{f':{group}' if group else ''}"
    for each in (whole.get("fsGroup"), *_items(whole.get("supplementalGroups"))):
        if each is not None:
            yield f"--group-add={_id(each, where)}"
    if own.get("readOnlyRootFilesystem") is True:
        yield "--read-only"
    if own.get("allowPrivilegeEscalation") is False:
        yield "--security-opt=no-new-privileges"
    seccomp = dict_at(own, "seccompProfile") or dict_at(whole, "seccompProfile")
    if seccomp.get("type") == _PROFILE:
        yield "--security-opt=seccomp=unconfined"
    apparmor = dict_at(own, "appArmorProfile") or dict_at(whole, "appArmorProfile")
    if apparmor.get("type") == _PROFILE:
        yield "--security-opt=apparmor=unconfined"
    if pod.get("hostPID") is True:
        yield "--pid=host"
    if pod.get("hostIPC") is True:
        yield "--ipc=host"
    directory = str(container.get("workingDir") or "")
    if directory:
        if not directory.startswith("/"):
            raise PodSpecError(f"{where}: workingDir {directory!r} is not absolute")
        yield f"--workdir={directory}"


def _id(value: Any, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= ID_MAX:
        raise PodSpecError(f"{where}: {value!r} is no id of a user or group")
    return str(value)


def _list(value: Any) -> list[str]:
    return [str(each) for each in _items(value)]


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
