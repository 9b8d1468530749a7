"""What container edits ask of the node that a container is started on."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from pytest_dra.spec import Json
from pytest_dra.spec import Violation

BIND_OPTIONS = ("bind", "rbind")

_NO_FILE_SYSTEM = ("", "none", *BIND_OPTIONS)
"""Types of a mount that name no file system of their own, so that ``hostPath`` is a host path."""

_FIFO_TYPE = "p"


class FileKind(str, enum.Enum):
    """What a path is."""

    MISSING = "nothing"
    FILE = "a plain file"
    DIRECTORY = "a directory"
    LINK = "a symbolic link"
    BLOCK = "a block device"
    CHARACTER = "a character device"
    OTHER = "a FIFO or socket"


@dataclasses.dataclass(frozen=True, slots=True)
class HostPath:
    """A path of the host: what it is itself, and what it is once links are followed."""

    itself: FileKind
    target: FileKind


UNKNOWN = HostPath(FileKind.MISSING, FileKind.MISSING)


def host_paths(edits: Json) -> Iterator[str]:
    """The host paths that must exist for these edits, some of them perhaps twice."""
    for node in edits.get("deviceNodes", ()):
        if not _is_specified(node):
            yield _node_path(node)
    for mount in edits.get("mounts", ()):
        if is_of_host(mount):
            yield mount["hostPath"]
    for hook in edits.get("hooks", ()):
        yield hook["path"]


def host_paths_must_exist(
    edits: Json,
    host: Mapping[str, HostPath],
    *,
    absent: Collection[str] = (),
    what: str,
    proof: Sequence[int] = (),
) -> None:
    """Mount sources and hooks exist, and device nodes that are to be looked up are such nodes.

    Args:
        edits: merged edits, as a runtime applies them.
        host: what the paths were when the answer arrived; those that were not looked at are let
            pass.
        absent: paths that the bench cannot have.
        what: how a message calls the claim.
        proof: serials on the timeline.
    """
    for node in edits.get("deviceNodes", ()):
        path = _node_path(node)
        if _is_specified(node) or path in absent or path not in host:
            continue
        found = host[path].itself
        if found not in (FileKind.BLOCK, FileKind.CHARACTER):
            raise Violation(
                f"device node {path} in the edits of {what}",
                got=f"{found.value} on the host",
                want="a block or character device (links are not followed), or type and major "
                "in the edits",
                proof=tuple(proof),
            )
    sources = [("mount", m["hostPath"]) for m in edits.get("mounts", ()) if is_of_host(m)]
    hooks = [("hook", hook["path"]) for hook in edits.get("hooks", ())]
    for kind, path in sources + hooks:
        if path not in absent and path in host and host[path].target is FileKind.MISSING:
            raise Violation(
                f"{kind} {path} in the edits of {what}",
                got=f"{FileKind.MISSING.value} on the host",
                want="a path that exists when Prepare is answered",
                proof=tuple(proof),
            )


def mounts_must_be_binds(
    edits: Json,
    host: Mapping[str, HostPath],
    *,
    runtime: str,
    what: str,
    proof: Sequence[int] = (),
) -> None:
    """Each mount of a file or directory of the host has ``bind`` or ``rbind`` as an option."""
    for mount in edits.get("mounts", ()):
        options = mount.get("options") or []
        if not is_of_host(mount) or any(each in options for each in BIND_OPTIONS):
            continue
        if host.get(mount["hostPath"], UNKNOWN).target in (FileKind.FILE, FileKind.DIRECTORY):
            raise Violation(
                f"mount of {mount['hostPath']} in the edits of {what}",
                got=f"type {mount.get('type', '')!r}, options {options}",
                want=f"bind or rbind among the options: {runtime} adds none, and the container "
                "does not start (ENODEV)",
                proof=tuple(proof),
            )


def _node_path(node: Json) -> str:
    path: str = node.get("hostPath") or node["path"]
    return path


def _is_specified(node: Json) -> bool:
    """True if a runtime does not look the node up on the host."""
    kind = node.get("type", "")
    return bool(kind) and (node.get("major", 0) != 0 or kind == _FIFO_TYPE)


def is_of_host(mount: Json) -> bool:
    """True unless the mount is one of a file system of its own, such as tmpfs."""
    return mount.get("type", "") in _NO_FILE_SYSTEM or any(
        each in BIND_OPTIONS for each in mount.get("options") or ()
    )
