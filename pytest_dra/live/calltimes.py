"""How long the driver's calls took, as the kubelets of a cluster count them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pytest_dra.api import resources
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import UnsupportedEnvironment

PREPARE: Final = "NodePrepareResources"
UNPREPARE: Final = "NodeUnprepareResources"

METRICS: Final = "/api/v1/nodes/{node}/proxy/metrics"

_BUCKET = re.compile(
    r"^dra_grpc_operations_duration_seconds_bucket\{(?P<labels>[^}]*)\} (?P<n>\d+)"
)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class CallTimes:
    """See the module.

    Args:
        client: with the right to read metrics of nodes.
        driver: name of the driver.
    """

    def __init__(self, client: Client, driver: str) -> None:
        self._client = client
        self._driver = driver
        self._before: dict[tuple[str, str], Counter[float]] = {}
        self._kept: dict[str, Counter[float]] = {}

    def begin(self, node: str = "") -> None:
        """What the kubelets have counted before is none of the run's: of a node, or of all."""
        with suppress(KubeError):
            every = [] if node else self._client.list(resources.NODES)
            nodes = [node] if node else [str(each["metadata"]["name"]) for each in every]
            self._before = self._counts(nodes)

    def keep(self, nodes: Sequence[str]) -> None:
        """Keep what has been counted so far: the kubelets of these nodes restart and begin anew."""
        with suppress(KubeError):
            for key, counts in self._since(nodes).items():
                self._kept.setdefault(key[1], Counter()).update(counts)
            known = self._before.items()
            self._before = {key: counts for key, counts in known if key[0] not in nodes}

    def of(self, nodes: Sequence[str], method: str) -> Mapping[float, int]:
        """Calls that took at most so many seconds, by these.

        Raises:
            UnsupportedEnvironment: nobody has counted any.
        """
        total = Counter(self._kept.get(method, {}))
        try:
            for key, counts in self._since(nodes).items():
                if key[1] == method:
                    total.update(counts)
        except KubeError as error:
            raise UnsupportedEnvironment(
                f"the metrics of the kubelet cannot be read: {error}",
                way_out="the right to get nodes/proxy, or --dra-depth=wire",
            ) from error
        if not total[math.inf]:
            raise UnsupportedEnvironment(
                f"no kubelet has counted a {method} of {self._driver}",
                way_out="a kubelet with DRA metrics, or --dra-depth=wire",
            )
        return total

    def _since(self, nodes: Sequence[str]) -> dict[tuple[str, str], Counter[float]]:
        """What has been counted since the beginning; of a restarted kubelet all that it has."""
        now = self._counts(nodes)
        for key, counts in now.items():
            before = self._before.get(key, Counter())
            if all(counts[bound] >= count for bound, count in before.items()):
                counts.subtract(before)
        return now

    def _counts(self, nodes: Sequence[str]) -> dict[tuple[str, str], Counter[float]]:
        """By node and method."""
        found: dict[tuple[str, str], Counter[float]] = {}
        for node in nodes:
            for line in self._client.text(METRICS.format(node=node)).splitlines():
                bucket = _BUCKET.match(line)
                labels = dict(_LABEL.findall(bucket["labels"])) if bucket else {}
                if bucket and labels.get("driver_name") == self._driver:
                    method = str(labels.get("method_name")).rpartition("/")[2]
                    counts = found.setdefault((node, method), Counter())
                    counts[float(labels["le"])] += int(bucket["n"])
        return found
