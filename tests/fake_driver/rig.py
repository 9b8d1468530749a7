"""A driver in this process between an API of dictionaries and a gRPC client on its sockets."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc

from pytest_dra import wire
from pytest_dra.fake_driver import faults
from pytest_dra.fake_driver import variants
from pytest_dra.fake_driver.driver import Driver
from pytest_dra.fake_driver.driver import Parts
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.options import Options
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.fake_driver.memory_api import Store
from tests.fake_driver.memory_api import api_of

DRIVER = "fake.dra.example"
NODE = "node-a"
CALL_S = 10.0
SETTLE_S = 10.0

Result = dict[str, Any]


def result(device: str, request: str = "req0", **more: Any) -> Result:
    """One allocation result of the driver under test."""
    return {"request": request, "driver": DRIVER, "pool": NODE, "device": device, **more}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim in the store, as a call names it."""

    namespace: str = "default"
    name: str
    uid: str


class Rig:
    """One node with one driver; ``kill_and_start`` replaces the driver on the same directories."""

    def __init__(self, root: Path, fault: str = "", **options: Any) -> None:
        self.store = Store()
        self.store.nodes[NODE] = "node-uid"
        values: dict[str, Any] = {
            "node_name": NODE,
            "registry_dir": root / "r",
            "plugins_dir": root / "p",
            "cdi_root": root / "c",
            "static_cdi_root": root / "s",
        }
        self.options = Options(**{**values, **options})
        good = faults.parts_with(fault) if fault else Parts()
        if self.options.variant:
            good = variants.parts_of(self.options.variant, good)
        self.parts = dataclasses.replace(good, api=api_of(self.store))
        self.channels: list[grpc.Channel] = []
        self.kubelet: grpc.Channel | None = None
        self.driver: Driver | None = None
        self.info: Any = None
        self.reachable_at_once = False
        self.disturbed = False
        self.fault = fault
        self.longest: dict[str, float] = {}

    def start(self) -> None:
        """Start a driver and ask it who it is, as a kubelet does; StartError as it comes."""
        driver = Driver(self.options, self.parts)
        driver.start()
        self.driver = driver
        if self.options.registration_socket.exists():
            self.info = self.get_info()
            self.reachable_at_once = self.options.dra_socket.exists()

    def stop(self) -> None:
        """Stop the driver and close our connections."""
        self.disconnect()
        if self.driver is not None:
            self.driver.stop()
            self.driver = None

    def disconnect(self) -> None:
        """Close all our connections."""
        for channel in self.channels:
            channel.close()
        self.channels.clear()
        self.kubelet = None

    def kill_and_start(self) -> bool:
        """As if the driver was killed and started again; False if it does not start."""
        self.stop()
        for path in (self.options.registration_socket, self.options.dra_socket):
            path.unlink(missing_ok=True)
            stale = socket.socket(socket.AF_UNIX)
            stale.bind(str(path))
            stale.close()
        try:
            self.start()
        except StartError:
            for path in (self.options.registration_socket, self.options.dra_socket):
                path.unlink(missing_ok=True)
            self.start()
            return False
        return True

    def channel(self, path: Path, authority: str = "localhost") -> grpc.Channel:
        """A new connection to one of the driver's sockets."""
        options = [("grpc.default_authority", authority), ("grpc.use_local_subchannel_pool", 1)]
        channel = grpc.insecure_channel(f"unix:{path}", options=options)
        self.channels.append(channel)
        return channel

    def call(self, channel: grpc.Channel, method: wire.Method, **fields: Any) -> Any:
        """One call; grpc.RpcError if it fails."""
        stub = channel.unary_unary(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        return stub(method.request(**fields), timeout=CALL_S, wait_for_ready=True)

    def get_info(self, authority: str = "localhost") -> Any:
        """Who the driver says it is."""
        channel = self.channel(self.options.registration_socket, authority)
        return self.call(channel, wire.GET_INFO)

    def dra(self, name: str, claims: tuple[Claim, ...], version: str = "") -> Any:
        """Prepare or Unprepare a batch; the claims of the response by UID."""
        version = version or self.version()
        methods = wire.DRA_METHODS[version]
        method = methods.prepare if name == "prepare" else methods.unprepare
        if self.kubelet is None:
            self.kubelet = self.channel(self.options.dra_socket)
        request = [methods.claim(namespace=c.namespace, name=c.name, uid=c.uid) for c in claims]
        began = time.monotonic()
        claims_of = self.call(self.kubelet, method, claims=request).claims
        self.longest[name] = max(self.longest.get(name, 0.0), time.monotonic() - began)
        return claims_of

    def version(self) -> str:
        """The version to call: the first one that is served."""
        assert self.driver is not None
        return self.driver.endpoint.service.versions()[0]

    def prepare(self, claim: Claim) -> Any:
        """Prepare one claim alone: its entry."""
        return self.dra("prepare", (claim,))[claim.uid]

    def unprepare(self, claim: Claim) -> str:
        """Unprepare one claim alone: its error."""
        return str(self.dra("unprepare", (claim,))[claim.uid].error)

    def claim(self, *results: Result, config: list[Any] | None = None, **more: str) -> Claim:
        """Store an allocated claim; without results an unallocated one."""
        uid = str(uuid.uuid4())
        claim = Claim(**{"name": f"c-{uid[:8]}", "uid": uid, **more})
        self.allocate(claim, *results, config=config)
        return claim

    def allocate(self, claim: Claim, *results: Result, config: list[Any] | None = None) -> None:
        """Replace the claim's allocation."""
        devices = {"results": list(results), "config": config or []}
        status = {"allocation": {"devices": devices}} if results else {}
        self.store.claims[(claim.namespace, claim.name)] = {
            "metadata": {"uid": claim.uid, "namespace": claim.namespace, "name": claim.name},
            "status": status,
        }

    def stored(self, claim: Claim) -> dict[str, Any]:
        """The claim as the API has it, to be changed."""
        found: dict[str, Any] = self.store.claims[(claim.namespace, claim.name)]
        return found

    def delete(self, claim: Claim) -> None:
        """Delete the claim from the API."""
        del self.store.claims[(claim.namespace, claim.name)]

    def specs(self) -> dict[Path, Any]:
        """All CDI specs that are there and that a runtime would load."""
        return {path: spec for path, spec in self.texts().items() if _loads(spec)}

    def texts(self) -> dict[Path, Any]:
        """All CDI specs that are there."""
        return {
            path: json.loads(path.read_text("utf-8"))
            for root in (self.options.static_cdi_root, self.options.cdi_root)
            for path in sorted(root.glob("*.json"))
        }

    def edits(self, cdi_id: str) -> Any:
        """What an id resolves to, None unless exactly one device has it."""
        found = [
            device["containerEdits"]
            for spec in self.specs().values()
            for device in spec["devices"]
            if f"{spec['kind']}={device['name']}" == cdi_id and device["containerEdits"]
        ]
        return found[0] if len(found) == 1 else None

    def resolves(self, entry: Any) -> bool:
        """True if all ids of an entry resolve."""
        return all(self.edits(i) is not None for d in entry.devices for i in d.cdi_device_ids)

    def residue(self, claim: Claim) -> list[Path]:
        """Files that name the claim's UID."""
        roots = (self.options.cdi_root, self.options.data_dir)
        found = [path for root in roots for path in root.rglob(f"*{claim.uid}*")]
        return [path for path in found if not path.is_dir()]

    def wait(self, look: Callable[[], Any], span_s: float = SETTLE_S) -> bool:
        """Wait until ``look`` is true."""
        return bool(poll(look, Deadline.after(span_s)))


def _loads(spec: Any) -> bool:
    return all(
        None not in edits.get("mounts", ())
        and not (edits.get("additionalGids") and spec["cdiVersion"] < "0.7.0")
        for edits in (device["containerEdits"] for device in spec["devices"])
    )


@contextlib.contextmanager
def running(fault: str = "", **options: Any) -> Iterator[Rig]:
    """A rig with a started driver in a short directory that is removed at the end."""
    root = Path(tempfile.mkdtemp(prefix="dra-", dir="/tmp"))
    rig = Rig(root, fault, **options)
    try:
        rig.start()
        yield rig
    finally:
        rig.store.close()
        rig.stop()
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join(CALL_S)  # what is written late must not come after the removal
        shutil.rmtree(root, ignore_errors=True)
