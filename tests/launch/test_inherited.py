"""The environment of this process, which pytest changes while drivers are started."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_dra.kube import Client
from pytest_dra.launch.inherited import inherited
from tests.clusters.started import started


class Fading(dict[str, str]):
    """An environment one of whose variables goes while it is walked through."""

    def __iter__(self) -> Iterator[str]:
        names = list(super().__iter__())
        self.pop("PYTEST_CURRENT_TEST", None)
        return iter(names)


def test_what_goes_meanwhile_is_left_out() -> None:
    assert inherited(Fading(PATH="/bin", PYTEST_CURRENT_TEST="a")) == {"PATH": "/bin"}


def test_a_client_is_made_though_the_environment_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    from kubernetes import config

    tries: list[int] = []
    real = config.new_client_from_config

    def once_broken(**arguments: Any) -> Any:
        tries.append(len(tries))
        if len(tries) == 1:
            raise KeyError("PYTEST_CURRENT_TEST")
        return real(**arguments)  # type: ignore[no-untyped-call]

    with started() as cluster:
        monkeypatch.setattr(config, "new_client_from_config", once_broken)
        Client(cluster.admin_kubeconfig()).close()
    assert len(tries) == 2
