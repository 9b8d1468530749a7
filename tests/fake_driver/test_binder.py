"""How the fake driver follows claims: pages, bookmarks, and answers that make no sense."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import cast

import pytest

from pytest_dra.fake_driver import binder
from pytest_dra.fake_driver.apiserver import PAGE
from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.apiserver import list_all
from pytest_dra.fake_driver.binder import CLAIMS
from pytest_dra.fake_driver.binder import Binder

WAIT_S = 10.0


class Pages:
    """An API server that answers lists with these pages, one after the other, and then waits."""

    def __init__(self, *pages: Any, events: tuple[dict[str, Any], ...] = ()) -> None:
        self.pages = list(pages)
        self.events = events
        self.asked: list[Mapping[str, str]] = []
        self.watched: list[Mapping[str, str]] = []
        self.done = threading.Event()

    def request(self, _method: str, _path: str, *, query: Mapping[str, str], **_: Any) -> Any:
        self.asked.append(dict(query))
        return self.pages.pop(0)

    def watch(self, _path: str, query: Mapping[str, str], **_: Any) -> Iterator[dict[str, Any]]:
        self.watched.append(query)
        yield from self.events
        self.done.set()


def page(*names: str, token: str = "") -> dict[str, Any]:
    items = [{"metadata": {"name": name}} for name in names]
    return {"items": items, "metadata": {"resourceVersion": "7", "continue": token}}


def test_a_list_is_read_page_by_page() -> None:
    api = Pages(page("a", "b", token="more"), page("c"))
    found, version = list_all(cast("ApiServer", api), CLAIMS)
    assert ([each["metadata"]["name"] for each in found], version) == (["a", "b", "c"], "7")
    assert api.asked == [{"limit": PAGE}, {"limit": PAGE, "continue": "more"}]


def test_an_answer_that_makes_no_sense_is_asked_again_and_bookmarks_are_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(binder, "PAUSE_S", 0.01)
    events = (
        {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}},
        {"type": "MODIFIED", "object": {"metadata": {"name": "b"}}},
        {"type": "DELETED", "object": {"metadata": {"name": "c"}}},
    )
    api = Pages({"items": 5}, {"items": [], "metadata": "x"}, page("a"), events=events)
    seen: list[str] = []

    class Looks(Binder):
        def look(self, claim: dict[str, Any]) -> None:
            seen.append(claim["metadata"]["name"])

        def follow(self) -> None:
            super().follow()
            self.stopping.set()

    made = Looks(cast("Any", None), cast("ApiServer", api), cast("Any", None))
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    assert api.done.wait(WAIT_S)
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert seen == ["a", "b"]
    assert api.watched == [{"resourceVersion": "7", "allowWatchBookmarks": "true"}]
