"""Records what the kubelet of a kind node asks of ``dra-test-driver``.

    python -m tests.realkubelet.record --node NODE --kubeconfig FILE --image IMAGE [SCENARIO...]

For each scenario the driver is started anew on the node, with a proxy between its sockets and the
kubelet; what goes by, and what the API server shows meanwhile, is written to
``recordings/MINOR/SCENARIO.json`` in the form of the kubelet oracle's recordings. This process has
to be root on the machine whose containers the nodes are.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.versions import nearest_version
from pytest_dra.kube import Client
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.realkubelet.node import DRIVER
from tests.realkubelet.node import Node
from tests.realkubelet.node import deployed
from tests.realkubelet.node import objects
from tests.realkubelet.notes import Notes
from tests.realkubelet.notes import Watches
from tests.realkubelet.proxy import Proxy
from tests.realkubelet.scenarios import SCENARIOS
from tests.realkubelet.scenarios import Acts

RECORDINGS: Final = Path(__file__).with_name("recordings")

ACCOUNT_S: Final = 20.0
GONE_S: Final = 60.0
"""Longest waits for the account of a new namespace, and for its end."""


def record(client: Client, node: Node, name: str, *, image: str, pod_image: str) -> Json:
    """Play one scenario; its recording."""
    notes = Notes(namespace=name, node=node.name, driver=DRIVER)
    scenario = SCENARIOS[name]
    client.create(resources.NAMESPACES, {"metadata": {"name": name}})
    try:
        accounts = resources.SERVICE_ACCOUNTS
        poll(lambda: client.list(accounts, namespace=name), Deadline.after(ACCOUNT_S))
        with (
            Watches(client, notes),
            Proxy(node.places(), notes.add),
            deployed(client, objects(image, node.name)),
        ):
            act = Acts(client, node, notes, namespace=name, image=pod_image)
            act.registered()
            act.quiet()
            scenario(act)
            timeline = notes.told(name)
            _empty(client, name)
    finally:
        client.discard(resources.NAMESPACES, name, grace_s=None)
    about = (scenario.__doc__ or "").strip()
    return {
        "scenario": name,
        "about": f"{about} The driver is Kubernetes' dra-test-driver.",
        "kubelet": client.server_version(),
        "facts": {},
        "timeline": timeline,
    }


def _empty(client: Client, namespace: str) -> None:
    """End the pods of a namespace while their driver is there."""
    client.delete_collection(resources.PODS, namespace=namespace)
    poll(
        lambda: not client.list(resources.PODS, namespace=namespace),
        Deadline.after(GONE_S),
        every_s=0.2,
    )


def written(recording: Json) -> str:
    """A recording as text, with an entry of the time line in each line."""
    head = {key: value for key, value in recording.items() if key != "timeline"}
    rows = ",\n".join(
        json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in recording["timeline"]
    )
    return json.dumps(head, ensure_ascii=False)[:-1] + ',\n"timeline":[\n' + rows + "\n]}\n"


def main(arguments: list[str]) -> int:
    """Record the scenarios that are named, or all."""
    parser = argparse.ArgumentParser(prog="tests.realkubelet.record")
    parser.add_argument("--node", required=True, help="the container that is the node")
    parser.add_argument("--kubeconfig", required=True, type=Path)
    parser.add_argument("--image", required=True, help="of dra-test-driver, on the node")
    parser.add_argument("--pod-image", default="localhost/busybox:1", help="on the node")
    parser.add_argument("--engine", default="docker")
    parser.add_argument("--output", type=Path, default=RECORDINGS)
    parser.add_argument("scenario", nargs="*", default=list(SCENARIOS))
    given = parser.parse_args(arguments)
    client, node = Client(given.kubeconfig), Node(given.engine, given.node)
    try:
        folder = given.output / nearest_version(client.server_version()).name
        folder.mkdir(parents=True, exist_ok=True)
        for name in given.scenario:
            made = record(client, node, name, image=given.image, pod_image=given.pod_image)
            (folder / f"{name}.json").write_text(written(made), "utf-8")
            sys.stdout.write(f"{name}: {len(made['timeline'])} entries\n")
            sys.stdout.flush()
    finally:
        client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
