"""The same claims on a real cluster, allocated by kube-scheduler and by ``dra-allocator serve``.

    python -m tests.upstream.scheduler --kubeconfig FILE [--claims 200] [--seed 1]

One node, pods one at a time, the oldest of ten goes before the next comes. Ends with one line
``N agree, M differ``; the cluster is left as it was.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.launch import Keeper
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.upstream import schedulershapes as shapes

Json = dict[str, Any]

KUBE_SCHEDULER: Final = "default-scheduler"
OURS: Final = "dra-allocator"

NAMESPACE: Final = "dra-allocations"
ANSWER_S: Final = 240.0
"""Longest wait for a decision about a pod, and for the end of one: on a machine with other work a
scheduler may lose its lease, and begin anew a minute later."""

ATTEMPTS: Final = 3
"""A scheduler may not have seen yet what was just given back; then both are asked again."""

ENDED_S: Final = 10.0
"""Longest end of the scheduler."""

EVERY_S: Final = 0.05
_GONE: Final = 404
_FORBIDDEN: Final = 403


class Allocations:
    """Gives claims one after another to both schedulers, and notes what they got."""

    def __init__(self, client: Client, node: str) -> None:
        self._client = client
        self._node = node
        self._held: deque[str] = deque()

    def run(self, asked: Sequence[int]) -> Iterator[Mapping[str, Sequence[str]]]:
        """What each got by both; nothing where it did not fit."""
        for number, shape in enumerate(asked):
            if len(self._held) == shapes.HELD:
                self._give_back(self._held.popleft())
            yield self._compare(number, shapes.SHAPES[shape])
        while self._held:
            self._give_back(self._held.popleft())

    def _compare(self, number: int, devices: Json) -> Mapping[str, Sequence[str]]:
        """Both decide on the same cluster; what kube-scheduler has given stays."""
        for attempt in range(ATTEMPTS):
            found = {}
            for scheduler in (OURS, KUBE_SCHEDULER):
                name = f"claim-{number}-{attempt}-{scheduler}"
                found[scheduler] = self._allocate(name, devices, scheduler)
                same = found[scheduler] == found[OURS]
                last = attempt + 1 == ATTEMPTS
                if scheduler == KUBE_SCHEDULER and found[scheduler] and (same or last):
                    self._held.append(name)
                else:
                    self._give_back(name)
            if same:
                break
        return found

    def _allocate(self, name: str, devices: Json, scheduler: str) -> Sequence[str]:
        body = {"metadata": {"name": name}, "spec": {"devices": devices}}
        self._client.create(resources.RESOURCE_CLAIMS, body, namespace=NAMESPACE)
        must(lambda: self._make_pod(name, scheduler), f"pod {name} can be made")
        must(lambda: self._is_decided(name), f"pod {name} is decided")
        claim = self._client.get(resources.RESOURCE_CLAIMS, name, namespace=NAMESPACE)
        return shapes.as_told((claim.get("status") or {}).get("allocation"))

    def _make_pod(self, name: str, scheduler: str) -> bool:
        spec = {
            "schedulerName": scheduler,
            "nodeSelector": {"kubernetes.io/hostname": self._node},
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "resourceClaims": [{"name": "devices", "resourceClaimName": name}],
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/none",
                    "resources": {"claims": [{"name": "devices"}]},
                }
            ],
        }
        try:
            self._client.create(
                resources.PODS, {"metadata": {"name": name}, "spec": spec}, namespace=NAMESPACE
            )
        except KubeError as error:
            # The ServiceAccount of a new namespace is made a moment after it.
            if error.code != _FORBIDDEN:
                raise
            return False
        return True

    def _is_decided(self, name: str) -> bool:
        pod = self._client.get(resources.PODS, name, namespace=NAMESPACE)
        conditions = (pod.get("status") or {}).get("conditions") or ()
        return bool(pod["spec"].get("nodeName")) or any(
            each["type"] == "PodScheduled" and each.get("reason") == "Unschedulable"
            for each in conditions
        )

    def _give_back(self, name: str) -> None:
        for resource in (resources.PODS, resources.RESOURCE_CLAIMS):
            self._client.delete(resource, name, namespace=NAMESPACE, grace_s=0)
            must(lambda: is_gone(self._client, resource, name), f"{resource.kind} {name} is gone")  # noqa: B023 (waited for)


def must(holds: Any, what: str) -> None:
    """Wait for something. Raises TimeoutError."""
    if not poll(holds, Deadline.after(ANSWER_S), every_s=EVERY_S):
        raise TimeoutError(f"not within {ANSWER_S:g} s: {what}")


def is_gone(client: Client, resource: Resource, name: str) -> bool:
    """True once there is no such object."""
    try:
        client.get(resource, name, namespace=NAMESPACE if resource.namespaced else None)
    except KubeError as error:
        return error.code == _GONE
    return False


@contextlib.contextmanager
def objects(client: Client, node: str) -> Iterator[None]:
    """Namespace, classes and slices, from the beginning to the end of a context."""
    made = [
        (resources.NAMESPACES, {"metadata": {"name": NAMESPACE}}),
        *((resources.DEVICE_CLASSES, each) for each in shapes.classes()),
        *((resources.RESOURCE_SLICES, each) for each in shapes.slices(node)),
    ]
    try:
        for resource, body in made:
            client.create(resource, body)
        yield
    finally:
        for resource, body in reversed(made):
            with contextlib.suppress(KubeError):
                client.delete(resource, body["metadata"]["name"])
        must(lambda: is_gone(client, resources.NAMESPACES, NAMESPACE), "namespace is gone")


@contextlib.contextmanager
def serving(kubeconfig: Path, keeper: Keeper) -> Iterator[None]:
    """``dra-allocator serve`` at work."""
    begin = "from pytest_dra.commands.allocator import main; main()"
    directory = Path(tempfile.mkdtemp(prefix="dra-serve-"))
    keeper.own_directory(directory)
    log = directory / "log"
    process = keeper.spawn(
        [sys.executable, "-c", begin, "serve", "--no-leader-elect"],
        env={**os.environ, "KUBECONFIG": str(kubeconfig.absolute())},
        cwd=Path.cwd(),
        log=log,
    )
    try:
        yield
    except TimeoutError:
        sys.stderr.write(log.read_text())
        raise
    finally:
        process.terminate(Deadline.after(ENDED_S))


def compared(client: Client, kubeconfig: Path, node: str, asked: Sequence[int]) -> int:
    """How many claims got different devices."""
    differ = fits = 0
    with Keeper() as keeper, objects(client, node), serving(kubeconfig, keeper):
        found = Allocations(client, node).run(asked)
        for number, (shape, both) in enumerate(zip(asked, found, strict=True)):
            theirs, ours = both[KUBE_SCHEDULER], both[OURS]
            fits += bool(theirs)
            if theirs != ours:
                differ += 1
                sys.stdout.write(f"claim {number}, shape {shape}: {theirs}, ours {ours}\n")
    sys.stdout.write(f"{fits} fit, {len(asked) - fits} do not\n")
    sys.stdout.write(f"{len(asked) - differ} agree, {differ} differ\n")
    return differ


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 if something differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--claims", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    client = Client(asked.kubeconfig)
    try:
        nodes = sorted(each["metadata"]["name"] for each in client.list(resources.NODES))
        numbers = shapes.drawn(asked.claims, asked.seed)
        return int(compared(client, asked.kubeconfig, nodes[-1], numbers) > 0)
    finally:
        client.close()


if __name__ == "__main__":
    raise SystemExit(main())
