"""What a scripted plugin answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_dra.spec import Json
from pytest_dra.wire import GET_INFO
from pytest_dra.wire import Method
from tests.upstream.kubelet_scope import usual_info


class Answers:
    """Makes the messages of a play's plugins.

    Args:
        plugins: label to driver and sockets.
        results: driver and device of each result of a claim, by its name.
        here: makes a path of the recording one of ours.
    """

    def __init__(
        self,
        plugins: Json,
        results: Callable[[str], list[list[str]]],
        here: Callable[[str], str],
    ) -> None:
        self._plugins = plugins
        self._results = results
        self._here = here

    def to(self, label: str, method: Method, request: Any, step: Json) -> Any:
        made = method.response()
        if method is GET_INFO:
            info = step.get("info") or usual_info(self._plugins[label])
            made.type, made.name = info["type"], info["name"]
            made.endpoint = self._here(info["endpoint"])
            made.supported_versions.extend(info["versions"])
        elif method.name.startswith("Node"):
            self._answer_claims(label, request, step, made)
        return made

    def _answer_claims(self, label: str, request: Any, step: Json, made: Any) -> None:
        """What the script says of each claim, or the devices that were allocated."""
        uids = {f"uid-of-{claim.name}": claim.uid for claim in request.claims}
        given = step.get("claims")
        if given is None:
            driver = self._plugins[label]["driver"]
            given = [
                [claim.uid, "", self._usual_devices(driver, claim.name)] for claim in request.claims
            ]
        for uid, error, devices in given:
            answer = made.claims[uids.get(uid, uid)]
            answer.error = error
            # An answer to Unprepare has no devices.
            for device in devices if hasattr(answer, "devices") else ():
                _add_device(answer.devices.add(), *device)

    def _usual_devices(self, driver: str, claim: str) -> list[list[Any]]:
        return [
            [[f"r{number}"], "NODE", device, [f"ko.example/dev={device}"]]
            for number, (of, device) in enumerate(self._results(claim))
            if of == driver
        ]


def report(method: Method, devices: list[Json]) -> Any:
    made = method.response()
    for device in devices:
        health = made.devices.add(health=device.get("health", 0), message=device.get("message", ""))
        health.last_updated_time = device.get("updated", 0)
        health.health_check_timeout_seconds = device.get("timeout", 0)
        health.device.pool_name = device.get("pool", "")
        health.device.device_name = device.get("device", "")
    return made


def _add_device(
    made: Any, requests: list[str], pool: str, device: str, cdi: list[str], share: str = ""
) -> None:
    made.request_names.extend(requests)
    made.pool_name, made.device_name = pool, device
    made.cdi_device_ids.extend(cdi)
    if share:
        made.share_id = share
