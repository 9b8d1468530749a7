"""Normal form of a transcript: what differs from run to run is replaced by what it stands for.

An object's uid becomes ``U1``, its version its rank ``R1``, the version of a list or bookmark the
newest object version that it covers (``R1+``), a time ``T`` or ``TM``, an age ``AGE``, a generated
suffix ``S1``, a continue token ``C``. Causes are sorted, warnings counted, and ``managedFields``
are kept only where a script asks for them, without their times.
"""

from __future__ import annotations

import json
import re
from typing import Any
from typing import Final

from pytest_dra.spec import Json
from tests.upstream.apiserver_script import edit
from tests.upstream.apiserver_script import look

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_GIVEN_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
AGE: Final = re.compile(r"(\d+[smhd])+")
"""The age of an object in a table."""

_WARNING: Final = re.compile(r"(?:^|, )299 ")
_SUFFIX: Final = 5
_COLUMN: Final = ("name", "type", "format", "priority")
_FAILURE_CODE: Final = 400


class Normalizer:
    """Brings the records of one run into normal form.

    Args:
        script: what was played; times and uids that it contains are no product of the run.
        namespace: the namespace of this run and the one of the recordings.
    """

    def __init__(self, script: Json, namespace: tuple[str, str]) -> None:
        text = json.dumps(script, default=str)
        self._given = frozenset(_GIVEN_TIME.findall(text)) | frozenset(_UID.findall(text))
        self._kept = frozenset(script.get("keep") or [])
        self._namespace = namespace
        self._uids: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._versions: list[int] = []

    def normalized(self, records: list[Json]) -> list[Json]:
        """The records in normal form, in their order."""
        found: set[int] = set()
        for record in records:
            if "_flaky" not in record:
                # what a dry run shows is gone again: only its generated names are counted
                dry = "dryRun" in record.get("req", {}).get("query", {})
                self._survey(record, found, names_only=dry)
        self._versions = sorted(found)
        return [self._record(record) for record in records]

    def _survey(self, value: Any, versions: set[int], *, names_only: bool) -> None:
        if isinstance(value, str):
            if not names_only:
                for uid in _UID.findall(value):
                    if uid not in self._given:
                        self._uids.setdefault(uid, f"U{len(self._uids) + 1}")
            return
        if isinstance(value, dict):
            meta = value.get("metadata")
            if isinstance(meta, dict):
                self._survey_name(meta)
                version = meta.get("resourceVersion")
                owned = meta.get("uid") or meta.get("creationTimestamp")
                if not names_only and owned and version and version.isdigit():
                    versions.add(int(version))
        parts = value.values() if isinstance(value, dict) else value
        if isinstance(value, (dict, list)):
            for part in parts:
                self._survey(part, versions, names_only=names_only)

    def _survey_name(self, meta: Json) -> None:
        base, name = meta.get("generateName"), meta.get("name")
        if base and name and len(name) > _SUFFIX and base.startswith(name[:-_SUFFIX]):
            self._names.setdefault(name, f"{name[:-_SUFFIX]}S{len(self._names) + 1}")

    def _record(self, record: Json) -> Json:
        notes = {key: part for key, part in record.items() if key.startswith("_")}
        out = {key: part for key, part in record.items() if not key.startswith("_")}
        if "warnings" in out:
            out["warnings"] = len(_WARNING.findall(out["warnings"]))
        kept = self._kept | set(notes.get("_keep") or [])
        for place in ("body", "events"):
            if place not in out:
                continue
            for path in notes.get("_hide", []):
                if look(out[place], path) is not None:
                    edit(out[place], path, "*")
            if "_pick" in notes and place == "body" and out["code"] < _FAILURE_CODE:
                out["body"] = {path: look(out["body"], path) for path in notes["_pick"]}
            out[place] = self._value(out[place], kept)
        if "_flaky" in notes:
            out["flaky"] = True
        return out

    def _value(self, value: Any, kept: frozenset[str]) -> Any:
        if isinstance(value, dict):
            return self._object(value, kept)
        if isinstance(value, list):
            return [self._value(part, kept) for part in value]
        if isinstance(value, str):
            return self._text(value)
        return value

    def _text(self, text: str) -> str:
        match = _TIME.fullmatch(text)
        if match and text not in self._given:
            return "TM" if match[1] else "T"
        if self._namespace[0]:
            text = text.replace(*self._namespace)
        text = _UID.sub(lambda found: self._uid(found[0]), text)
        for name, short in self._names.items():
            text = text.replace(name, short)
        return text

    def _uid(self, uid: str) -> str:
        return uid if uid in self._given else self._uids.get(uid, "U?")

    def _version(self, text: str, *, of_object: bool) -> str:
        if not text.isdigit() or text == "0":
            return text
        version = int(text)
        if of_object and not self._versions:
            return "R?"
        covered = sum(1 for known in self._versions if known <= version)
        if of_object and version in self._versions:
            return f"R{covered}"
        return f"R{covered}+"

    def _object(self, value: Json, kept: frozenset[str]) -> Json:
        out: Json = {}
        for key, part in value.items():
            last = key.rsplit(".", 1)[-1]
            if key == "managedFields" and key not in kept:
                continue
            if last == "resourceVersion" and isinstance(part, str):
                owned = "uid" in value or "creationTimestamp" in value or key != last
                out[key] = self._version(part, of_object=owned)
            elif key == "cells":
                out[key] = [
                    "AGE" if isinstance(cell, str) and AGE.fullmatch(cell) else cell
                    for cell in part
                ]
            elif last == "continue" and part:
                out[key] = "C"
            elif key == "causes" and isinstance(part, list):
                causes = [self._value(cause, kept) for cause in part]
                out[key] = sorted(causes, key=lambda cause: json.dumps(cause, sort_keys=True))
            else:
                out[key] = self._value(_thinned(key, last, part), kept)
        return out


def _thinned(key: str, last: str, part: Any) -> Any:
    if last == "managedFields" and part:
        return [{name: item for name, item in one.items() if name != "time"} for one in part]
    if key == "columnDefinitions" and part:
        return [{name: item for name, item in one.items() if name in _COLUMN} for one in part]
    return part
