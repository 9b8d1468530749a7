"""Features that a driver shows by itself on a cluster: in slices, claims and pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Final

from pytest_dra.bench.signs import BY_CDI
from pytest_dra.bench.signs import HEALTH
from pytest_dra.bench.signs import IN_SLICES
from pytest_dra.bench.signs import METADATA
from pytest_dra.bench.signs import SHOWN_S
from pytest_dra.bench.signs import STATUS
from pytest_dra.bench.signs import declared
from pytest_dra.bench.signs import in_slices
from pytest_dra.launch.tool import ToolError
from pytest_dra.live import ailing
from pytest_dra.live import nodespecs
from pytest_dra.live.pods import Pod
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

if TYPE_CHECKING:
    from pytest_dra.live.bench import LiveBench

IN_METADATA: Final = "DeviceMetadata"

ON_NODES: Final = frozenset({BY_CDI, IN_METADATA})
"""Features whose sign lies on the node."""

VISIBLE: Final = IN_SLICES | ON_NODES | {STATUS, HEALTH}
"""Features that can be seen here; what shows only when a device is faulty is wire depth's."""

EVERY_S: Final = 0.5
"""Between two looks at a pod and its claim."""


def wanted_of(bench: LiveBench) -> dict[str, str]:
    """Features that the profile declares and the cluster has, with their sign in words."""
    return declared(bench.profile, bench.version)


def seen(bench: LiveBench, wanted: Mapping[str, str]) -> tuple[dict[str, str], frozenset[str]]:
    """Which of the wanted features have shown, with their sign; and which nobody can look for.

    Raises:
        Violation: a pod with a device does not run.
    """
    found = in_slices(bench.driver.must_publish())
    hidden = frozenset(wanted) - VISIBLE
    missing = set(wanted) - set(found) - hidden
    if missing <= IN_SLICES:
        return found, hidden
    claim = bench.claim()
    pod = bench.pod_with(claim)
    bench.pods.must_run(pod)
    if missing & ON_NODES:
        try:
            found |= _on_node(bench, claim)
        except (ToolError, UnsupportedEnvironment):
            hidden |= missing & ON_NODES
    if missing & {STATUS, HEALTH}:

        def shown() -> bool:
            found.update(_told(bench, pod, claim))
            return missing & {STATUS, HEALTH} <= found.keys()

        poll(shown, Deadline.after(SHOWN_S), every_s=EVERY_S)
    return found, hidden


def _on_node(bench: LiveBench, claim: str) -> dict[str, str]:
    uid, folder = bench.claims.uid(claim), bench.folder()
    found = {}
    if nodespecs.ids_of(bench.node, uid):
        found[BY_CDI] = "CDI ids in a response"
    edits, _ = nodespecs.edits_on(bench.node, uid, folder=folder, library=bench.cdi_library)
    if any(METADATA in str(mount) for mount in (edits or {}).get("mounts") or ()):
        found[IN_METADATA] = "a metadata mount"
    return found


def _told(bench: LiveBench, pod: Pod, claim: str) -> dict[str, str]:
    found = {}
    status = (bench.claims.state(claim) or {}).get("status") or {}
    if any(each.get("driver") == bench.driver.name for each in status.get("devices") or ()):
        found[STATUS] = "a write to resourceclaims/status"
    if {ailing.HEALTHY, ailing.UNHEALTHY} & set(ailing.told(bench, pod)):
        found[HEALTH] = "the health of a device in its pod's status"
    return found
