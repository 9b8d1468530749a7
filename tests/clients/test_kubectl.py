"""kubectl on the embedded server: exit codes and texts, and the same as on a real server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.clusters.apiserver import ApiServerCluster
from pytest_dra.clusters.embedded import EmbeddedCluster
from tests.clients.conftest import AnyCluster
from tests.clients.kubectl import Answer
from tests.clients.kubectl import Kubectl
from tests.clients.kubectl import comparable
from tests.clients.kubectl import find
from tests.clients.kubectl import load

Played = list[tuple[dict[str, Any], Answer]]

FILES, STEPS = load()


@contextmanager
def kubectl(cluster: AnyCluster) -> Iterator[Kubectl]:
    program = find()
    if program is None:
        pytest.skip("kubectl is neither in KUBEBUILDER_ASSETS nor on PATH")
    with tempfile.TemporaryDirectory(prefix="dra-", dir="/tmp") as directory:
        made = Kubectl(program, cluster.admin_kubeconfig(), Path(directory))
        made.write(FILES)
        try:
            yield made
        finally:
            made.close()


@pytest.fixture(scope="module")
def ours(embedded: EmbeddedCluster) -> Played:
    with kubectl(embedded) as run:
        return list(run.play(STEPS))


def test_every_command_ends_as_it_should(ours: Played) -> None:
    wrong = [
        f"{step['name']}: exit code {answer.code}, want {step.get('code', 0)}: {answer.said[:300]}"
        for step, answer in ours
        if answer.code != step.get("code", 0)
    ]
    assert not wrong, "\n".join(wrong)


def test_every_command_says_what_it_should(ours: Played) -> None:
    wrong = [
        f"{step['name']}: no {text!r} in {answer.said[:300]}"
        for step, answer in ours
        for text in step.get("has", ())
        if text not in answer.said
    ]
    assert not wrong, "\n".join(wrong)


def test_no_command_had_to_do_with_an_internal_error(ours: Played) -> None:
    wrong = [f"{step['name']}: {answer.said}" for step, answer in ours if "Internal" in answer.said]
    assert not wrong, "\n".join(wrong)


def test_a_real_server_lets_kubectl_say_the_same(ours: Played, real: ApiServerCluster) -> None:
    shared = [step for step in STEPS if not step.get("alone")]
    with kubectl(real) as run:
        theirs = {step["name"]: answer for step, answer in run.play(shared)}
    wrong = []
    for step, answer in ours:
        wanted = theirs.get(step["name"], answer)
        if answer.code != wanted.code:
            wrong.append(f"{step['name']}: exit code {answer.code}, there {wanted.code}")
        elif step.get("compare", True):
            got, want = comparable(step, answer), comparable(step, wanted)
            if got != want:
                wrong.append("\n".join([f"{step['name']}:", *got, "--- there:", *want]))
    assert not wrong, "\n".join(wrong)
