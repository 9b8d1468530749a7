"""What a driver has sent of slices, and what of it stands, from requests alone."""

from __future__ import annotations

from pytest_dra.bench.inspecting import sent_by
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Timeline
from tests.bench_parts.requests import api_request

ME, OTHER = "me", "somebody"


def item(name: str, text: str = "") -> Json:
    return {"metadata": {"name": name}, "spec": {"text": text}}


def request(
    verb: str,
    name: str = "",
    *,
    body: Json | None = None,
    code: int = 200,
    answer: Json | None = None,
    user: str = ME,
) -> ApiRequest:
    return api_request(
        verb, name, user=user, version="v1beta2", body=body, code=code, answer=answer
    )


def seen(*events: ApiRequest) -> list[tuple[int, str, bool]]:
    """(serial, what the body says, whether it stands)."""
    timeline = Timeline()
    for event in events:
        timeline.add(event)
    found = sent_by(ME, timeline.entries(ApiRequest))
    return [(one.serial, one.given.body["spec"]["text"], one.standing) for one in found]


CREATED = request("create", body=item("", "sent"), code=201, answer=item("a", "stored"))


def test_the_last_body_of_a_slice_stands_as_it_was_sent() -> None:
    update = request("update", "a", body=item("a", "more"), answer=item("a", "stored"))
    assert seen(CREATED) == [(0, "sent", True)]
    assert seen(CREATED, update) == [(0, "sent", False), (1, "more", True)]


def test_what_is_deleted_by_anybody_does_not_stand() -> None:
    assert seen(CREATED, request("delete", "a", user=OTHER)) == [(0, "sent", False)]
    every = request("deletecollection", user=OTHER, answer={"items": [item("a"), item("b")]})
    assert seen(CREATED, every) == [(0, "sent", False)]
    assert seen(CREATED, request("delete", "a", code=404)) == [(0, "sent", True)]


def test_a_refused_body_was_sent_and_one_that_cannot_be_read_was_not() -> None:
    assert seen(request("create", body=item("", "bad"), code=422)) == [(0, "bad", False)]
    assert seen(request("create", body=item("", "bad"), code=400)) == []


def test_of_a_patch_what_the_server_made_counts() -> None:
    patch = request("patch", "a", body=item("", "part"), answer=item("a", "whole"))
    assert seen(CREATED, patch) == [(0, "sent", False), (1, "whole", True)]
    assert seen(request("patch", "a", body=item("", "part"), code=409)) == []


def test_what_others_send_is_theirs() -> None:
    edit = request("update", "a", body=item("a", "edit"), answer=item("a"), user=OTHER)
    assert seen(CREATED, edit) == [(0, "sent", True)]


def test_the_version_of_the_api_is_that_of_the_request() -> None:
    timeline = Timeline()
    timeline.add(CREATED)
    [one] = sent_by(ME, timeline.entries(ApiRequest))
    assert one.given.api_version == "resource.k8s.io/v1beta2"
    assert not one.disturbed
