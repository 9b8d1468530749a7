"""The image under test: in the engine, or brought there."""

from __future__ import annotations

import pytest

from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.containers.images import Image
from pytest_dra.containers.images import provided
from tests.containers.fakeengine import FakeEngine


def test_an_image_brings_its_own_command(docker: FakeEngine) -> None:
    found = provided(docker.engine, "there:1")
    assert found == Image(name="there:1", entrypoint=("/driver",), command=("--one",))


def test_an_image_that_is_nowhere_is_told_with_what_to_do(docker: FakeEngine) -> None:
    with pytest.raises(
        ClusterError, match=r"docker has no image x:1, .* no route to host\. Build it, load it"
    ):
        provided(docker.engine, "x:1")
