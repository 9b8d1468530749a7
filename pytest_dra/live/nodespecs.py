"""What a container runtime is told on a node about the devices of a claim."""

from __future__ import annotations

import base64
import binascii
import dataclasses
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Final

from pytest_dra import cdi
from pytest_dra.checks.cdi_specs import edits_of
from pytest_dra.checks.edits import FileKind
from pytest_dra.checks.edits import HostPath
from pytest_dra.checks.edits import host_paths
from pytest_dra.launch.tool import ToolError
from pytest_dra.live.node import CDI_DIRECTORIES
from pytest_dra.live.node import CHECKPOINT
from pytest_dra.live.node import LiveNode
from pytest_dra.live.node import devices_in
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment

if TYPE_CHECKING:
    from pytest_dra.live.bench import LiveBench

PATHS_MAX: Final = 64
"""Host paths of a claim that are looked at."""

_TAKE: Final = (
    'for d in "$@"; do for f in "$d"/*.json "$d"/*.yaml; do '
    '[ -f "$f" ] && echo "$f $(base64 -w0 < "$f")"; done; done; true'
)
_LOOK: Final = (
    'for f in "$@"; do stat -c "%F" -- "$f" 2>/dev/null || echo; '
    'stat -L -c "%F" -- "$f" 2>/dev/null || echo; done'
)
_KINDS: Final = {
    "": FileKind.MISSING,
    "regular file": FileKind.FILE,
    "regular empty file": FileKind.FILE,
    "directory": FileKind.DIRECTORY,
    "symbolic link": FileKind.LINK,
    "block special file": FileKind.BLOCK,
    "character special file": FileKind.CHARACTER,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Told:
    """The edits of a claim, and what the host paths in them are on the node."""

    claim: str
    edits: Json
    host: Mapping[str, HostPath]


def ids_of(node: LiveNode, uid: str) -> list[str]:
    """The CDI ids that a kubelet keeps for a prepared claim. Raises as :meth:`LiveNode.run`."""
    return [
        str(id)
        for device in devices_in(node.run("cat", CHECKPOINT), uid)
        for id in device.get("CDIDeviceIDs") or ()
    ]


def told(bench: LiveBench) -> Iterator[Told]:
    """The edits for a claim that a pod uses, where the cluster lets us look at the node.

    Elsewhere the pod tells: it has not started with edits that its runtime cannot apply.

    Raises:
        Violation: it does not run.
    """
    claim = bench.claim()
    bench.pods.must_run(bench.pod_with(claim))
    uid, folder = bench.claims.uid(claim), bench.folder()
    try:
        edits, host = edits_on(bench.node, uid, folder=folder, library=bench.cdi_library)
    except (ToolError, UnsupportedEnvironment):
        return
    if edits is not None:
        yield Told(f"claim {bench.namespace}/{claim}", edits, host)


def edits_on(
    node: LiveNode, uid: str, *, folder: Path, library: str
) -> tuple[Json | None, Mapping[str, HostPath]]:
    """The edits of a claim that is prepared, and what the host paths in them are on the node.

    Args:
        node: where it is prepared.
        uid: of the claim.
        folder: empty; the node's specs are copied there.
        library: version of the CDI library that the runtime has.

    Returns:
        None in the place of the edits where the ids do not resolve.

    Raises:
        UnsupportedEnvironment, ToolError: as :meth:`LiveNode.run`.
    """
    ids = ids_of(node, uid)
    places = {path: folder / str(number) for number, path in enumerate(reversed(CDI_DIRECTORIES))}
    for place in places.values():
        place.mkdir()
    for line in node.run("sh", "-c", _TAKE, "sh", *places).splitlines():
        path, _, text = line.rpartition(" ")
        try:
            data = base64.b64decode(text, validate=True)
        except binascii.Error:
            continue
        (places[str(Path(path).parent)] / Path(path).name).write_bytes(data)
    edits = edits_of(cdi.load(list(places.values()), library=library), ids) if ids else None
    paths = list(dict.fromkeys(host_paths(edits or {})))[:PATHS_MAX]
    lines = node.run("sh", "-c", _LOOK, "sh", *paths).splitlines() if paths else []
    kinds = [_KINDS.get(line, FileKind.OTHER) for line in lines]
    pairs = zip(kinds[::2], kinds[1::2], strict=False)
    return edits, {path: HostPath(*pair) for path, pair in zip(paths, pairs, strict=False)}
