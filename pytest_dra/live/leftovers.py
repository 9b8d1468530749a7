"""What runs have left on a cluster: found by its label, and removed once its run has ended.

``python -m pytest_dra.live.leftovers KUBECONFIG RUN`` removes what one run has made; the keeper
does that where pytest cannot any more.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.clusters.discovery import all_served
from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.owner import State
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.live.deployment import EVERY_S
from pytest_dra.live.deployment import LABEL
from pytest_dra.live.deployment import OWNER
from pytest_dra.live.shipment import rank_of
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

PODS_S: Final = 30.0
"""Longest wait for pods that end by themselves; their driver has to unprepare their claims."""

GONE_S: Final = 40.0
"""Longest wait for the run's namespace, and for the rest: all is below the keeper's limit."""

NOT_OURS: Final = frozenset({"Event", "EndpointSlice", "Endpoints"})
"""Kinds that servers make with the labels of others; they go with those."""

FAILED: Final = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Leftover:
    """One object with the label of a run."""

    resource: Resource
    item: Json

    @property
    def namespace(self) -> str | None:
        """Where it is; None for one that is in no namespace."""
        return str(self.item["metadata"]["namespace"]) if self.resource.namespaced else None

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.item["metadata"]["name"])

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource.kind} {where}{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Left:
    """What a run has on a cluster. ``owner``: its process, None if nothing says which."""

    run: str
    owner: Owner | None
    objects: tuple[Leftover, ...]

    @property
    def has_ended(self) -> bool:
        """True if the run's process is known not to live any more."""
        return self.owner is not None and self.owner.state() is State.ENDED


def runs_on(client: Client) -> list[Left]:
    """Everything with the label of a run, by run. Kinds that this user may not list are left out.

    Raises:
        KubeError: the server cannot be asked.
    """
    found: dict[str, list[Leftover]] = {}
    for each in all_served(client):
        if each.resource.kind in NOT_OURS or not {"list", "delete"} <= each.verbs:
            continue
        with suppress(KubeError):
            for item in client.list(each.resource, label_selector=LABEL):
                run = str(item["metadata"]["labels"][LABEL])
                found.setdefault(run, []).append(Leftover(each.resource, item))
    return [Left(run, _owner(objects), tuple(objects)) for run, objects in found.items()]


def ended_runs(client: Client) -> list[str]:
    """Runs that have ended and whose namespace is still there: one request.

    Raises:
        KubeError: the server cannot be asked.
    """
    rooms = [
        Leftover(resources.NAMESPACES, item)
        for item in client.list(resources.NAMESPACES, label_selector=LABEL)
    ]
    by_run = {str(each.item["metadata"]["labels"][LABEL]): _owner([each]) for each in rooms}
    return [run for run, owner in by_run.items() if owner and owner.state() is State.ENDED]


def _owner(objects: Iterable[Leftover]) -> Owner | None:
    texts = ((each.item["metadata"].get("annotations") or {}).get(OWNER) for each in objects)
    return next((owner for text in texts if text and (owner := Owner.read(text))), None)


def room_name(run: str) -> str:
    """Name of the run's own namespace, in which its cases make their pods and claims."""
    return f"dra-{run}"


def remove_run(client: Client, run: str) -> list[str]:
    """Remove what a run has made; what is still there then, in words.

    First its pods, whose claims the driver has to unprepare, then the driver.

    Raises:
        KubeError: the server cannot be asked.
    """
    objects = [each for left in runs_on(client) if left.run == run for each in left.objects]
    rooms = [each for each in objects if _is_room(each, run)]
    for each in rooms:
        _end_pods(client, each.name)
    return [*_removed(client, rooms), *_removed(client, [e for e in objects if e not in rooms])]


def _is_room(each: Leftover, run: str) -> bool:
    return each.resource == resources.NAMESPACES and each.name == room_name(run)


def _end_pods(client: Client, namespace: str) -> None:
    """Delete the pods of a namespace and wait; at last by force."""

    def pods() -> list[Json]:
        return client.list(resources.PODS, namespace=namespace)

    def delete(grace_s: int | None) -> None:
        for pod in pods():
            with suppress(KubeError):
                client.delete(
                    resources.PODS, pod["metadata"]["name"], namespace=namespace, grace_s=grace_s
                )

    delete(None)
    if not poll(lambda: not pods(), Deadline.after(PODS_S), every_s=EVERY_S):
        delete(0)


def _removed(client: Client, objects: Iterable[Leftover]) -> list[str]:
    """Delete objects, what needs others first; those that are still there, in words."""
    left = sorted(objects, key=lambda each: rank_of(each.item), reverse=True)
    for each in left:
        with suppress(KubeError):
            client.delete(
                each.resource,
                each.name,
                namespace=each.namespace,
                grace_s=None,
                uid=str(each.item["metadata"]["uid"]),
            )

    def gone() -> bool:
        left[:] = [each for each in left if _is_there(client, each)]
        return not left

    poll(gone, Deadline.after(GONE_S), every_s=EVERY_S)
    return [str(each) for each in left]


def _is_there(client: Client, each: Leftover) -> bool:
    try:
        found = client.get(each.resource, each.name, namespace=each.namespace)
    except KubeError as error:
        return error.code != NOT_FOUND
    return bool(found["metadata"]["uid"] == each.item["metadata"]["uid"])


def removing(kubeconfig: Path, run: str) -> list[str]:
    """The command that removes what a run has made, for somebody else to run."""
    return [sys.executable, "-m", __name__, str(kubeconfig), run]


def main(arguments: list[str], connect: Callable[[Path], Client] = Client) -> int:
    """See the module; 1 if something is left."""
    kubeconfig, run = arguments
    client = connect(Path(kubeconfig))
    try:
        return FAILED if remove_run(client, run) else 0
    finally:
        client.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
