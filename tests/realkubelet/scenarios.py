"""What is done with pods while the calls to their driver are written down."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from typing import Final

from pytest_dra.api import resources
from pytest_dra.kube import Client
from pytest_dra.spec import Json
from pytest_dra.waiting import pause
from tests.realkubelet.node import DRIVER
from tests.realkubelet.node import Node
from tests.realkubelet.notes import Notes

STEP_S: Final = 60.0
"""Longest wait for something that a kubelet does."""

QUIET_S: Final = 2.0
"""Between two acts, so that what one of them causes is over."""

STAYS: Final = "trap 'exit 0' TERM; sleep 100000 & wait"
ENDS: Final = "sleep 3"
"""Containers that end when they have to, and by themselves."""

PREPARE, UNPREPARE = "NodePrepareResources", "NodeUnprepareResources"


class Acts:
    """What a scenario can do, and wait for."""

    def __init__(
        self, client: Client, node: Node, notes: Notes, *, namespace: str, image: str
    ) -> None:
        self._client, self._node, self._notes = client, node, notes
        self._namespace, self._image = namespace, image

    def claim(self, name: str) -> None:
        """A claim for one device."""
        request = {"name": "r0", "exactly": {"deviceClassName": DRIVER}}
        self._client.create(
            resources.RESOURCE_CLAIMS,
            {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}},
            namespace=self._namespace,
        )

    def pod(self, name: str, *claims: str, command: str = STAYS) -> None:
        """A pod whose container uses claims."""
        entries = [{"name": f"c{n}", "resourceClaimName": each} for n, each in enumerate(claims)]
        container: Json = {
            "name": "main",
            "image": self._image,
            "imagePullPolicy": "Never",
            "command": ["/bin/sh", "-c", command],
            "resources": {"claims": [{"name": entry["name"]} for entry in entries]},
        }
        self._notes.add(do=f"create pod {name}")
        self._client.create(
            resources.PODS,
            {
                "metadata": {"name": name},
                "spec": {
                    "terminationGracePeriodSeconds": 2,
                    "restartPolicy": "Never",
                    "automountServiceAccountToken": False,
                    "tolerations": [{"operator": "Exists"}],
                    "nodeSelector": {"kubernetes.io/hostname": self._node.name},
                    "resourceClaims": entries,
                    "containers": [container],
                },
            },
            namespace=self._namespace,
        )

    def delete(self, name: str, *, grace_s: int | None = None) -> None:
        """Delete a pod, by force perhaps."""
        forced = "" if grace_s is None else f" with grace {grace_s}"
        self._notes.add(do=f"delete pod {name}{forced}")
        self._client.discard(resources.PODS, name, namespace=self._namespace, grace_s=grace_s)

    def restart_kubelet(self) -> None:
        """Restart the kubelet."""
        self._notes.add(do="kubelet restarted")
        self._node.run("systemctl", "restart", "kubelet")

    def running(self, name: str) -> None:
        """Wait until a pod runs."""
        self._wait(lambda e: e.get("pod") == name and str(e.get("main")).startswith("running"))

    def gone(self, name: str) -> None:
        """Wait until a pod is gone."""
        self._wait(lambda e: e.get("pod") == name and e.get("gone"))

    def ended(self, name: str) -> None:
        """Wait until a pod has ended by itself."""
        self._wait(lambda e: e.get("pod") == name and e.get("phase") == "Succeeded")

    def registered(self, number: int = 1) -> None:
        """Wait until the driver has been registered so often."""
        self._wait(lambda e: e.get("ev") == "call" and e.get("registered"), number)

    def answered(self, method: str, number: int = 1) -> None:
        """Wait until so many calls of a method have been answered."""
        self._wait(lambda e: (e.get("ev"), e.get("method")) == ("answer", method), number)

    def quiet(self) -> None:
        """Let what was caused come to its end."""
        pause(QUIET_S)

    def _wait(self, test: Callable[[Json], Any], number: int = 1) -> None:
        self._notes.wait(test, number=number, within_s=STEP_S)


def basic(act: Acts) -> None:
    """One pod, one claim, from creation to deletion."""
    act.claim("c")
    act.pod("p", "c")
    act.running("p")
    act.quiet()
    act.delete("p")
    act.gone("p")


def two_claims(act: Acts) -> None:
    """One pod with two claims of the driver: one call for both."""
    act.claim("c1")
    act.claim("c2")
    act.pod("p", "c1", "c2")
    act.running("p")
    act.quiet()
    act.delete("p")
    act.gone("p")


def shared(act: Acts) -> None:
    """Two pods on one claim: prepared for the first, released after the last."""
    act.claim("c")
    act.pod("p1", "c")
    act.running("p1")
    act.quiet()
    act.pod("p2", "c")
    act.running("p2")
    act.quiet()
    act.delete("p1")
    act.gone("p1")
    act.quiet()
    act.delete("p2")
    act.gone("p2")


def finished(act: Acts) -> None:
    """A pod whose container ends by itself: its claim is released, and the pod stays."""
    act.claim("c")
    act.pod("p", "c", command=ENDS)
    act.ended("p")
    act.answered(UNPREPARE)
    act.quiet()
    act.delete("p")
    act.gone("p")


def forced(act: Acts) -> None:
    """A pod that is deleted by force."""
    act.claim("c")
    act.pod("p", "c")
    act.running("p")
    act.quiet()
    act.delete("p", grace_s=0)
    act.gone("p")
    act.answered(UNPREPARE)
    act.quiet()


def restarted(act: Acts) -> None:
    """The kubelet is restarted while a pod runs, which is deleted then."""
    act.claim("c")
    act.pod("p", "c")
    act.running("p")
    act.quiet()
    act.restart_kubelet()
    act.registered(2)
    act.quiet()
    act.quiet()
    act.delete("p")
    act.gone("p")


SCENARIOS: Final[Mapping[str, Callable[[Acts], None]]] = MappingProxyType(
    {
        "driver-basic": basic,
        "driver-two-claims": two_claims,
        "driver-shared": shared,
        "driver-finished": finished,
        "driver-forced": forced,
        "driver-restarted": restarted,
    }
)
