"""A second instance of the plugin on a node, as in a rolling update: a pod by itself."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Final

from pytest_dra.checks import instances
from pytest_dra.launch.tool import ToolError
from pytest_dra.live.deployment import LABEL
from pytest_dra.live.node import LiveNode
from pytest_dra.live.node import registers_at
from pytest_dra.live.pods import Pod
from pytest_dra.live.pods import Pods
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import pause
from pytest_dra.waiting import poll

if TYPE_CHECKING:
    from pytest_dra.live.bench import LiveBench

REGISTERED_S: Final = 3.0
"""From a container that is ready to its registration: a kubelet hears of a socket at once."""

APPEARS_S: Final = 60.0
"""Longest way from a pod to the registration socket of the driver in it."""

EVERY_S: Final = 0.1
"""Between two looks for that: who is to be killed early must not get far."""

_KILL: Final = (
    'for p in /proc/[0-9]*; do if tr _ - < "$p/cgroup" 2>/dev/null | grep -qF "pod$0" && '
    '[ "$(cat "$p/comm")" != pause ]; then kill -KILL "${p#/proc/}"; fi; done; true'
)
"""By the cgroups of the pod, whose uid stands there with dashes or underscores."""

_REMOVE: Final = 'for p in "$@"; do rm -f -- "$p"; done'


class Successor:
    """See the module. A context manager that leaves nothing of it.

    Its pod is that of the plugin's DaemonSet without its labels: with them it would be taken for
    one of the DaemonSet's own, and ended.

    Args:
        bench: whose driver it is, on whose node.

    Raises:
        UnsupportedEnvironment: the driver is not ours.
    """

    def __init__(self, bench: LiveBench) -> None:
        self._bench = bench
        self._plugin = bench.driver.plugins()[0]
        self._pods = Pods(bench.client, self._plugin.namespace, bench.profile.budgets)
        self.node: LiveNode = bench.node
        self._before = _inodes(self.node)
        self._number = 0
        self._pod: Pod | None = None

    def start(self) -> None:
        """Start it, and give it the time to register.

        Raises:
            Violation: it does not run.
        """
        pod = self._started()
        self._pods.must_run(pod, want="beside the plugin's pod of the node, as in an update")
        self._appears()
        pause(REGISTERED_S)

    def begin(self) -> None:
        """Start it; returns as soon as its registration socket is there.

        Raises:
            UnsupportedEnvironment: the node cannot be looked into.
            Violation: there is none.
        """
        self.must_be_seen()
        pod = self._started()
        if not self._appears():
            raise Violation(
                f"the registry of node {self.node.name} after the start of {pod}, which is like "
                "the plugin's",
                got="no new socket",
                want=f"a registration socket of its own within {APPEARS_S:g} s",
            )

    def _started(self) -> Pod:
        self._number += 1
        name = self._bench.name("second")
        # What becomes of its containers is our business.
        spec = {**spec_of(self._plugin.item, node=self.node.name), "restartPolicy": "Never"}
        self._pod = self._pods.create(name, spec, labels={LABEL: self._bench.run})
        return self._pod

    def _appears(self) -> bool:
        if self._before is None:
            return True
        known = set(self._before)

        def new() -> bool:
            return any(registers_at(path) for path in set(_inodes(self.node) or ()) - known)

        found = poll(new, Deadline.after(APPEARS_S), every_s=EVERY_S)
        self._take_stock()
        return bool(found)

    def _take_stock(self) -> None:
        """Know the sockets that were not there before: by the inode 0."""
        if self._before is not None:
            now = set(_inodes(self.node) or ()) - set(self._before)
            self._before |= dict.fromkeys(now, 0)

    def must_be_seen(self) -> None:
        """Raises UnsupportedEnvironment where nobody can look at the node, or kill there."""
        if self._before is None:
            raise UnsupportedEnvironment(
                "nobody can kill a process of the node, or look at its sockets",
                way_out="a cluster that lets us in, such as kind's",
            )

    def kill(self) -> None:
        """SIGKILL all its processes; its sockets stay. Raises UnsupportedEnvironment."""
        if self._pod is None:
            return
        self._take_stock()
        try:
            self.node.run("sh", "-c", _KILL, self._pod.uid)
        except ToolError as error:
            raise UnsupportedEnvironment(str(error), way_out="see why it fails") from error

    def sockets_must_be_untouched(self, *, during: str) -> None:
        """Judge that the sockets of the first instance are the files that they were.

        Raises:
            Violation: they are not.
        """
        first = {path: inode for path, inode in (self._before or {}).items() if inode}
        now = _inodes(self.node)
        if now is not None:
            instances.sockets_must_be_untouched(first, now, during=during)

    def end(self) -> None:
        """End it as a rolling update ends a pod. Raises Violation where it does not go."""
        if self._pod is not None:
            self._pods.end(self._pod)
            pause(REGISTERED_S)

    def __enter__(self) -> Successor:
        return self

    def __exit__(self, *_: object) -> None:
        self._pods.clear()
        left = [path for path, inode in (self._before or {}).items() if not inode]
        if left:
            # Of an instance that was killed: its pod is gone, and so would be its files.
            self.node.run("sh", "-c", _REMOVE, "sh", *left)


def spec_of(plugin: Json, *, node: str) -> Json:
    """The spec of a pod that is like those of a DaemonSet, on one node."""
    spec: Json = copy.deepcopy(plugin["spec"]["template"]["spec"])
    spec["nodeName"] = node
    # A DaemonSet's controller adds as much to its own.
    spec["tolerations"] = [*(spec.get("tolerations") or ()), {"operator": "Exists"}]
    return spec


def _inodes(node: LiveNode) -> dict[str, int] | None:
    """Inodes of the sockets by their paths; None where the node cannot be looked into."""
    try:
        found: Mapping[str, int] = node.inodes()
    except UnsupportedEnvironment:
        return None
    return dict(found)
