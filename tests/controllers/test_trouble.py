"""The scheduler loop while the API server misbehaves."""

from __future__ import annotations

import functools

from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.embedded.trouble import Scope
from pytest_dra.kube import Client
from tests.controllers.sample import Running
from tests.controllers.sample import add_claim
from tests.controllers.sample import add_pod
from tests.controllers.sample import eventually
from tests.controllers.sample import node_of


def ask(client: Client, name: str) -> None:
    add_claim(client, name)
    add_pod(client, name, [name])


def placed(client: Client, name: str) -> str:
    node: str = eventually(functools.partial(node_of, client, name))
    return node


def test_watches_that_break_and_histories_that_are_gone_are_begun_anew(
    client: Client, cluster: EmbeddedCluster
) -> None:
    trouble = cluster.trouble()
    with Running(client):
        ask(client, "first")
        assert placed(client, "first")
        trouble.drop_watches()
        trouble.forget_history()
        ask(client, "second")
        assert placed(client, "second") != placed(client, "first")


def test_a_conflict_is_tried_again(client: Client, cluster: EmbeddedCluster) -> None:
    ask(client, "first")
    scope = Scope(resource="resourceclaims", verbs=("patch",))
    with cluster.trouble().refuse(scope, 409, times=2) as caused:
        with Running(client):
            assert placed(client, "first")
    assert caused.requests == 2


def test_an_answer_that_was_lost_does_not_cost_a_second_device(
    client: Client, cluster: EmbeddedCluster
) -> None:
    ask(client, "first")
    scope = Scope(resource="resourceclaims", verbs=("patch",))
    with cluster.trouble().lose_answers(scope, times=1):
        with Running(client):
            assert placed(client, "first")
    (made,) = client.list(RESOURCE_CLAIMS)
    assert len(made["status"]["allocation"]["devices"]["results"]) == 1


def test_a_server_that_is_away_for_a_moment_is_waited_for(
    client: Client, cluster: EmbeddedCluster
) -> None:
    with Running(client):
        ask(client, "first")
        assert placed(client, "first")
        with cluster.trouble().unreachable():
            pass
        ask(client, "second")
        assert placed(client, "second")
