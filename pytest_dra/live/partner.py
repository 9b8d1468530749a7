"""A second driver beside the one under test: the bundled fake driver under another name."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import yaml

from pytest_dra.launch.tool import call
from pytest_dra.live import fakeimage
from pytest_dra.live.shipment import ordered
from pytest_dra.live.shipment import put_image
from pytest_dra.profile.model import Probe
from pytest_dra.spec import Json

NAME: Final = "partner.dra.example"
DEVICE_CLASS: Final = f"nic.{NAME}"
"""Devices of another kind than those that a fake driver under test is asked for."""

SELECTOR: Final = f'device.driver == "{NAME}" && device.attributes["{NAME}"].kind == "nic"'

PROBE: Final = Probe(
    command=("sh", "-c", "ls /dev/fake-dra 2>/dev/null || true"), expect={"nic": 1}
)

PRINT_S: Final = 30.0
"""Longest wait for the manifests: an interpreter's start."""

_OTHERWISE: Final = (
    ("gpu.fake.dra.example", DEVICE_CLASS),
    ("fake.dra.example", NAME),
    ("dra-fake-driver", "dra-partner-driver"),
)
"""What is called otherwise in the manifests, in this order."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Partner:
    """``image`` of the second driver, and what makes it in an empty folder; None: nodes get it."""

    image: str
    build: Callable[[Path], None] | None

    def objects(self) -> list[Json]:
        """What is deployed. Raises ToolError, ShipmentError."""
        program = [sys.executable, "-m", fakeimage.MODULE, "--print-manifests"]
        text = call(program, timeout_s=PRINT_S)
        for known, other in _OTHERWISE:
            text = text.replace(known, other)
        found = ordered(yaml.safe_load_all(text))
        put_image(found, self.image, arguments=[f"--driver-name={NAME}"])
        for item in found:
            if item["kind"] == "DeviceClass":
                item["spec"]["selectors"] = [{"cel": {"expression": SELECTOR}}]
            if item["kind"] == "DaemonSet":
                for container in item["spec"]["template"]["spec"]["containers"]:
                    container["command"] = [fakeimage.PROGRAM]
        return found
