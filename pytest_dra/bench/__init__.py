"""The bench round one driver: API server, kubelet, CDI directory, process, and their timeline."""

from pytest_dra.bench.bench import Bench
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.claims import Wanted
from pytest_dra.bench.devices import Device
from pytest_dra.bench.instance import Instance
from pytest_dra.bench.preparation import Preparation
from pytest_dra.bench.setup import Setup

__all__ = ["Bench", "Claim", "Device", "Instance", "Preparation", "Setup", "Wanted"]
