"""A hook of the profile that shows something else each time is not the driver's fault."""

from __future__ import annotations

from tests.drivers.judging import judge

CASES = {"CONF-002", "CONF-005", "CONF-006", "PRIO-003"}
"""The cases that compare what the hook prints."""

CONFIG = {"apiVersion": "fake.dra.example/v1", "kind": "DeviceConfig"}
NEW_EACH_TIME = "/proc/sys/kernel/random/uuid"


def test_a_hook_that_prints_something_else_each_time_leaves_its_cases_unjudged() -> None:
    judged = judge(
        "fake",
        cases=",".join(CASES),
        profile={
            "driver": {"name": "fake.dra.example"},
            "samples": {"good_config": [{**CONFIG, "label": each} for each in ("a", "b", "c")]},
            "hooks": {"observe": ["cat", NEW_EACH_TIME]},
            "features": {"OpaqueConfig": {"supported": True}},
        },
    )
    assert judged.ids("failed", "errored") == set()
    unjudged = judged.ids("unsupported-environment")
    assert unjudged >= {"CONF-002", "CONF-005", "CONF-006"}
    assert all("for the same setting of two claims" in judged.reason(id) for id in unjudged)
    assert judged.ids("passed") == set()
    assert judged.left == ()
