"""Which declared features show on a cluster, and what a faulty device shows."""

from __future__ import annotations

from typing import Any
from typing import cast

import pytest

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.launch.tool import ToolError
from pytest_dra.live import ailing
from pytest_dra.live import nodespecs
from pytest_dra.live import signs
from pytest_dra.live.bench import LiveBench
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.spec import UnsupportedEnvironment

DRIVER = "fake.dra.example"
HELD = (DRIVER, "a", "gpu-0")


def slice_with(*devices: dict[str, Any], **fields: Any) -> dict[str, Any]:
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": list(devices), **fields}
    return {"metadata": {"name": "s"}, "spec": spec}


class Part:
    """Something that has these attributes."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


def bench_with(items: list[dict[str, Any]], **parts: Any) -> LiveBench:
    driver = Part(name=DRIVER, slices=lambda: items, must_publish=lambda: items)
    return cast(LiveBench, Part(driver=driver, **parts))


def test_what_shows_in_slices_needs_no_pod() -> None:
    bench = bench_with([slice_with({"name": "d", "taints": [{}]}, allNodes=True)])
    wanted = {"DeviceTaints": "a taint", "NetworkAttached": "allNodes", "HealthMessage": "?"}
    found, hidden = signs.seen(bench, wanted)
    assert {"DeviceTaints", "NetworkAttached"} <= set(found)
    assert hidden == {"HealthMessage"}


def test_what_shows_with_a_pod_is_looked_for_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "SHOWN_S", 0.2)

    def nobody_looks(*_: object, **__: object) -> None:
        raise ToolError("no such container")

    monkeypatch.setattr(nodespecs, "ids_of", nobody_looks)
    status = {"devices": [{"driver": DRIVER}]}
    health = {"name": "claim:devices", "resources": [{"health": "Healthy"}]}
    pod = {"status": {"containerStatuses": [{"allocatedResourcesStatus": [health]}]}}
    bench = bench_with(
        [slice_with({"name": "d"})],
        node=Part(name="n1"),
        claim=lambda: "c",
        pod_with=lambda claim: claim,
        folder=lambda: None,
        pods=Part(must_run=lambda pod: pod, state=lambda _: pod),
        claims=Part(uid=lambda name: "u1", state=lambda name: {"status": status}),
    )
    wanted = dict.fromkeys(("DeviceStatus", "DeviceHealth", "CDIInjection", "DeviceTaints"), "?")
    found, hidden = signs.seen(bench, wanted)
    assert set(found) == {"DeviceStatus", "DeviceHealth"}
    assert hidden == {"CDIInjection"}


def test_what_is_wanted_follows_profile_and_version() -> None:
    profile = DEFAULT_PROFILE
    bench = cast(LiveBench, Part(profile=profile, version=kubernetes_version()))
    assert signs.wanted_of(bench) == {}


def test_a_device_is_looked_at_until_it_is_as_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ailing, "NOTICED_S", 0.2)
    taint = {"key": "x", "effect": "NoExecute"}
    healthy, faulty = (
        slice_with({"name": "gpu-0"}),
        slice_with({"name": "gpu-0", "taints": [taint]}),
    )
    assert ailing.tainted(bench_with([faulty]), HELD)["taints"] == [taint]
    with pytest.raises(UnsupportedEnvironment, match="taint device 'gpu-0' within"):
        ailing.tainted(bench_with([healthy]), HELD)
    assert ailing.published_until(bench_with([]), HELD, lambda found: found is None) is None


@pytest.mark.parametrize(("heal", "ended"), [(("heal",), []), ((), ["restart"])])
def test_a_device_is_healed_or_the_driver_begins_anew(
    heal: tuple[str, ...], ended: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ailing, "NOTICED_S", 0.2)
    ran: list[str] = []
    monkeypatch.setattr(ailing, "run_hook", lambda driver, name, command, values: ran.append(name))
    bench = bench_with(
        [slice_with({"name": "gpu-0"})],
        node=Part(name="n1"),
        profile=Part(hooks=Part(fault=("break",), heal=heal)),
    )
    bench.driver.__dict__["restart"] = lambda: ran.append("restart")
    with ailing.failing(bench, HELD):
        assert ran == ["hooks.fault"]
    assert ran == ["hooks.fault", *(["hooks.heal"] if heal else ended)]
