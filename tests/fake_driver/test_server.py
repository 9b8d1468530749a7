"""Where the fake driver finds its API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_dra.fake_driver import server
from pytest_dra.fake_driver.errors import StartError


def config(url: str, *, cluster: dict[str, Any] | None = None, **user: str) -> dict[str, Any]:
    """A kubeconfig with one context."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url, **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def written(directory: Path, content: dict[str, Any]) -> Path:
    path = directory / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> list[Path | None]:
    """The kubeconfigs that are given to the library, which is not imported."""
    asked: list[Path | None] = []

    def by_library(kubeconfig: Path | None) -> server.Server:
        asked.append(kubeconfig)
        return server.Server(url="library", pool=None, headers=dict)

    monkeypatch.setattr(server, "_by_library", by_library)
    return asked


def test_a_plain_server_on_this_machine_is_found_without_the_library(
    tmp_path: Path, library: list[Path | None]
) -> None:
    found = server.find(written(tmp_path, config("http://127.0.0.1:8080/as/t/", token="t")))
    assert library == []
    assert found.url == "http://127.0.0.1:8080/as/t"
    assert found.headers() == {"User-Agent": server.USER_AGENT, "Authorization": "Bearer t"}
    found.headers().clear()
    assert found.headers()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(config("https://127.0.0.1:6443"), id="TLS"),
        pytest.param(config("http://10.0.0.1:8080"), id="another machine"),
        pytest.param(config("http://localhost:8080"), id="name"),
        pytest.param(config("http://127.0.0.1:1", username="u", password="p"), id="password"),
        pytest.param(config("http://127.0.0.1:1", cluster={"proxy-url": "http://p"}), id="proxy"),
        pytest.param({"current-context": "none"}, id="nothing"),
        pytest.param({**config("http://127.0.0.1:1"), "current-context": "y"}, id="no context"),
        pytest.param({**config("http://127.0.0.1:1"), "users": 3}, id="no list"),
    ],
)
def test_everything_else_is_the_library_s(
    tmp_path: Path, library: list[Path | None], content: dict[str, Any]
) -> None:
    path = written(tmp_path, content)
    assert server.find(path).url == "library"
    assert library == [path]


def test_the_configuration_of_a_pod_is_the_library_s(library: list[Path | None]) -> None:
    assert server.find(None).url == "library"
    assert library == [None]


def test_what_the_library_refuses_is_told_with_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, {"current-context": "none"})
    with pytest.raises(StartError, match=f"{path} is not usable"):
        server.find(path)
