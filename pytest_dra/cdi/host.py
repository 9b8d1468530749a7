"""Device nodes of this host: what a spec leaves open about them is read with one lstat each."""

from __future__ import annotations

import os
import stat

from pytest_dra.cdi.errors import CdiError
from pytest_dra.cdi.errors import shown
from pytest_dra.cdi.library import Library
from pytest_dra.cdi.library import library_of
from pytest_dra.spec import Json

_FIFO = "p"


class HostNodes:
    """Completes device nodes from the host.

    1.1.0 keeps what it found, so a node that is replaced or vanishes goes unnoticed until the
    next refresh; 1.1.2 looks each time. Links are not followed, nothing is opened.
    """

    def __init__(self, *, library: str = Library.V1_1_0.value) -> None:
        self._keep = library_of(library) is Library.V1_1_0
        self._known: dict[int, tuple[Json, Json]] = {}

    def complete(self, node: Json) -> Json:
        """``node`` with hostPath, type, numbers and fileMode; raises :class:`CdiError`."""
        known = self._known.get(id(node))
        if known is not None:
            return _completed(known[1])
        done = _completed(node)
        if self._keep:
            self._known[id(node)] = (node, done)
        return done


def _completed(node: Json) -> Json:
    path = node.get("hostPath") or node["path"]
    kind = node.get("type", "")
    done = node | {"hostPath": path}
    specified = bool(kind) and (node.get("major", 0) != 0 or kind == _FIFO)
    try:
        status = os.lstat(path)
        found = _node_type(status.st_mode)
    except (OSError, ValueError) as error:
        if specified:
            return done
        raise CdiError(f"host device {shown(path)}: {_reason(error)}", reason="host-node") from None
    if not found:
        if specified:
            return done
        raise CdiError(f"host device {shown(path)}: not a device node", reason="host-not-a-node")
    done.setdefault("fileMode", stat.S_IMODE(status.st_mode))
    if specified:
        return done
    if kind and kind != found:
        raise CdiError(
            f"device {shown(node['path'])}: type: got {found!r} on the host, want {kind!r}",
            reason="host-type",
        )
    done["type"] = found
    if found != _FIFO and node.get("major", 0) == 0:
        done["major"] = os.major(status.st_rdev)
        done["minor"] = os.minor(status.st_rdev)
    return done


def _node_type(mode: int) -> str:
    if stat.S_ISBLK(mode):
        return "b"
    if stat.S_ISCHR(mode):
        return "c"
    return _FIFO if stat.S_ISFIFO(mode) else ""


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) else None
    return text or str(error)
