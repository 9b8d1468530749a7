"""Slices that are none of a plugin's business, and whether it may write them all the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from pytest_dra.api import resources
from pytest_dra.checks.workloads import Workload
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

NODE_FACT: Final = "authentication.kubernetes.io/node-name"
"""Fact about the user of a pod's token."""

REFUSALS: Final = frozenset({403, 422})
"""Codes of roles and of policies."""

LABEL_MAX: Final = 63
"""Characters of a node's name that is made up."""

SHOWN: Final = 200
"""Characters of a refusal in a message."""


class Foreign:
    """See the module.

    Args:
        client: the suite's own identity; it may impersonate.
        driver: the driver's name.
        node: the plugin's whose identity is taken. The other node is made up: on a real one an
            instance of the driver may sweep what is not its own.
        plugin: its DaemonSet.
        run: part of the names of the slices.
        marks: labels and annotations of them, by which they are removed where a run is killed.
    """

    def __init__(
        self,
        client: Client,
        *,
        driver: str,
        node: str,
        plugin: Workload,
        run: str,
        marks: Json,
    ) -> None:
        self._client = client
        self._driver = driver
        self._node, self._other = node, f"not-{node}"[:LABEL_MAX]
        self._prefix = slice_prefix(run)
        self._marks = marks
        self.user = f"system:serviceaccount:{plugin.namespace}:{plugin.account or 'default'}"
        self._acting = client.acting_as(self.user, extra={NODE_FACT: self._node})

    def must_be_refused(self) -> None:
        """Try to create, change and delete slices of another node and of all nodes.

        Raises:
            Violation: some of it is done.
            ClusterError: the suite's own identity may not do it.
        """
        accepted = []
        try:
            for about, placed in (
                ("of another node", {"nodeName": self._other}),
                ("of all nodes", {"allNodes": True}),
            ):
                accepted += [f"{verb} one {about}" for verb in self._accepted(placed)]
        finally:
            self._clear()
        if accepted:
            raise Violation(
                f"ResourceSlices, written as {self.user} on node {self._node}",
                got=f"accepted: {', '.join(accepted)}",
                want="refused (403 or 422): a plugin writes slices of its own node only",
            )

    def _accepted(self, placed: Json) -> list[str]:
        kind = "all" if "allNodes" in placed else "other"
        body = self._slice(f"{kind}-seen", placed)
        try:
            made = self._client.create(resources.RESOURCE_SLICES, body)
        except KubeError as error:
            raise ClusterError(f"a ResourceSlice for this case: {error}") from error
        name = made["metadata"]["name"]
        changed = {"metadata": {"labels": {"changed-by": "the-plugin"}}}
        tries: list[tuple[str, Callable[[], object]]] = [
            (
                "create",
                lambda: self._acting.create(
                    resources.RESOURCE_SLICES, self._slice(f"{kind}-made", placed)
                ),
            ),
            ("update", lambda: self._acting.patch(resources.RESOURCE_SLICES, name, changed)),
            ("delete", lambda: self._acting.delete(resources.RESOURCE_SLICES, name)),
        ]
        return [verb for verb, act in tries if _is_done(act)]

    def _slice(self, name: str, placed: Json) -> Json:
        full = f"{self._prefix}{name}"
        return {
            "metadata": {**self._marks, "name": full},
            "spec": {
                "driver": self._driver,
                "pool": {"name": full, "generation": 1, "resourceSliceCount": 1},
                "devices": [],
                **placed,
            },
        }

    def _clear(self) -> None:
        for kind in ("all", "other"):
            for what in ("seen", "made"):
                with suppress(KubeError):
                    name = f"{self._prefix}{kind}-{what}"
                    self._client.delete(resources.RESOURCE_SLICES, name)


def slice_prefix(run: str) -> str:
    """How the names of the slices begin that a run makes."""
    return f"sec-003-{run}-"


def _is_done(act: Callable[[], object]) -> bool:
    """True if the server does it.

    Raises:
        UnsupportedEnvironment: this identity cannot be taken.
        ClusterError: the server says something else than yes or no.
    """
    try:
        act()
    except KubeError as error:
        if "impersonate" in str(error):
            raise UnsupportedEnvironment(
                f"the driver's identity cannot be taken: {str(error)[:SHOWN]}",
                way_out="rights to impersonate",
            ) from error
        if error.code in REFUSALS:
            return False
        raise ClusterError(f"a write as the driver: {error}") from error
    return True
