"""Which devices exclude each other by their counters."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.checks import counters
from pytest_dra.checks.flaws import Flaw
from pytest_dra.spec import Json
from tests.objects.sample import DRIVER
from tests.objects.sample import resource_slice

POOL = {"name": "c", "counters": {"m": {"value": "8"}}}


def part(name: str, parent: str = "", *, of: str = "c", used: str = "4", **more: Any) -> Json:
    consumes = {"counterSet": of, "counters": {"m": {"value": used}}, **more}
    attributes = {"parent": {"string": parent}} if parent else {}
    return {"name": name, "attributes": attributes, "consumesCounters": [consumes]}


def flaws(*devices: Json, attribute: str = "parent", **other: Any) -> list[Flaw]:
    sets = [POOL, {"name": "other", "counters": {"m": {"value": "8"}}}]
    found = resource_slice(devices=list(devices), sharedCounters=sets, **other)
    return list(counters.overlaps_must_exclude({("d", "p"): [found]}, attribute=attribute))


WHOLE = part("whole", used="8")


def test_a_device_excludes_its_parts_and_parts_do_not_exclude_each_other() -> None:
    assert flaws(WHOLE, part("a", "whole"), part("b", "whole")) == []
    assert flaws(WHOLE, part("a", "whole", used="8"), part("b", "whole", used="8")) == []


def test_a_part_with_counters_of_its_own_is_told_with_its_parent() -> None:
    [flaw] = flaws(WHOLE, part("a", "whole"), part("b", "whole", of="other"))
    assert flaw.where == f"device {DRIVER}/node-a/b beside 'whole'"
    assert str(flaw.got).startswith("both can be allocated, though parent says")
    assert flaw.field == "spec.devices[2].consumesCounters"


def test_parts_of_parts_belong_to_the_whole() -> None:
    inner = part("inner", "a", of="other")
    assert len(flaws(WHOLE, part("a", "whole"), inner)) == 2


def test_the_attribute_may_be_written_with_the_drivers_domain() -> None:
    assert flaws(WHOLE, part("a", "whole"), attribute=f"{DRIVER}/parent") == []


def test_devices_that_have_nothing_in_common_do_not_exclude_each_other() -> None:
    found = flaws(part("a", "a", used="8"), part("b", "b", used="8"))
    assert [str(flaw.got).partition(",")[0] for flaw in found] == ["only one can be allocated"]
    assert flaws(part("a", "a", used="8"), part("b", used="8")) == []


@pytest.mark.parametrize("lost", [part("b", "whole", used="9"), part("b", "whole", of="none")])
def test_what_can_never_be_allocated_is_another_cases_matter(lost: Json) -> None:
    assert flaws(WHOLE, lost) == []


def test_compatibility_groups_exclude_too() -> None:
    small = part("whole", used="1", compatibilityGroups=["x"])
    assert flaws(small, part("a", "whole", used="1", compatibilityGroups=["y"])) == []
    assert flaws(small, part("a", "whole", used="1")) == []
    assert len(flaws(small, part("a", "whole", used="1", compatibilityGroups=["y", "x"]))) == 1


def test_devices_that_are_parts_of_each_other_come_to_an_end() -> None:
    assert flaws(part("a", "b", used="8"), part("b", "a", used="8")) == []
