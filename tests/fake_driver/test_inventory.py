"""Inventories are read with everything that a device may carry, and refused with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dra.fake_driver import inventory
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.options import Options

NODE = "node-a"


def options(root: Path, file: Path | None) -> Options:
    return Options(
        node_name=NODE, registry_dir=root, plugins_dir=root, cdi_root=root, inventory=file
    )


def test_the_bundled_inventory_has_two_kinds_of_devices_in_one_pool_of_the_node(
    tmp_path: Path,
) -> None:
    bundled = Inventories(options(tmp_path, None)).load()
    assert [pool.name for pool in bundled.pools] == [NODE]
    devices = bundled.pools[0].devices
    kinds = [device["attributes"]["kind"]["string"] for device in devices]
    assert kinds == ["gpu"] * 8 + ["nic"] * 6
    assert devices[3]["attributes"]["index"] == {"int": 3}
    assert bundled.has(NODE, "gpu-7")
    assert not bundled.has(NODE, "gpu-8")
    assert not bundled.has("other", "gpu-7")


def test_several_pools_and_any_field_of_a_device_are_taken() -> None:
    text = """
pools:
- name: "{node}/a"
  devicesPerSlice: 2
  devices:
  - name: one
    allowMultipleAllocations: true
    taints: [{key: example.com/t, effect: NoSchedule}]
- name: b
  devices: [{name: "x{index}", count: 3}]
"""
    made = inventory.parse(text, "test.yaml", NODE)
    assert [(pool.name, len(pool.devices)) for pool in made.pools] == [(f"{NODE}/a", 1), ("b", 3)]
    assert made.pools[0].devices[0]["allowMultipleAllocations"] is True
    assert made.pools[0].devices_per_slice == 2
    assert made.devices()[1:] == [("b", "x0"), ("b", "x1"), ("b", "x2")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pools: [", r"f\.yaml:2:\d+: no YAML: "),
        ("", r"f\.yaml: inventory is missing; want a mapping with `pools`"),
        ("pool: []", r"f\.yaml:1:1: inventory\.pool is no known field; want one of pools"),
        ("pools: {}", r"f\.yaml:1:8: inventory\.pools is \{\}; want a list of pools"),
        ("pools:\n- devices: []", r"f\.yaml:2:3: inventory\.pools\[0\]\.name is missing"),
        (
            "pools:\n- name: Bad_Name\n  devices: []",
            r"f\.yaml:2:9: inventory\.pools\[0\]\.name is 'Bad_Name'; want DNS subdomains",
        ),
        (
            "pools:\n- name: p\n  devices:\n  - name: GPU_0",
            r"f\.yaml:4:11: .*devices\[0\]\.name is 'GPU_0'; want a DNS label",
        ),
        (
            "pools:\n- name: p\n  devices:\n  - {name: a}\n  - {name: a}",
            r"f\.yaml:5:12: .*devices\[1\]\.name is 'a' again; want unique",
        ),
        (
            "pools:\n- name: p\n  devices:\n  - {name: a, count: many}",
            r"f\.yaml:4:22: .*count is 'many'; want a number",
        ),
        (
            "pools:\n- name: p\n  devices:\n  - {name: a, colour: red}",
            r"f\.yaml:4:15: .*colour is no known field; want one of allowMultiple",
        ),
        ("pools: []\npools: []", r"f\.yaml:2:1: inventory\.pools is given twice"),
        ("pools:\n- {name: p, devices: [], devicesPerSlice: 500}", r"is 500; want 1 to 128"),
    ],
)
def test_a_broken_inventory_is_refused_with_file_place_and_way_out(text: str, message: str) -> None:
    with pytest.raises(StartError, match=message):
        inventory.parse(text, "f.yaml", NODE)


def test_nested_aliases_do_not_grow_without_end() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    with pytest.raises(StartError, match="YAML nodes; want fewer"):
        inventory.parse("\n".join(lines), "f.yaml", NODE)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    large, binary = tmp_path / "large.yaml", tmp_path / "binary.yaml"
    large.write_bytes(b"#" * (inventory.FILE_MAX + 1))
    binary.write_bytes(b"\xff\xfe")
    for path, text in (
        (large, "more than"),
        (binary, "not UTF-8 at byte 0"),
        (tmp_path / "none.yaml", "mend --inventory"),
        (tmp_path, "mend --inventory"),
    ):
        with pytest.raises(StartError, match=text):
            Inventories(options(tmp_path, path)).load()
