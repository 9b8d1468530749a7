"""Thousands of slices: states that rest as text, lists that are sent in blocks."""

from __future__ import annotations

from pytest_dra.embedded import store as storage
from pytest_dra.embedded.selectors import at
from pytest_dra.embedded.shapes import MANY
from pytest_dra.embedded.store import AWAKE
from pytest_dra.embedded.store import Store
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Timeline
from tests.embedded.client import SLICES
from tests.embedded.client import Client
from tests.embedded.client import slice_

KIND = "resource.ResourceSlice"
COUNT = AWAKE + MANY + 1


def _stored(name: str, **meta: object) -> Json:
    body = slice_(name, devices=[{"name": "gpu-0", "attributes": {"a": {"string": "x\u2028é"}}}])
    fields = [{"manager": "m", "fieldsV1": {"f:spec": {}}}]
    labels = {"resourceVersion": "1"}
    return {
        "metadata": {"name": name, "uid": name, "labels": labels, "managedFields": fields, **meta},
        "spec": body["spec"],
    }


def test_a_state_that_rests_is_the_same_object_with_the_same_text() -> None:
    kept = Store()
    state = kept.put(KIND, _stored("s"))
    obj, text = state.object, state.encoded
    assert state.lean is obj
    for number in range(AWAKE):
        kept.put(KIND, _stored(f"t{number}"))
    assert state.object is not obj
    assert (state.object, state.encoded) == (obj, text)
    assert "devices" not in state.lean["spec"]
    assert state.lean["metadata"]["labels"] == {"resourceVersion": "1"}
    moved = state.at(7)
    assert moved.object["metadata"] == {**obj["metadata"], "resourceVersion": "7"}
    assert moved.object["spec"] == obj["spec"]
    assert storage.encode(moved.object) == moved.encoded


def test_other_kinds_never_rest() -> None:
    kept = Store()
    first = kept.put("core.Node", {"metadata": {"name": "n", "uid": "n"}})
    obj = first.object
    for number in range(AWAKE + 1):
        kept.put("core.Node", {"metadata": {"name": f"n{number}", "uid": f"n{number}"}})
    assert first.object is obj


def test_many_slices_are_listed_watched_changed_and_deleted_as_few_are(
    client: Client, timeline: Timeline
) -> None:
    names = [f"s{number:04}" for number in range(COUNT)]
    for name in names:
        assert client.post(SLICES, slice_(name, devices=[{"name": "gpu-0"}])).code == 201
    listed = client.get(SLICES)
    assert listed.headers["transfer-encoding"] == "chunked"
    assert [each["metadata"]["name"] for each in listed.json["items"]] == names
    assert listed.json["items"][0]["spec"]["devices"] == [{"name": "gpu-0"}]
    assert listed.json["metadata"]["resourceVersion"]
    assert timeline.entries(ApiRequest)[-1].event.answer == listed.json
    one = client.get(SLICES, fieldSelector="metadata.name=s0000").json["items"]
    assert [each["metadata"]["name"] for each in one] == ["s0000"]
    assert client.get(SLICES, fieldSelector="spec.nodeName=nobody").json["items"] == []
    table = client.send(
        "GET", SLICES, headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    )
    assert len(table.json["rows"]) == COUNT
    version = listed.json["metadata"]["resourceVersion"]
    with client.watch(SLICES, resourceVersion=version) as events:
        made = client.get(f"{SLICES}/s0000").json
        made["spec"]["devices"].append({"name": "gpu-1"})
        assert client.put(f"{SLICES}/s0000", made).json["metadata"]["generation"] == 2
        assert client.delete(f"{SLICES}/s0001").code == 200
        seen = [next(events) for _ in range(2)]
    assert [each["type"] for each in seen] == ["MODIFIED", "DELETED"]
    assert seen[1]["object"]["spec"]["devices"] == [{"name": "gpu-0"}]
    assert int(seen[1]["object"]["metadata"]["resourceVersion"]) > int(version)
    assert len(client.delete(SLICES).json["items"]) == COUNT - 1
    assert client.get(SLICES).json["items"] == []
    older = client.get(SLICES, resourceVersion=version, resourceVersionMatch="Exact").json
    assert older == listed.json


def test_a_selector_by_a_field_finds_what_came_changed_and_went(client: Client) -> None:
    def found(node: str) -> list[str]:
        items = client.get(SLICES, fieldSelector=f"spec.nodeName={node}").json["items"]
        return [each["metadata"]["name"] for each in items]

    client.post(SLICES, slice_("b"))
    assert (found("node-a"), found("node-b"), found("")) == (["b"], [], [])
    client.post(SLICES, slice_("a"))
    client.post(SLICES, slice_("c", nodeName="node-b"))
    client.post(SLICES, slice_("d", nodeName=None, allNodes=True))
    assert (found("node-a"), found("node-b"), found("")) == (["a", "b"], ["c"], ["d"])
    assert client.patch(f"{SLICES}/a", {"metadata": {"labels": {"x": "y"}}}).code == 200
    client.delete(f"{SLICES}/b")
    client.delete(f"{SLICES}/c")
    assert (found("node-a"), found("node-b"), found("")) == (["a"], [], ["d"])
    both = client.get(SLICES, fieldSelector="spec.nodeName=node-a,spec.driver!=gpu.example.com")
    assert both.json["items"] == []


def test_an_index_follows_a_field_that_changes() -> None:
    kept, read = Store(), at("spec.nodeName")
    for node in ("one", "two", "two"):
        kept.put("core.Pod", {"metadata": {"name": "p", "uid": "p"}, "spec": {"nodeName": node}})
        assert dict(kept.bucket("core.Pod").index(read)) == {node: {("", "p")}}
    kept.remove("core.Pod", ("", "p"))
    assert not kept.bucket("core.Pod").index(read)
    kept.put("core.Pod", {"metadata": {"name": "q", "uid": "q"}, "spec": {}})
    assert dict(kept.bucket("core.Pod").index(read)) == {"": {("", "q")}}
    kept.clear()
    assert not kept.bucket("core.Pod").index(read)
