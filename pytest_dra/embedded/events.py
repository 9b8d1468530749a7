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
    """Events of the core group: with an ``eventTime`` they have to be complete."""

    create_on_update: ClassVar[bool] = True
    collected: ClassVar[bool] = False
    _controller: ClassVar[str] = "reportingComponent"

    def name_error(self, name: str) -> str:
        """Anything that fits into a path."""
        if name in (".", "..") or "/" in name or "%" in name:
            return "may not be '.' or '..', nor contain '/' or '%'"
        return ""

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """An old event lives in the namespace of what it is about, a new one says who and what."""
        about = obj["involvedObject"].get("namespace", "")
        place = obj["metadata"].get("namespace", "")
        if obj.get("eventTime"):
            if not about and place not in ("default", "kube-system"):
                report.invalid("involvedObject.namespace", about, "does not match event.namespace")
            self._validate_new(obj, report)
        elif (about and about != place) or (not about and place not in ("", "default")):
            report.invalid("involvedObject.namespace", about, "does not match event.namespace")

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """The same as for a new one, whoever wrote it."""
        CoreEvents.validate_create(self, new, ctx, report)

    def _validate_new(self, obj: Json, report: Report) -> None:
        controller = obj.get("reportingComponent", "")
        if not controller:
            report.required(self._controller)
        if names.label_key_error(controller):
            report.invalid(self._controller, controller, "name part must be non-empty")
            if not controller:
                report.invalid(self._controller, controller, "must be a qualified name")
        for name in ("reportingInstance", "action", "reason"):
            text = obj.get(name, "")
            if not text:
                report.required(name)
            if len(text.encode()) > WORD_MAX:
                report.invalid(name, "", f"can have at most {WORD_MAX} characters")
        if len(obj.get("message", "").encode()) > NOTE_MAX:
            report.invalid("message", "", f"can have at most {NOTE_MAX} characters")


class NewEvents(CoreEvents):
    """Events of events.k8s.io, which have to be complete, and of which little may change."""

    _controller: ClassVar[str] = "reportingController"

    def name_error(self, name: str) -> str:
        """As of most kinds."""
        return names.dns_subdomain_error(name)

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Time and type are needed; what only old events have is not taken."""
        super().validate_create(obj, ctx, report)
        _validate_series(obj, report)
        if not obj.get("eventTime"):
            report.required("eventTime")
        if obj.get("type") not in _TYPES:
            report.invalid("type", "", f"has invalid value: {obj.get('type', '')}")
        for name in ("firstTimestamp", "lastTimestamp", "count"):
            if obj.get(name):
                report.invalid(name, "", "needs to be unset")
        if any((obj.get("source") or {}).values()):
            report.invalid("source", "", "needs to be unset")

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """Only the series goes on."""
        super().validate_update(new, old, ctx, report)
        if new.get("series") != old.get("series"):
            _validate_series(new, report)
        for name in _FIXED:
            if (new.get(name) or None) != (old.get(name) or None):
                report.invalid(_FIXED_NAMES.get(name, name), "", "field is immutable")


WORD_MAX: Final = 128
NOTE_MAX: Final = 1024
"""Bytes of the words and of the note of an event with a time."""

_SERIES_MIN: Final = 2
_FIXED: Final = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)
_FIXED_NAMES: Final = {"reportingComponent": "reportingController"}


def _validate_series(obj: Json, report: Report) -> None:
    series = obj.get("series")
    if series is None:
        return
    if series.get("count", 0) < _SERIES_MIN:
        report.invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        report.required("series.lastObservedTime")
