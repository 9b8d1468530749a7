"""What is left over beside a driver's slices before it is started again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pytest_dra.bench.restarts import LEFT_OVER
from pytest_dra.bench.restarts import Restarts
from pytest_dra.spec import Json

NODE = "node-a"


def a_slice(pool: str, **choice: Any) -> Json:
    spec = {"pool": {"name": pool, "generation": 3}, "devices": [{"name": "gpu-0"}], **choice}
    return {"metadata": {"name": f"slice-of-{pool}"}, "spec": spec}


def left_over(*before: Json) -> Json:
    made: list[Json] = []
    admin = SimpleNamespace(create=lambda _, body: made.append(body))
    bench: Any = SimpleNamespace(cluster=SimpleNamespace(admin=lambda: admin))
    instance: Any = SimpleNamespace(node=NODE, name="a")
    assert Restarts(bench)._leave_over(instance, before) == f"{LEFT_OVER}-a"
    (body,) = made
    assert body["spec"]["devices"] == [{"name": LEFT_OVER}]
    assert body["spec"]["pool"]["generation"] == 2
    return body


def test_it_is_left_in_a_pool_of_the_node_which_nobody_else_may_have_to_clear() -> None:
    found = left_over(a_slice("fabric", allNodes=True), a_slice("own", nodeName=NODE))
    assert found["spec"]["pool"]["name"] == "own"


def test_where_the_node_has_no_pool_it_is_left_in_the_one_that_there_is() -> None:
    found = left_over(a_slice("fabric", allNodes=True))
    assert found["spec"]["pool"]["name"] == "fabric"
