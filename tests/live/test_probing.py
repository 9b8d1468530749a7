"""What a probe prints is counted by kind, and compared with what is allocated."""

from __future__ import annotations

import pytest

from pytest_dra.live.probing import Seen
from pytest_dra.live.probing import devices_must_be_seen
from pytest_dra.live.probing import devices_must_differ
from pytest_dra.spec import Violation


def test_lines_are_counted_once_by_the_longest_kind_that_they_begin_with() -> None:
    seen = Seen.of(" gpu-0\ngpu-0\ngpuctl\nnull\n\ngpu-1\n", ["gpu", "gpuctl"])
    assert seen.lines == ("gpu-0", "gpu-1", "gpuctl")
    assert seen.counts == {"gpu": 2, "gpuctl": 1}


@pytest.mark.parametrize(("output", "devices"), [("gpu-0\n", 1), ("gpu-0\ngpu-3\n", 2), ("", 0)])
def test_as_many_as_are_allocated_are_fine(output: str, devices: int) -> None:
    devices_must_be_seen("c", Seen.of(output, ["gpu"]), {"gpu": 1}, devices=devices)


@pytest.mark.parametrize(
    ("output", "devices", "told"),
    [
        ("", 1, "0 gpu (no line)|1 gpu: 1 device allocated to it"),
        ("gpu-0\ngpu-1", 1, "2 gpu (gpu-0, gpu-1)|1 gpu: 1 device allocated to it"),
        ("gpu-0", 0, "1 gpu (gpu-0)|0 gpu: 0 devices allocated to it"),
    ],
)
def test_any_other_number_is_a_finding(output: str, devices: int, told: str) -> None:
    with pytest.raises(Violation) as caught:
        devices_must_be_seen("pod a/b", Seen.of(output, ["gpu"]), {"gpu": 1}, devices=devices)
    assert caught.value.where == "injection.probe in pod a/b"
    assert f"{caught.value.got}|{caught.value.want}" == told


def test_two_containers_have_nothing_in_common() -> None:
    one, other = (Seen.of(text, ["gpu"]) for text in ("gpu-0\ngpu-1", "gpu-1"))
    with pytest.raises(Violation, match="both see gpu-1"):
        devices_must_differ("one", "other", one, other)
    devices_must_differ("one", "other", Seen.of("gpu-0", ["gpu"]), other)
