"""The time line of a recording: what goes by, and what the API server shows meanwhile."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from typing import Final
from urllib.parse import quote

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json

WATCHED: Final = (
    resources.PODS,
    resources.EVENTS,
    resources.RESOURCE_CLAIMS,
    resources.RESOURCE_SLICES,
)

WATCH_S: Final = 600
THREAD_S: Final = 5.0
PAUSE_S: Final = 0.5

ORDINARY: Final = frozenset({"Scheduled", "Pulled", "Created", "Started", "Killing"})
"""Events that say nothing of claims."""

LABEL: Final = "a"
"""What the only plugin is called."""

_UID: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_CONTAINER: Final = re.compile(r"\b[0-9a-f]{64}\b")

MOMENT_DIGITS: Final = 2


class Notes:
    """Takes down what happens to the pods of one namespace and to one driver, from many threads."""

    def __init__(self, *, namespace: str, node: str, driver: str) -> None:
        self.entries: list[Json] = []
        self._namespace = namespace
        self._node = node
        self._driver = driver
        self._start = time.monotonic()
        self._changed = threading.Condition()
        self._last: dict[tuple[str, str], Json] = {}
        self._uids: dict[str, str] = {}

    def add(self, **entry: Any) -> None:
        """Take one entry down; those of sockets are the plugin's."""
        if "sock" in entry:
            entry = {"plugin": LABEL, **entry}
        with self._changed:
            self.entries.append({"t": time.monotonic() - self._start, **entry})
            self._changed.notify_all()

    def wait(self, test: Callable[[Json], object], *, number: int = 1, within_s: float) -> None:
        """Wait until so many entries fulfil a test. Raises TimeoutError."""
        end = time.monotonic() + within_s
        with self._changed:
            while sum(bool(test(entry)) for entry in self.entries) < number:
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"not within {within_s:g} s; last: {self.entries[-3:]}")
                self._changed.wait(left)

    def seen(self, resource: Resource, event: str, item: Json) -> None:
        """Take down how an object has changed, where it shows something new."""
        metadata = item["metadata"]
        if resource is resources.RESOURCE_SLICES:
            if item["spec"]["driver"] == self._driver and event != "MODIFIED":
                self.add(slice=event.lower(), driver=self._driver)
            return
        if metadata.get("namespace") != self._namespace:
            return
        self._uids[metadata["uid"]] = f"uid-of-{metadata['name']}"
        if resource is resources.EVENTS:
            self._event(event, item)
            return
        entry = _pod(item) if resource is resources.PODS else _claim(item, self._driver)
        if metadata.get("deletionTimestamp"):
            entry["terminating"] = True
        if event == "DELETED":
            entry["gone"] = True
        key = (resource.plural, metadata["name"])
        if self._last.get(key) != entry:
            self._last[key] = entry
            self.add(**entry)

    def _event(self, event: str, item: Json) -> None:
        if item.get("reason") in ORDINARY or event == "DELETED":
            return
        source = (item.get("source") or {}).get("component") or item.get("reportingComponent")
        count = item.get("count") or (item.get("series") or {}).get("count")
        self.add(
            event=item["reason"],
            of=item["involvedObject"]["name"],
            type=item["type"],
            count=count,
            message=item.get("message"),
            source=source,
        )

    def told(self, name: str) -> list[Json]:
        """The time line with names in the place of what is drawn anew each time.

        ``name``: of the scenario; the driver is called as the oracle would call it.
        """
        driver = f"{LABEL}.{name}.ko.example"
        others: dict[str, str] = {}

        def cleaned(text: str) -> str:
            for uid, known in self._uids.items():
                text = text.replace(uid, known)
            for real, shown in ((self._driver, driver), (self._node, "NODE")):
                text = text.replace(quote(real, safe=""), shown).replace(real, shown)
            text = _CONTAINER.sub("CONTAINERID", text)
            return _UID.sub(lambda m: others.setdefault(m[0], f"U{len(others) + 1}"), text)

        rows = sorted(self.entries, key=lambda entry: float(entry["t"]))
        return [
            {
                key: round(value, MOMENT_DIGITS) if key == "t" else _mapped(value, cleaned)
                for key, value in row.items()
                if value is not None
            }
            for row in rows
        ]


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _mapped(each, change) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(each, change) for each in value]
    return value


def _pod(item: Json) -> Json:
    status = item.get("status") or {}
    entry: Json = {"pod": item["metadata"]["name"], "phase": status.get("phase")}
    for field in ("initContainerStatuses", "containerStatuses"):
        for each in status.get(field) or ():
            state, about = next(iter((each.get("state") or {"none": {}}).items()))
            text = state
            if state == "waiting":
                message = about.get("message")
                text += f":{about.get('reason', '')}{f' {message}' if message else ''}"
            elif state == "terminated":
                text += f":{about.get('reason')} {about.get('exitCode')}"
            if each.get("restartCount"):
                text += f" restarts={each['restartCount']}"
            entry[each["name"]] = text
            if each.get("allocatedResourcesStatus"):
                entry[f"{each['name']}.resources"] = each["allocatedResourcesStatus"]
    return entry


def _claim(item: Json, driver: str) -> Json:
    status = item.get("status") or {}
    allocation = status.get("allocation")
    results = ((allocation or {}).get("devices") or {}).get("results") or ()
    return {
        "claim": item["metadata"]["name"],
        "results": [f"{LABEL}/{each['device']}" for each in results if each["driver"] == driver]
        if allocation
        else None,
        "reserved": [each["name"] for each in status.get("reservedFor") or ()],
    }


class Watches:
    """Tells notes of all changes; a context manager."""

    def __init__(self, client: Client, notes: Notes) -> None:
        self._client = client
        self._notes = notes
        self._ends = threading.Event()
        self._running: list[Any] = []
        self._threads = [
            threading.Thread(target=self._follow, args=(each,), daemon=True) for each in WATCHED
        ]

    def __enter__(self) -> Watches:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        for watch in self._running:
            watch.stop()
        for each in self._threads:
            each.join(THREAD_S)

    def _follow(self, resource: Resource) -> None:
        while not self._ends.is_set():
            with suppress(KubeError):
                _, version = self._client.list_with_version(resource)
                watch = self._client.watch(resource, version, seconds=WATCH_S)
                self._running.append(watch)
                for event in watch:
                    self._notes.seen(resource, event["type"], event["object"])
                    if self._ends.is_set():
                        return
            self._ends.wait(PAUSE_S)
