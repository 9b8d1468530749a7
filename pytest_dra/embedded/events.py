"""Events: one store, two API groups. Stored as core events, shown to events.k8s.io in its form."""

from __future__ import annotations

from typing import ClassVar
from typing import Final

from pytest_dra.api import names
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.spec import Json

_PAIRS: Final = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
)
"""Names in core/v1 and in events.k8s.io/v1; all others are the same in both."""

_TO_NEW: Final = dict(_PAIRS)
_TO_CORE: Final = {new: core for core, new in _PAIRS}

_TYPES: Final = ("Normal", "Warning")


def to_new(event: Json) -> Json:
    """A stored (core) event in the form of events.k8s.io."""
    out = {_TO_NEW.get(name, name): value for name, value in event.items()}
    if out.get("regarding") == {}:
        del out["regarding"]
    for name in ("reportingController", "reportingInstance"):
        if not out.get(name):
            out.pop(name, None)
    return out


def to_core(event: Json) -> Json:
    """An event of events.k8s.io in the stored form."""
    out = {_TO_CORE.get(name, name): value for name, value in event.items()}
    out.setdefault("involvedObject", {})
    out.setdefault("reportingComponent", "")
    out.setdefault("reportingInstance", "")
    return out


class CoreEvents(Strategy):
    """Events of the core group: almost anything goes."""

    create_on_update: ClassVar[bool] = True

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """The event lives in the namespace of what it is about."""
        _validate_place(obj, report)


class NewEvents(CoreEvents):
    """Events of events.k8s.io, which have to be complete."""

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Time, controller, instance, action, reason and type are needed."""
        _validate_place(obj, report)
        if not obj.get("eventTime"):
            report.required("eventTime")
        controller = obj.get("reportingComponent", "")
        if not controller:
            report.required("reportingController")
        if names.label_key_error(controller):
            report.invalid("reportingController", controller, "name part must be non-empty")
            if not controller:
                report.invalid("reportingController", controller, "must be a qualified name")
        if not obj.get("reportingInstance"):
            report.required("reportingInstance")
        if not obj.get("action"):
            report.required("action")
        if not obj.get("reason"):
            report.required("reason")
        if obj.get("type") not in _TYPES:
            report.invalid("type", obj.get("type", ""), "has invalid value")

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """Once stored, an event is checked no more than a core event."""
        _validate_place(new, report)


def _validate_place(obj: Json, report: Report) -> None:
    about = obj["involvedObject"].get("namespace", "")
    place = obj["metadata"].get("namespace", "")
    if (about and about != place) or (not about and place not in ("", "default")):
        report.invalid("involvedObject.namespace", about, "does not match event.namespace")
