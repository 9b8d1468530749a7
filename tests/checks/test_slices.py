"""Judgements of slices: what they say."""

from __future__ import annotations

import pytest

from pytest_dra.checks import slices
from pytest_dra.spec import Json
from tests.checks.raising import Judgement
from tests.checks.raising import Said
from tests.checks.raising import said

DRIVER = "gpu.example.com"
ONE_WAY = "exactly one of nodeName, nodeSelector, allNodes, perDeviceNodeSelection"
LABEL_RULE = (
    "must be a DNS-1123 label: lower case letters, digits or '-', "
    "starting and ending with a letter or digit"
)

SELECTORS: tuple[tuple[Json, str], ...] = (
    ({}, "0 terms"),
    ({"nodeSelectorTerms": [{}, {}]}, "2 terms"),
)


def body(
    *devices: str, name: str = "s1", pool: str = "pool-a", count: int = 1, **spec: object
) -> Json:
    """A slice with these devices; further fields of its spec are given by name."""
    return {
        "metadata": {"name": name},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": pool, "generation": 2, "resourceSliceCount": count},
            "devices": [{"name": device} for device in devices],
            **spec,
        },
    }


def pools(*members: Json) -> dict[tuple[str, str], list[Json]]:
    """One pool's newest generation."""
    return {(DRIVER, "pool-a"): list(members)}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (body(), "ResourceSlice s1 of pool 'pool-a'"),
        (
            {"metadata": {"generateName": "node-a-"}, "spec": {"pool": {"name": "p"}}},
            "ResourceSlice node-a-... (name to be generated) of pool 'p'",
        ),
        ({}, "ResourceSlice ... (name to be generated) of pool ''"),
        (
            {"metadata": None, "spec": {"pool": None}},
            "ResourceSlice ... (name to be generated) of pool ''",
        ),
    ],
    ids=["name", "generated name", "nothing", "null"],
)
def test_a_message_names_a_slice_by_what_it_has(item: Json, expected: str) -> None:
    assert slices.named(item) == expected


@pytest.mark.parametrize(
    "judgement",
    [
        pytest.param(
            lambda: slices.devices_must_be_published(
                [body(), body("gpu-0")], driver=DRIVER, within_s=30
            ),
            id="one slice with a device is enough",
        ),
        pytest.param(
            lambda: slices.nodes_must_be_chosen_once([body(nodeName="a"), body(allNodes=True)]),
            id="one way each",
        ),
        pytest.param(
            lambda: slices.node_names_must_be(
                [body(nodeName="a"), body(nodeName=""), body(nodeName=None), body(allNodes=True)],
                node="a",
            ),
            id="the own node or none",
        ),
        pytest.param(
            lambda: slices.counts_must_be_true(pools(body(count=2), body(count=2))),
            id="true counts",
        ),
        pytest.param(
            lambda: slices.device_names_must_be_unique(
                {("d", "a"): [body("gpu-0")], ("d", "b"): [body("gpu-0")]}
            ),
            id="the same device name in two pools",
        ),
        pytest.param(
            lambda: slices.names_must_be_well_formed([body("0", "g" * 63, pool="a.b/c")]),
            id="names",
        ),
        pytest.param(
            lambda: slices.inventory_must_be_back(
                [body("gpu-0", "gpu-1", name="new")],
                before=[body("gpu-1"), body("gpu-0")],
                after="deletion",
                within_s=90,
            ),
            id="the same devices in other slices",
        ),
    ],
)
def test_good_slices_are_let_pass(judgement: Judgement) -> None:
    assert said(judgement) is None


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        *(
            pytest.param(
                lambda found=found: slices.devices_must_be_published(
                    found, driver=DRIVER, within_s=30
                ),
                Said(
                    "ResourceSlices with spec.driver=gpu.example.com",
                    got,
                    "a slice with at least one device within 30 s of the start",
                ),
                id=f"published-{got}",
            )
            for found, got in (([], "no slice"), ([body(), body()], "2 slices without devices"))
        ),
        *(
            pytest.param(
                lambda spec=spec: slices.nodes_must_be_chosen_once(
                    [body(allNodes=True), body(**spec)]
                ),
                Said("ResourceSlice s1 of pool 'pool-a'", got, ONE_WAY),
                id=f"nodes-{label}",
            )
            for label, spec, got in (
                ("none", {}, []),
                ("empty", {"nodeName": ""}, []),
                ("two", {"allNodes": True, "nodeName": "a"}, ["nodeName", "allNodes"]),
                ("two-one-false", {"allNodes": False, "nodeName": "a"}, ["nodeName", "allNodes"]),
            )
        ),
        *(
            pytest.param(
                lambda field=field: slices.nodes_must_be_chosen_once(
                    [body() | {"spec": body()["spec"] | {field: False}}]
                ),
                Said(f"spec.{field} of ResourceSlice s1 of pool 'pool-a'", False, "true or unset"),
                id=f"nodes-{field}-false",
            )
            for field in ("allNodes", "perDeviceNodeSelection")
        ),
        *(
            pytest.param(
                lambda selector=selector: slices.nodes_must_be_chosen_once(
                    [body(nodeSelector=selector)]
                ),
                Said(
                    "spec.nodeSelector of ResourceSlice s1 of pool 'pool-a'",
                    got,
                    "exactly one term",
                ),
                id=f"nodes-selector-{got}",
            )
            for selector, got in SELECTORS
        ),
        pytest.param(
            lambda: slices.node_names_must_be([body(nodeName="host")], node="node-a"),
            Said(
                "spec.nodeName of ResourceSlice s1 of pool 'pool-a'",
                "host",
                "'node-a', the node name that the driver was started with",
            ),
            id="node-name",
        ),
        pytest.param(
            lambda: slices.counts_must_be_true(pools(body(count=2), body(count=3))),
            Said(
                "pool 'pool-a' of gpu.example.com, generation 2",
                "2 slices that state resourceSliceCount [2, 3]",
                "resourceSliceCount 2 in each of the 2 slices",
            ),
            id="counts",
        ),
        pytest.param(
            lambda: slices.device_names_must_be_unique(
                pools(body("gpu-0"), body("gpu-1", "gpu-0", name="s2"))
            ),
            Said(
                "device 'gpu-0' in pool 'pool-a' of gpu.example.com",
                "in slices s1 and s2",
                "a name that is unique in the pool",
            ),
            id="double-device",
        ),
        pytest.param(
            lambda: slices.names_must_be_well_formed([body("gpu-0", "GPU_0")]),
            Said("a device of ResourceSlice s1 of pool 'pool-a'", "GPU_0", LABEL_RULE),
            id="device-name",
        ),
        pytest.param(
            lambda: slices.names_must_be_well_formed([body(pool="a//b")]),
            Said(
                "spec.pool.name of ResourceSlice s1 of pool 'a//b'",
                "a//b",
                "part '': must be a DNS-1123 subdomain: lower case letters, digits, '-' or '.', "
                "every part starting and ending with a letter or digit",
            ),
            id="pool-name",
        ),
        pytest.param(
            lambda: slices.inventory_must_be_back(
                [body("gpu-0")],
                before=[body("gpu-0", "gpu-2"), body("gpu-1")],
                after="a delete collection",
                within_s=90,
            ),
            Said(
                "ResourceSlices after a delete collection",
                "2 devices missing, such as ('pool-a', 'gpu-1')",
                "the same devices again within 90 s, without help",
            ),
            id="inventory",
        ),
    ],
)
def test_bad_slices_are_told_with_place_value_and_wish(
    judgement: Judgement, expected: Said
) -> None:
    assert said(judgement) == expected
