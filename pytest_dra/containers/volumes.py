"""The volumes of a pod, as what its containers have mounted."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

from pytest_dra.checks.workloads import Workload
from pytest_dra.checks.workloads import dict_at
from pytest_dra.checks.workloads import list_at
from pytest_dra.containers.references import CONFIG_MAP
from pytest_dra.containers.references import SECRET
from pytest_dra.containers.references import PodSpecError
from pytest_dra.containers.references import References
from pytest_dra.launch.containerspec import Mount
from pytest_dra.spec import Json

_FILE: Final = re.compile(r"(?!\.\.?(/|$))[^/\0]+(/(?!\.\.?(/|$))[^/\0]+)*")
"""A relative path without dots in place of names."""


class Volumes:
    """See the module."""

    def __init__(self, workload: Workload, references: References) -> None:
        self._references = references
        self._known = {str(each.get("name")): each for each in list_at(workload.pod, "volumes")}

    def mounts(self, container: Json, where: str) -> Iterator[Mount]:
        """What a container has, in its own order.

        Raises:
            PodSpecError: a volume is of a kind that only a cluster has.
        """
        for each in list_at(container, "volumeMounts"):
            name, inside = str(each.get("name")), str(each.get("mountPath"))
            if name not in self._known:
                raise PodSpecError(f"{where}: there is no volume {name!r} for {inside}")
            if not inside.startswith("/") or "subPathExpr" in each:
                raise PodSpecError(f"{where}: {inside!r} of volume {name!r} cannot be mounted")
            sub = str(each.get("subPath") or "")
            if sub and not _FILE.fullmatch(sub):
                raise PodSpecError(f"{where}: subPath {sub!r} of volume {name!r} leads elsewhere")
            yield self._mount(
                self._known[name],
                inside=posixpath.normpath(inside),
                sub=sub,
                read_only=each.get("readOnly") is True,
                where=f"{where}, volume {name!r}",
            )

    def _mount(self, volume: Json, *, inside: str, sub: str, read_only: bool, where: str) -> Mount:
        if "hostPath" in volume:
            path = str(dict_at(volume, "hostPath").get("path"))
            if not path.startswith("/"):
                raise PodSpecError(f"{where}: the host path {path!r} is not absolute")
            host = posixpath.normpath("/" + path.lstrip("/"))
            host = posixpath.join(host, sub) if sub else host
            return Mount(inside=inside, host=host, read_only=read_only)
        if "emptyDir" in volume:
            name = str(volume["name"])
            return Mount(inside=inside, volume=name, sub=sub, read_only=read_only)
        files = dict(self._files(volume, where))
        if sub and sub not in files:
            raise PodSpecError(f"{where}: there is no {sub!r}")
        return Mount(inside=inside, files=files, sub=sub)

    def _files(self, volume: Json, where: str) -> Iterator[tuple[str, bytes]]:
        """The files of a ConfigMap, a Secret, or several of them projected into one place."""
        if "projected" in volume:
            for source in list_at(dict_at(volume, "projected"), "sources"):
                yield from self._files(source, where)
            return
        for field, kind in (("configMap", CONFIG_MAP), ("secret", SECRET)):
            if field in volume:
                wanted = dict_at(volume, field)
                yield from _chosen(self._references.data(kind, wanted, where), wanted, where)
                return
        kinds = ", ".join(sorted(str(key) for key in volume if key != "name"))
        raise PodSpecError(
            f"{where}: {kinds or 'nothing'} is not there without a cluster; leave it out, or judge "
            "the image on one"
        )


def _chosen(data: Mapping[str, bytes], wanted: Json, where: str) -> Iterator[tuple[str, bytes]]:
    items = list_at(wanted, "items")
    pairs = {str(each.get("key")): str(each.get("path")) for each in items} if items else None
    for key, path in (pairs or {name: name for name in data}).items():
        if not _FILE.fullmatch(path):
            raise PodSpecError(f"{where}: the path {path!r} leads elsewhere")
        if key in data:
            yield path, data[key]
        elif wanted.get("optional") is not True:
            raise PodSpecError(f"{where}: there is no key {key!r}")
