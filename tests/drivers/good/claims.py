"""Prepared claims: kept in one file, each with a CDI spec of its own."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

import yaml

from tests.drivers.good.api import Api
from tests.drivers.good.api import Object
from tests.drivers.good.api import Refused
from tests.drivers.good.options import Options

VENDOR = "odd.example.com"
COMMON = f"{VENDOR}/common=all"

NOT_FOUND = 404


class ClaimError(Exception):
    """Why a claim cannot be prepared."""


class Claims:
    """State of all claims, safe across restarts; one lock, because a test driver may be slow."""

    def __init__(self, options: Options, api: Api) -> None:
        self.options = options
        self.api = api
        self.lock = threading.Lock()
        self.file = options.driver_dir / "claims.json"
        options.driver_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        # It is there already where the suite knows the driver's name.
        options.driver_dir.chmod(0o700)
        self.damaged = ""
        self.prepared: dict[str, Object] = self._load()
        self.taken_over = frozenset(self.prepared)
        if options.cdi == "common":
            self._write_spec("common", "common", [("all", ["ODD_COMMON=1"])])

    def prepare(self, namespace: str, name: str, uid: str) -> list[Object]:
        """The devices of a claim, as fields of the answer's Device message."""
        with self.lock:
            claim = self._claim(namespace, name, uid)
            results = self._results(claim)
            if uid in self.prepared:
                known: list[Object] = self.prepared[uid]["devices"]
                if {each["device_name"] for each in known} != {each["device"] for each in results}:
                    raise ClaimError(f"the allocation of claim {namespace}/{name} has changed")
                if not self._has_spec(uid):
                    # After a reboot: the run-time CDI directory is empty then.
                    self._write_specs(uid, known)
                return known
            if self.damaged:
                raise ClaimError(self.damaged)
            single = len(claim["spec"]["devices"]["requests"]) == 1
            devices = [self._device(each, uid, single=single) for each in results]
            self._give_away(uid, {"claim": [namespace, name], "devices": devices})
            return devices

    def unprepare(self, uid: str) -> None:
        """Forget a claim, its spec first; an unknown one is forgotten already."""
        with self.lock:
            self._release(uid)

    def _release(self, uid: str) -> None:
        try:
            for ending in ("json", "yaml") if self.options.cdi != "none" else ():
                (self.options.cdi_dir / f"odd-{uid}.{ending}").unlink(missing_ok=True)
        except OSError as error:
            raise ClaimError(f"the spec of claim {uid} stays: {error}") from error
        if self.prepared.pop(uid, None) is not None:
            self._save()

    def _load(self) -> dict[str, Object]:
        """What a predecessor has left; a damaged file is put aside, its name told.

        Whatever was prepared is then unknown, so that nothing more is given away.
        """
        try:
            found: dict[str, Object] = json.loads(self.file.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            logging.warning("%s is damaged and put aside: %s", self.file, error)
            self.damaged = f"{self.file} was damaged, start anew on an empty node"
            self.file.rename(self.file.with_name("claims.damaged"))
            return {}
        return found

    def _is_gone(self, uid: str) -> bool:
        """True for a claim from before our start that exists no more."""
        if uid not in self.taken_over:
            return False
        namespace, name = self.prepared[uid]["claim"]
        try:
            found: bool = self.api.claim(namespace, name)["metadata"]["uid"] != uid
        except Refused as refused:
            return refused.code == NOT_FOUND
        return found

    def _claim(self, namespace: str, name: str, uid: str) -> Object:
        try:
            claim = self.api.claim(namespace, name)
        except Refused as refused:
            raise ClaimError(str(refused)) from refused
        if claim["metadata"]["uid"] != uid:
            raise ClaimError(f"claim {namespace}/{name} has another uid than {uid}")
        return claim

    def _results(self, claim: Object) -> list[Object]:
        allocation: Object | None = (claim.get("status") or {}).get("allocation")
        if not allocation:
            raise ClaimError(f"claim {claim['metadata']['name']} is not allocated")
        every = allocation["devices"].get("results") or []
        return [each for each in every if each["driver"] == self.options.name]

    def _device(self, result: Object, uid: str, *, single: bool) -> Object:
        name, number = result["device"], result["device"].removeprefix("dev-")
        if not number.isdecimal() or int(number) >= self.options.devices:
            raise ClaimError(f"no device {name}")
        exclusive = "shareID" not in result
        for other, known in list(self.prepared.items()):
            held = {each["device_name"] for each in known["devices"]}
            if exclusive and other != uid and name in held:
                if not self._is_gone(other):
                    raise ClaimError(f"device {name} is in use by claim {other}")
                self._release(other)
        empty = single and self.options.request_names == "empty"
        names = [] if empty else [result["request"].split("/")[0]]
        made: Object = {"request_names": names, "pool_name": result["pool"], "device_name": name}
        if "shareID" in result:
            made["share_id"] = result["shareID"]
        if self.options.cdi != "none":
            made["cdi_device_ids"] = [f"{VENDOR}/claim={uid}-{name}"]
        if self.options.cdi == "common":
            made["cdi_device_ids"].append(COMMON)
        return made

    def _give_away(self, uid: str, record: Object) -> None:
        self._write_specs(uid, record["devices"])
        self.prepared[uid] = record
        self._save()

    def _has_spec(self, uid: str) -> bool:
        endings = ("json", "yaml")
        return any((self.options.cdi_dir / f"odd-{uid}.{each}").exists() for each in endings)

    def _write_specs(self, uid: str, devices: list[Object]) -> None:
        if self.options.cdi != "none" and devices:
            names = dict.fromkeys(each["device_name"] for each in devices)
            entries = [(f"{uid}-{name}", [f"ODD_DEVICE={name}"]) for name in names]
            self._write_spec(uid, "claim", entries)

    def _write_spec(self, name: str, kind: str, devices: list[tuple[str, list[str]]]) -> None:
        spec: dict[str, Any] = {
            "cdiVersion": "0.6.0",
            "kind": f"{VENDOR}/{kind}",
            "devices": [
                {"name": device, "containerEdits": {"env": env}} for device, env in devices
            ],
        }
        ending = "yaml" if self.options.cdi == "yaml" else "json"
        text = yaml.safe_dump(spec) if ending == "yaml" else json.dumps(spec)
        _replace(self.options.cdi_dir / f"odd-{name}.{ending}", text)

    def _save(self) -> None:
        _replace(self.file, json.dumps(self.prepared))


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, "utf-8")
    partial.replace(path)
