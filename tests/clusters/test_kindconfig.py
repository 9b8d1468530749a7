"""The configuration of a kind cluster is the user's, with what the run needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_dra.clusters.kindconfig import API_VERSION
from pytest_dra.clusters.kindconfig import FILE_MAX
from pytest_dra.clusters.kindconfig import merged
from pytest_dra.clusters.kindconfig import read_config
from pytest_dra.clusters.kindconfig import written
from pytest_dra.clusters.protocol import ClusterError

HEAD = f"kind: Cluster\napiVersion: {API_VERSION}\n"

CONTROL, WORKER = {"role": "control-plane"}, {"role": "worker"}


def merge(given: dict[str, Any], nodes: int | None = None, **gates: bool) -> dict[str, Any]:
    return merged(given, nodes=nodes, feature_gates=gates, runtime_config={})


def test_without_one_of_the_user_there_is_one_node() -> None:
    assert merge({}) == {
        "kind": "Cluster",
        "apiVersion": API_VERSION,
        "nodes": [CONTROL],
        "featureGates": {},
        "runtimeConfig": {},
    }


@pytest.mark.parametrize(
    ("listed", "number", "nodes"),
    [
        ([], 3, [CONTROL, WORKER, WORKER]),
        ([{**CONTROL, "image": "x"}], None, [{**CONTROL, "image": "x"}]),
        ([{**CONTROL, "image": "x"}], 2, [{**CONTROL, "image": "x"}, WORKER]),
        ([CONTROL, WORKER, WORKER], None, [CONTROL, WORKER, WORKER]),
        ([CONTROL, WORKER, WORKER], 1, [CONTROL]),
    ],
)
def test_nodes_of_the_user_stay_and_others_are_added(
    listed: list[Any], number: int | None, nodes: list[Any]
) -> None:
    assert merge({"nodes": listed}, number)["nodes"] == nodes


def test_gates_are_added_and_the_users_own_object_stays_as_it_was() -> None:
    given = {"featureGates": {"A": True}, "networking": {"disableDefaultCNI": True}}
    found = merge(given, B=False)
    assert found["featureGates"] == {"A": True, "B": False}
    assert found["networking"] == {"disableDefaultCNI": True}
    assert given == {"featureGates": {"A": True}, "networking": {"disableDefaultCNI": True}}


def test_served_versions_are_added_to_those_of_the_user() -> None:
    given = {"runtimeConfig": {"a/v1": "true"}}
    wanted = {"b/v1": "true"}
    found = merged(given, nodes=None, feature_gates={}, runtime_config=wanted)
    assert found["runtimeConfig"] == {"a/v1": "true", "b/v1": "true"}


def test_a_gate_that_is_wanted_in_two_ways_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"featureGates\.A is True, and the run wants False"):
        merge({"featureGates": {"A": True}}, A=False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "no YAML: "),
        ("- a", "want an object of kind Cluster"),
        ("kind: Cluster", "got apiVersion None, want 'kind.x-k8s.io/v1alpha4'"),
        ("#" * (FILE_MAX + 1), "longer than 1048576 bytes"),
        (f"{HEAD}nodes: 3", "got nodes: 3, want a list of nodes"),
        (f"{HEAD}nodes: [worker]", "nodes: want objects, as {role: worker}"),
        (f"{HEAD}featureGates: [A]", "got featureGates: ['A'], want gates with true or false"),
        (f"{HEAD}runtimeConfig: x", "got runtimeConfig: x, want API versions"),
    ],
)
def test_a_file_that_is_none_is_told_in_one_line(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "kind.yaml"
    file.write_text(text)
    with pytest.raises(ClusterError) as caught:
        read_config(file)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"kind\.yaml: No such file or directory$"):
        read_config(tmp_path / "kind.yaml")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    config = merge({}, 2, A=True)
    assert read_config(written(config, tmp_path / "kind.yaml")) == config
    assert yaml.safe_load((tmp_path / "kind.yaml").read_text()) == config
