"""One cold start of the fake driver on the bench: ``python -m tests.bench.driver_start``.

Prints a JSON object with seconds since the driver's process was started: until its registration
was confirmed, and until all its slices were there. In a process of its own, since the first start
in a process also pays for imports.
"""

from __future__ import annotations

import json
import sys

from pytest_dra.bench import Instance
from pytest_dra.options import resolve
from pytest_dra.planning import plan_of
from pytest_dra.session import Session
from pytest_dra.timeline import Entry
from pytest_dra.timeline import Mark
from pytest_dra.timeline import RegistrationCall
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until

LIMIT_S = 30.0
"""A driver that is not registered by then is not measured but reported as an error."""


def times_of(instance: Instance) -> dict[str, float]:
    """Seconds from the start of a driver until it was registered and until it had published.

    Raises:
        RuntimeError: it was not, within :data:`LIMIT_S`.
    """
    if instance.plugin(within_s=LIMIT_S) is None or not instance.wait_published():
        raise RuntimeError("the fake driver did not register or did not publish")
    timeline = instance.timeline
    began = timeline.entries(Mark, since=instance.started_serial)[0].at
    until(timeline, lambda: bool(_confirmed(timeline)), Deadline.after(LIMIT_S))
    confirmed = _confirmed(timeline)[0].at
    published = instance.slice_writes()[-1].at
    return {"registered": confirmed - began, "published": published - began}


def _confirmed(timeline: Timeline) -> list[Entry[RegistrationCall]]:
    return timeline.entries(
        RegistrationCall, where=lambda call: call.method == "NotifyRegistrationStatus"
    )


def main() -> int:
    """Start, measure, stop."""
    settings = resolve(flag={"dra_driver": "fake"}.get, ini=lambda _: None, environ={})
    _, plan = plan_of(settings)
    with Session(plan) as session:
        sys.stdout.write(json.dumps(times_of(session.bench.instance)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
