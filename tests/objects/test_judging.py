"""What a review finds in captured objects."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.catalogue import catalogue
from pytest_dra.objects.findings import OWN_RULES
from pytest_dra.objects.findings import Severity
from pytest_dra.objects.judging import merged
from pytest_dra.objects.judging import review
from pytest_dra.objects.reading import Given
from pytest_dra.objects.reading import parse
from pytest_dra.objects.rules import OF_SLICES
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.spec import Json
from tests.objects.sample import DRIVER
from tests.objects.sample import claim
from tests.objects.sample import device
from tests.objects.sample import device_class
from tests.objects.sample import found
from tests.objects.sample import node
from tests.objects.sample import resource_slice
from tests.objects.sample import reviewed
from tests.objects.sample import rules
from tests.objects.sample import text_of

MINORS = ("1.34", "1.35", "1.36", "1.37")


@pytest.mark.parametrize("kubernetes", MINORS)
def test_right_objects_have_no_findings(kubernetes: str) -> None:
    objects = (
        resource_slice(),
        resource_slice("node-b-gpu", "node-b"),
        device_class(),
        claim("gpu", f'device.attributes["{DRIVER}"].model == "A1"'),
        claim(kind="ResourceClaimTemplate"),
        node("node-a", "u-1"),
    )
    assert found(*objects, kubernetes=kubernetes) == []


def spoiled(**attributes: Any) -> Json:
    return resource_slice(devices=[device("gpu-0", attributes=attributes)])


COUNTERS = {"name": "c", "counters": {"mem": {"value": "8"}}}


def partitioned(used: Any = "4", name: str = "c", counter: str = "mem") -> list[Json]:
    """A pool with a slice of counters and one of a device that consumes them."""
    consumes = [{"counterSet": name, "counters": {counter: {"value": used}}}]
    pool = {"name": "node-a", "generation": 1, "resourceSliceCount": 2}
    first = resource_slice("counters", sharedCounters=[COUNTERS], pool=pool)
    del first["spec"]["devices"]
    second = resource_slice(pool=pool, devices=[device("gpu-0", consumesCounters=consumes)])
    return [first, second]


def without_true_count() -> list[Json]:
    objects = partitioned()
    for item in objects:
        item["spec"]["pool"] = {**item["spec"]["pool"], "resourceSliceCount": 1}
    return objects


def policy(**more: Any) -> Json:
    return {"memory": {"value": "8", "requestPolicy": more}}


SPOILED: list[tuple[str, list[Json]]] = [
    ("REG-016", [resource_slice(driver="gpu")]),
    ("SLICE-002", [resource_slice(allNodes=True)]),
    ("SLICE-002", [resource_slice(nodeName="")]),
    ("SLICE-004", [resource_slice(), node("node-a", "another")]),
    ("SLICE-005", [resource_slice(pool={"name": "p", "generation": 1, "resourceSliceCount": 2})]),
    (
        "SLICE-006",
        [
            resource_slice(pool={"name": "p", "generation": 1, "resourceSliceCount": 1}),
            resource_slice(
                "other", "node-b", pool={"name": "p", "generation": 2, "resourceSliceCount": 1}
            ),
        ],
    ),
    ("SLICE-007", [resource_slice(devices=[device("gpu-0"), device("gpu-0")])]),
    ("SLICE-008", [resource_slice(devices=[device("GPU")])]),
    ("SLICE-009", [resource_slice(devices=[device(f"gpu-{n}") for n in range(129)])]),
    ("SLICE-024", [resource_slice(devices=[device("gpu-0", nodeName="node-a")])]),
    ("SLICE-027", [resource_slice(pool={"name": "p", "generation": -1, "resourceSliceCount": 1})]),
    ("ATTR-001", [spoiled(model={"string": "a", "int": 1})]),
    ("ATTR-001", [spoiled(model={})]),
    ("ATTR-002", [spoiled(**{"no-identifier": {"int": 1}})]),
    ("ATTR-003", [spoiled(**{f"a{n}": {"int": n} for n in range(40)})]),
    ("ATTR-004", [spoiled(model={"string": "x" * 65})]),
    ("ATTR-004", [spoiled(model={"version": "v1"})]),
    (
        "ATTR-005",
        [
            resource_slice(
                devices=[
                    device("a", attributes={"model": {"string": "x"}}),
                    device("b", attributes={f"{DRIVER}/model": {"int": 1}}),
                ]
            )
        ],
    ),
    ("ATTR-006", [resource_slice(devices=[device("gpu-0"), device("gpu-1", attributes={})])]),
    ("ATTR-007", [spoiled(**{"model": {"string": "x"}, f"{DRIVER}/model": {"string": "x"}})]),
    ("ATTR-008", [spoiled(**{"resource.kubernetes.io/pcieRoot": {"string": "0000:00"}})]),
    ("ATTR-008", [spoiled(**{"resource.kubernetes.io/mine": {"string": "x"}})]),
    ("ATTR-012", [resource_slice(devices=[device("a", capacity={"memory": {"value": "-1"}})])]),
    ("ATTR-012", [resource_slice(devices=[device("a", capacity={"m": {"value": "0.1n"}})])]),
    ("ATTR-014", [spoiled(**{"a.com/b/c": {"int": 1}})]),
    (
        "TAINT-001",
        [resource_slice(devices=[device("a", taints=[{"key": "k.io/a", "effect": "?"}])])],
    ),
    (
        "TAINT-002",
        [resource_slice(devices=[device("a", taints=[{"key": "a", "effect": "NoSchedule"}])])],
    ),
    ("PART-001", [{**partitioned()[0], "spec": {**partitioned()[0]["spec"], "devices": []}}]),
    ("PART-002", partitioned(name="other")),
    ("PART-002", partitioned(counter="other")),
    ("PART-003", [partitioned()[0], resource_slice(devices=[device("a", consumesCounters=[{}])])]),
    ("PART-004", partitioned("9")),
    ("PART-006", without_true_count()),
    (
        "CAP-001",
        [
            resource_slice(
                devices=[
                    device(
                        "a",
                        allowMultipleAllocations=True,
                        capacity=policy(default="9", validValues=["1", "2"]),
                    )
                ]
            )
        ],
    ),
    ("BIND-001", [resource_slice(devices=[device("a", bindingConditions=["a.com/b"])])]),
    ("ATTR-009", [resource_slice(), device_class("any", "true")]),
    ("ATTR-013", [device_class("bad", "device.nope")]),
    ("ATTR-013", [claim("gpu", "1 +", kind="ResourceClaimTemplate")]),
    ("refused", [claim("")]),
    ("SLICE-027", [resource_slice(devices="no list")]),
    ("SLICE-027", [{**resource_slice(), "metadata": 3}]),
    ("unknown-field", [resource_slice(device=[])]),
    ("not-served", [{**resource_slice(), "apiVersion": "resource.k8s.io/v9"}]),
    ("not-served", [{**device_class(), "apiVersion": "resource.k8s.io/v1beta2"}]),
    ("class-missing", [device_class(), claim("other")]),
    ("selector-fails", [resource_slice(), device_class("x", 'device.attributes["a.com"].b')]),
    (
        "selector-fails",
        [
            resource_slice(),
            device_class(),
            claim("gpu", f'device.attributes["{DRIVER}"].nope == "x"'),
        ],
    ),
    ("nothing-matches", [resource_slice(), device_class("x", 'device.driver == "other"')]),
    (
        "nothing-matches",
        [resource_slice(), device_class(), claim("gpu", f'device.driver == "{DRIVER}x"')],
    ),
]


@pytest.mark.parametrize(("rule", "objects"), SPOILED, ids=[rule for rule, _ in SPOILED])
def test_one_defect_breaks_its_rule(rule: str, objects: list[Json]) -> None:
    assert rule in rules(*objects)


def test_most_defects_break_one_rule_only() -> None:
    alone = [rule for rule, objects in SPOILED if rules(*objects) == {rule}]
    assert len(alone) >= len(SPOILED) * 0.8, sorted({rule for rule, _ in SPOILED} - set(alone))


def test_a_finding_names_line_and_field_of_the_defect() -> None:
    objects = resource_slice(devices=[device("gpu-0"), device("GPU")])
    (one,) = found(objects)
    line = text_of(objects).decode().splitlines()[one.line - 1]
    assert line.strip() == "- name: GPU"
    assert (one.file, one.field) == ("f.yaml", "spec.devices[1].name")
    assert one.severity is Severity.ERROR
    assert one.object == "ResourceSlice node-a-gpu"


def test_gated_fields_are_dropped_in_older_versions_and_judged_in_newer_ones() -> None:
    objects = resource_slice(
        devices=[device("a", taints=[{"key": f"{DRIVER}/bad", "effect": "?"}])]
    )
    assert rules(objects, kubernetes="1.34") == {"dropped"}
    assert rules(objects, kubernetes="1.37") == {"TAINT-001"}


def test_v1beta1_is_judged_in_its_own_words() -> None:
    objects = resource_slice()
    objects["apiVersion"] = "resource.k8s.io/v1beta1"
    objects["spec"]["devices"] = [
        {"name": "a", "basic": {"attributes": {"model": {"string": "x" * 65}}}}
    ]
    served, refused = sorted(found(objects), key=lambda one: one.line)
    assert served.rule == "not-served"
    assert refused.field == "spec.devices[0].basic.attributes[model].string"
    assert "xxxx" in text_of(objects).decode().splitlines()[refused.line - 1]


def test_findings_of_several_versions_are_told_once() -> None:
    given_ = parse(text_of(resource_slice(devices=[device("GPU")])), "f")
    (one,) = merged(review(given_, kubernetes_version(name)) for name in MINORS)
    assert one.versions == MINORS


def test_cases_say_why_they_do_not_apply_or_were_not_judged() -> None:
    done = reviewed(resource_slice())
    assert "slices of 1 nodes" in done.not_applicable["SLICE-006"]
    assert done.not_run["ATTR-010"] == "input missing: driver.version_attribute"
    assert done.not_applicable["ATTR-009"] == "there is no DeviceClass among the objects"
    assert {"SLICE-002", "ATTR-007"} <= done.judged
    done = reviewed(device_class())
    assert done.not_applicable["SLICE-002"] == "there is no ResourceSlice among the objects"


def test_what_the_profile_says_is_used() -> None:
    block = dataclasses.replace(DEFAULT_PROFILE.driver, version_attribute="driverVersion")
    profile = dataclasses.replace(DEFAULT_PROFILE, driver=block)
    done = reviewed(resource_slice(), profile=profile)
    assert {one.rule for one in done.findings} == {"ATTR-010"}


def test_every_rule_is_a_static_case_or_has_a_title() -> None:
    for rule in OF_SLICES:
        assert catalogue().case(rule).depth.value == "static", rule
    assert all(OWN_RULES.values())


KEYS = ("spec", "devices", "attributes", "name", "pool", "a/b/c", "int", "items", "metadata")
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 2**70, 1.5, "", "x" * 100, "\x00\x1b[31m", [], {}, [None], [[]], {"": None}]
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found_ = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found_ += _places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found_ += _places(item, (*path, index))
    return found_


ALL = [resource_slice(), *partitioned(), device_class(), claim(), node("node-a", "u")]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_junk_in_any_place_never_breaks_the_review(data: st.DataObject) -> None:
    objects = copy.deepcopy(ALL)
    for _ in range(data.draw(st.integers(1, 3))):
        item = data.draw(st.sampled_from(objects))
        *path, last = data.draw(st.sampled_from(_places(item)))
        at: Any = item
        try:
            for step in path:
                at = at[step]
            at[last] = copy.deepcopy(data.draw(JUNK))
        except (KeyError, IndexError, TypeError):
            continue
    given_ = [
        Given(file="f", line=1, api_version=str(one["apiVersion"]), kind=str(one["kind"]), body=one)
        for one in objects
    ]
    version = kubernetes_version(data.draw(st.sampled_from(MINORS)))
    for finding in review(given_, version).findings:
        assert finding.message.isprintable()


def test_a_claim_that_is_being_deleted_keeps_its_reservations() -> None:
    objects = claim()
    objects["metadata"] |= {"deletionTimestamp": "2026-11-29T00:00:00Z", "finalizers": ["a.com/b"]}
    pod = {"resource": "pods", "name": "p", "uid": "u"}
    result = {"request": "one", "driver": DRIVER, "pool": "node-a", "device": "gpu-0"}
    allocation = {"devices": {"results": [result]}}
    objects["status"] = {"allocation": allocation, "reservedFor": [pod]}
    assert found(objects) == []
    result["device"] = "GPU"
    assert [one.field for one in found(objects)] == ["status.allocation.devices.results[0].device"]


def nested(levels: int) -> Any:
    value: Any = 1
    for number in range(levels):
        value = [value] if number % 2 else {"a": value}
    return value


@pytest.mark.parametrize("place", ["parameters", "attributes", "metadata", "unknown"])
def test_values_as_deep_as_can_be_read_are_judged(place: str) -> None:
    deep = nested(180)
    objects: Json = device_class()
    if place == "parameters":
        opaque = {"driver": DRIVER, "parameters": {"a": deep}}
        objects["spec"]["config"] = [{"opaque": opaque}]
        assert rules(objects) == set()
    elif place == "attributes":
        assert rules(spoiled(model=deep)) == {"SLICE-027"}
    else:
        objects["metadata" if place == "metadata" else "else"] = deep
        assert rules(objects) & {"ATTR-013", "unknown-field"}


def test_many_names_and_many_findings_take_no_longer_than_they_are_many() -> None:
    count = 20_000
    capacity = {f"m{number}": {"value": "-1"} for number in range(count)}
    names = {f"a-{number}/]b.[c": {"int": 1} for number in range(count)}
    objects = resource_slice(devices=[device("a", capacity=capacity, attributes=names)])
    given_ = [
        Given(
            file="f", line=1, api_version=objects["apiVersion"], kind="ResourceSlice", body=objects
        )
    ]
    found_ = review(given_, kubernetes_version()).findings
    assert {"ATTR-002", "ATTR-003", "ATTR-012"} <= {one.rule for one in found_}
    assert len(found_) < 1_000
