"""A context is found as kubectl finds it, and copied alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml

from pytest_dra.clusters.contexts import chosen
from pytest_dra.clusters.contexts import files_of
from pytest_dra.clusters.contexts import found
from pytest_dra.clusters.contexts import server_of
from pytest_dra.clusters.contexts import token_file_of
from pytest_dra.clusters.contexts import written
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.spec import Json


def config(*names: str, current: str = "") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "clusters": [
            {"name": each, "cluster": {"server": f"https://{each}", "certificate-authority": "ca"}}
            for each in names
        ],
        "users": [{"name": each, "user": {"client-key": "/keys/k"}} for each in names],
        "contexts": [{"name": each, "context": {"cluster": each, "user": each}} for each in names],
    }


def put(folder: Path, name: str, content: object) -> Path:
    file = folder / name
    file.write_text(yaml.safe_dump(content), "utf-8")
    return file


def test_the_current_context_is_that_of_the_first_file_that_has_one(tmp_path: Path) -> None:
    files = [
        tmp_path / "missing",
        put(tmp_path, "one", config("a")),
        put(tmp_path, "two", config("a", "b", current="b")),
    ]
    name, found = chosen(files)
    assert name == "b"
    assert server_of(found) == "https://b"
    assert [each["name"] for each in found["contexts"]] == ["b"]


def test_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    _, found = chosen([put(tmp_path, "one", config("a", current="a"))], "a")
    assert found["clusters"][0]["cluster"]["certificate-authority"] == str(tmp_path / "ca")
    assert found["users"][0]["user"]["client-key"] == "/keys/k"


def test_a_plugin_with_a_path_is_relative_too_and_one_of_path_is_not(tmp_path: Path) -> None:
    given = config("a", "b")
    given["users"] = [
        {"name": "a", "user": {"exec": {"command": "./login"}}},
        {"name": "b", "user": {"exec": {"command": "login"}}},
    ]
    file = put(tmp_path, "one", given)
    commands = [chosen([file], name)[1]["users"][0]["user"]["exec"]["command"] for name in "ab"]
    assert commands == [str(tmp_path / "login"), "login"]


def test_the_copy_is_for_its_owner_alone(tmp_path: Path) -> None:
    _, found = chosen([put(tmp_path, "one", config("a", current="a"))])
    file = written(found, tmp_path / "copy")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert yaml.safe_load(file.read_text()) == found


@pytest.mark.parametrize(
    ("content", "context", "told"),
    [
        (config("a", "b"), "c", "no context 'c' in {file}; it has a, b"),
        (config("a"), "", "{file}: no current context; name one: kubeconfig:CONTEXT"),
        ({**config("a"), "users": []}, "a", "{file}: no user 'a', which the context names"),
        ("text", "a", "kubeconfig {file}: not of the form of one"),
        (None, "a", "no kubeconfig at {file}: set KUBECONFIG"),
    ],
)
def test_what_cannot_be_used_is_told(
    content: object, context: str, told: str, tmp_path: Path
) -> None:
    file = put(tmp_path, "one", content)
    with pytest.raises(ClusterError) as caught:
        chosen([file], context)
    assert str(caught.value).startswith(told.format(file=file))


def test_the_files_are_those_of_kubectl() -> None:
    assert files_of({"KUBECONFIG": "/a::/b"}) == [Path("/a"), Path("/b")]
    assert files_of({}) == [Path("~/.kube/config").expanduser()]


def in_pod(folder: Path, *, host: str = "10.96.0.1") -> tuple[dict[str, str], Path]:
    """The environment of a pod, and what its ServiceAccount has mounted."""
    account = folder / "account"
    account.mkdir()
    (account / "token").write_text("t", "ascii")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    return {**environ, "KUBECONFIG": str(folder / "missing")}, account


@pytest.mark.parametrize(
    ("host", "server"),
    [("10.96.0.1", "https://10.96.0.1:443"), ("fd00::1", "https://[fd00::1]:443")],
)
def test_without_a_kubeconfig_a_pod_is_its_account(host: str, server: str, tmp_path: Path) -> None:
    environ, account = in_pod(tmp_path, host=host)
    name, config_ = found(environ, account=account)
    assert name == "in-cluster"
    assert server_of(config_) == server
    assert token_file_of(config_) == account / "token"
    assert config_["clusters"][0]["cluster"]["certificate-authority"] == str(account / "ca.crt")


def test_a_kubeconfig_wins_over_the_account_of_a_pod(tmp_path: Path) -> None:
    environ, account = in_pod(tmp_path)
    put(tmp_path, "missing", config("a", current="a"))
    name, config_ = found(environ, account=account)
    assert name == "a"
    assert token_file_of(config_) is None


def test_outside_of_pods_nothing_is_said_of_accounts(tmp_path: Path) -> None:
    environ, account = in_pod(tmp_path)
    (account / "token").unlink()
    with pytest.raises(ClusterError, match=r"^no kubeconfig at "):
        found(environ, account=account)
    environ, account = {"KUBECONFIG": str(tmp_path / "missing")}, tmp_path
    with pytest.raises(ClusterError, match=r"^no kubeconfig at "):
        found(environ, account=account)
