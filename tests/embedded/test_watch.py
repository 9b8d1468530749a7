"""WATCH: streaming lists, bookmarks, transitions, history."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice
from typing import Any

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.embedded.kinds import registry
from pytest_dra.embedded.options import ListOptions
from pytest_dra.embedded.shapes import Plain
from pytest_dra.embedded.store import Store
from pytest_dra.embedded.watch import Watch
from pytest_dra.spec import Json
from tests.embedded.client import CLAIMS
from tests.embedded.client import SLICES
from tests.embedded.client import Client
from tests.embedded.client import claim
from tests.embedded.client import slice_

WATCH_LIST = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}


def _seen(events: Iterator[Json], count: int) -> list[tuple[str, str]]:
    return [
        (event["type"], event["object"]["metadata"].get("name", ""))
        for event in islice(events, count)
    ]


def test_a_watch_list_ends_its_beginning_with_an_annotated_bookmark(client: Client) -> None:
    client.post(SLICES, slice_("a"))
    made = client.post(SLICES, slice_("b"))
    with client.watch(SLICES, **WATCH_LIST) as events:
        assert _seen(events, 2) == [("ADDED", "a"), ("ADDED", "b")]
        bookmark = next(events)
        assert bookmark["type"] == "BOOKMARK"
        shown = bookmark["object"]
        assert (shown["kind"], shown["apiVersion"]) == ("ResourceSlice", "resource.k8s.io/v1")
        assert shown["metadata"] == {
            "annotations": {"k8s.io/initial-events-end": "true"},
            "resourceVersion": made.json["metadata"]["resourceVersion"],
        }
        assert shown["spec"]["driver"] == ""
        client.delete(f"{SLICES}/a")
        assert _seen(events, 1) == [("DELETED", "a")]


def test_an_empty_watch_list_has_only_the_bookmark(client: Client) -> None:
    with client.watch(SLICES, **WATCH_LIST) as events:
        assert next(events)["type"] == "BOOKMARK"


def test_a_watch_list_with_an_ancient_version_sends_everything(client: Client) -> None:
    client.post(SLICES, slice_("a"))
    with client.watch(SLICES, resourceVersion="1", **WATCH_LIST) as events:
        assert _seen(events, 1) == [("ADDED", "a")]
        assert next(events)["type"] == "BOOKMARK"


def test_without_the_match_a_watch_list_is_422(client: Client) -> None:
    answer = client.get(SLICES, watch="true", sendInitialEvents="true")
    assert answer.causes == {("resourceVersionMatch", "Forbidden")}


def test_a_watch_from_a_version_continues_strictly_after_it(client: Client) -> None:
    first = client.post(SLICES, slice_("a")).json["metadata"]["resourceVersion"]
    client.post(SLICES, slice_("b"))
    with client.watch(SLICES, resourceVersion=first) as events:
        assert _seen(events, 1) == [("ADDED", "b")]


def test_without_version_a_watch_begins_with_what_is_there(client: Client) -> None:
    client.post(SLICES, slice_("a"))
    with client.watch(SLICES) as events:
        assert _seen(events, 1) == [("ADDED", "a")]
        client.put(f"{SLICES}/a", slice_("a", devices=[{"name": "d"}]))
        assert _seen(events, 1) == [("MODIFIED", "a")]


def test_entering_a_selector_is_added_and_leaving_it_deleted(client: Client) -> None:
    made = client.post(CLAIMS, claim("c")).json["metadata"]["resourceVersion"]
    with client.watch(CLAIMS, labelSelector="team=red", resourceVersion=made) as events:
        client.patch(f"{CLAIMS}/c", {"metadata": {"labels": {"team": "red"}}})
        left = client.patch(f"{CLAIMS}/c", {"metadata": {"labels": {"team": "blue"}}})
        client.delete(f"{CLAIMS}/c")
        entered, gone = islice(events, 2)
    assert entered["type"] == "ADDED"
    assert gone["type"] == "DELETED"
    assert gone["object"]["metadata"]["labels"] == {"team": "red"}
    version = gone["object"]["metadata"]["resourceVersion"]
    assert version == left.json["metadata"]["resourceVersion"]


def test_a_watch_ends_cleanly_at_its_timeout(client: Client) -> None:
    with client.watch(SLICES, timeoutSeconds="1") as events:
        assert list(events) == []


def test_a_future_version_just_waits_but_a_watch_list_is_told(client: Client) -> None:
    future = str(2**60)
    with client.watch(SLICES, resourceVersion=future, timeoutSeconds="1") as events:
        client.post(SLICES, slice_("a"))
        assert list(events) == []
    with client.watch(SLICES, resourceVersion=future, **WATCH_LIST) as events:
        (only,) = events
    assert only["type"] == "ERROR"
    assert only["object"]["code"] == 504
    assert only["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


def test_table_frames_have_columns_only_once(client: Client) -> None:
    client.post(SLICES, slice_("a"))
    client.post(SLICES, slice_("b"))
    path = f"{SLICES}?watch=true&timeoutSeconds=1"
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    first, second = client.send("GET", path, headers=accept).text.splitlines()
    assert '"columnDefinitions":[' in first
    assert '"columnDefinitions":null' in second


def _object(name: str) -> Json:
    return {"metadata": {"name": name, "uid": name}, "spec": {"driver": "d"}}


async def _all(watch: Watch, count: int) -> list[Any]:
    out: list[Any] = []
    async for block in watch.frames():
        out += block.splitlines()
        if len(out) >= count:
            break
    watch.close()
    return out


def test_a_version_out_of_history_is_an_error_in_the_stream() -> None:
    store = Store(history=2)
    kind = registry(kubernetes_version())["resource.k8s.io", "v1", "resourceslices"]
    old = store.version
    for name in "abcd":
        store.put(kind.storage, _object(name))

    async def run() -> list[Any]:
        options = ListOptions(version=str(old + 1), rv=old + 1)
        return await _all(Watch(store, kind, None, options, Plain(kind)), 1)

    (line,) = asyncio.run(run())
    assert b'"type":"ERROR"' in line
    assert b'"reason":"Expired"' in line
    assert b'"code":410' in line
    assert store.as_of(kind.storage, old + 1) is None
