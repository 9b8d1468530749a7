"""The driver's slices: made, kept, and made again when somebody has deleted them."""

from __future__ import annotations

import json
import logging
import threading

from tests.drivers.good.api import SLICES
from tests.drivers.good.api import Api
from tests.drivers.good.api import Object
from tests.drivers.good.api import Refused
from tests.drivers.good.options import Options

LOOK_S = 0.3
"""Pause between two looks at the slices."""

CONFLICT = 409

COUNTERS = "all-counters"


class Publisher:
    """One pool named after the node; a device is ``dev-NNN``, special ones come first by name."""

    def __init__(self, options: Options, api: Api) -> None:
        self.options = options
        self.api = api
        self.node_uid = ""

    def run(self, stopping: threading.Event) -> None:
        """Publish what is missing, for ever."""
        if self.options.write == "never":
            return
        while not stopping.wait(LOOK_S):
            try:
                self.publish()
            except Refused as refused:
                logging.warning("%s", refused)

    def publish(self) -> None:
        """Write each wanted slice that is not there as it should be."""
        found = self.api.slices(self.options.name, self.options.node)
        there = {item["metadata"]["name"]: item for item in found}
        for wanted in self.wanted():
            old = there.pop(wanted["metadata"]["name"], None)
            if old is None or _said(old) != _said(wanted):
                self.write(wanted, old)
        for name in there:
            self.api.request("DELETE", f"{SLICES}/{name}")

    def write(self, wanted: Object, old: Object | None) -> None:
        """Bring one slice to the API server in the way that was asked for."""
        path = f"{SLICES}/{wanted['metadata']['name']}"
        if self.options.write == "apply":
            stored = self.api.request(
                "PATCH", f"{path}?fieldManager=odd&force=true", wanted, kind="apply-patch+yaml"
            )
            _tell_dropped(wanted, stored)
            return
        if old is None:
            # Patched: born without devices, which is legal, and completed in a second step.
            first = wanted
            if self.options.write == "patch":
                first = {**wanted, "spec": {**wanted["spec"], "devices": []}}
                first["spec"].pop("sharedCounters", None)
            old = self.api.request("POST", SLICES, first)
            if self.options.write == "put":
                return
        if self.options.write == "patch":
            body = {"spec": {"devices": wanted["spec"].get("devices", [])}}
            self.api.request("PATCH", path, body, kind="merge-patch+json")
        else:
            meta = {**wanted["metadata"], "resourceVersion": old["metadata"]["resourceVersion"]}
            self.api.request("PUT", path, {**wanted, "metadata": meta})

    def wanted(self) -> list[Object]:
        """All slices as they should be; with counters, one more that only has the counters."""
        devices = [self.device(number) for number in range(self.options.devices)]
        size = self.options.per_slice
        chunks = [devices[at : at + size] for at in range(0, max(1, len(devices)), size)]
        contents: list[Object] = [{"devices": chunk} for chunk in chunks]
        if "counters" in self.options.special:
            units = {"units": {"value": "8"}}
            contents.append({"sharedCounters": [{"name": COUNTERS, "counters": units}]})
        return [
            self.slice(number, content, count=len(contents))
            for number, content in enumerate(contents)
        ]

    def owner(self) -> Object:
        """The Node, which the slices go with."""
        if not self.node_uid:
            node = self.api.request("GET", f"/api/v1/nodes/{self.options.node}")
            self.node_uid = node["metadata"]["uid"]
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "name": self.options.node,
            "uid": self.node_uid,
            "controller": True,
        }

    def slice(self, number: int, content: Object, *, count: int) -> Object:
        """One slice of ``count``."""
        node = self.options.node
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {
                "name": f"{node}-{self.options.name}-{number}",
                "ownerReferences": [self.owner()],
            },
            "spec": {
                "driver": self.options.name,
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": count},
                **content,
            },
        }

    def device(self, number: int) -> Object:
        """One device; the first ones are special."""
        made: Object = {"name": f"dev-{number:03}", "attributes": {"index": {"int": number}}}
        special = self.options.special[number] if number < len(self.options.special) else ""
        if special == "counters":
            counters = {"units": {"value": "2"}}
            made["consumesCounters"] = [{"counterSet": COUNTERS, "counters": counters}]
        elif special == "taints":
            made["taints"] = [{"key": "odd.example.com/tainted", "effect": "NoSchedule"}]
        elif special == "shared":
            made["allowMultipleAllocations"] = True
            made["capacity"] = {"slots": {"value": "4"}}
        return made


def _tell_dropped(wanted: Object, stored: Object) -> None:
    for field in ("sharedCounters", "consumesCounters", "taints", "allowMultipleAllocations"):
        if field in json.dumps(wanted) and field not in json.dumps(stored["spec"]):
            logging.warning("the API server has dropped %s", field)


def _said(item: Object) -> list[tuple[str, object]]:
    devices = item["spec"].get("devices") or []
    return [(device["name"], device.get("attributes")) for device in devices]
