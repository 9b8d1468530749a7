"""What claims were given on a cluster, and what is left of a driver there."""

from __future__ import annotations

import pytest

from pytest_dra.checks import giving
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

ONE, TWO = ("d", "pool", "gpu-1"), ("d", "pool", "gpu-2")


def test_a_pin_that_finds_several_devices_is_not_the_drivers_fault() -> None:
    giving.same_device([ONE], [ONE])
    with pytest.raises(UnsupportedEnvironment, match=r"pool/gpu-1, then pool/gpu-2"):
        giving.same_device([ONE], [TWO])


def test_two_claims_hold_nothing_in_common() -> None:
    giving.other_devices([ONE], [TWO])
    with pytest.raises(Violation, match=r"both hold pool/gpu-1"):
        giving.other_devices([ONE, TWO], [ONE])


@pytest.mark.parametrize(
    ("request_name", "told"), [("device/first", "device/first"), (None, "nothing")]
)
def test_another_choice_of_the_scheduler_is_not_judged(request_name: str | None, told: str) -> None:
    results = [{"request": request_name}] if request_name else []
    with pytest.raises(UnsupportedEnvironment, match=f"allocated {told}, not device/second"):
        giving.alternative(results, "device/second")
    giving.alternative([{"request": "device/second"}], "device/second")


def test_slices_that_are_left_are_told_with_their_place() -> None:
    giving.no_slices([], driver="d", within_s=90)
    left: list[Json] = [
        {"metadata": {"name": "a"}, "spec": {"nodeName": "n"}},
        {"metadata": {"name": "b"}, "spec": {"allNodes": True}},
        {"metadata": {"name": "c"}, "spec": {"nodeSelector": {}}},
    ]
    with pytest.raises(Violation) as caught:
        giving.no_slices(left, driver="d", within_s=90)
    assert caught.value.got == "3: a (of node n), b (of all nodes), c (of some nodes)"
    assert str(caught.value.want).startswith("none after 90 s")


def test_containers_that_were_restarted_are_told() -> None:
    before = [("main", "containerd://0123456789abcdef", 0)]
    giving.same_containers(before, list(before), pod="pod a/b", what="the kubelet")
    after = [("main", "containerd://fedcba9876543210", 1)]
    with pytest.raises(Violation) as caught:
        giving.same_containers(before, after, pod="pod a/b", what="the kubelet")
    assert caught.value.where == "containers of pod a/b after a restart of the kubelet"
    assert caught.value.got == (
        "main ba9876543210 restarted 1 times, before main 456789abcdef restarted 0 times"
    )
