"""What is known of a component's container before it runs: plain data, in the terms of a pod."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from pytest_dra.launch.filling import fill


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """What a container has at an absolute path.

    Exactly one of three is there: ``host``, a path of the node; ``volume``, the name of an empty
    directory that all containers of the pod share; ``files``, contents by file name. ``sub``: only
    this path of it.
    """

    inside: str
    host: str = ""
    volume: str = ""
    files: Mapping[str, bytes] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    read_only: bool = False
    sub: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """A container of a pod.

    Attributes:
        image: by a name or an id that the engine knows.
        entrypoint: in place of the image's own, with placeholders; "": that one.
        mounts: None: the kubelet's and CDI's directories at their usual paths.
        options: further words for the engine's ``run``: user, capabilities and the like.
    """

    image: str
    entrypoint: str = ""
    mounts: tuple[Mount, ...] | None = None
    options: tuple[str, ...] = ()

    def filled(self, values: Mapping[str, str], *, where: str) -> ContainerSpec:
        """A copy without placeholders. Raises LaunchError."""
        return dataclasses.replace(self, entrypoint=fill(self.entrypoint, values, where=where))
