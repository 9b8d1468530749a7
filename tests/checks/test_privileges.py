"""Edits that only admin access may have, and settings of alternatives."""

from __future__ import annotations

import pytest

from pytest_dra.checks import privileges
from pytest_dra.spec import Json
from pytest_dra.spec import Violation

PLAIN: Json = {"env": ["GPU=1"], "deviceNodes": [{"path": "/dev/gpu0"}]}
MARKED: tuple[Json, ...] = (
    {"env": ["GPU=1", "GPU_ADMIN=yes"]},
    {"deviceNodes": [{"path": "/dev/gpu0", "hostPath": "/dev/GPU_ADMIN0"}]},
    {"mounts": [{"containerPath": "/run/GPU_ADMIN", "hostPath": "/run/x"}]},
)


@pytest.mark.parametrize("edits", MARKED)
def test_a_marker_is_found_in_names_of_variables_and_in_paths(edits: Json) -> None:
    privileges.must_be_privileged(edits, marker="GPU_ADMIN", what="an admin claim")
    with pytest.raises(Violation, match="container edits of a claim") as caught:
        privileges.must_not_be_privileged(edits, marker="GPU_ADMIN", what="a claim")
    assert "without adminAccess" in str(caught.value)


@pytest.mark.parametrize("edits", [None, {}, PLAIN, {"env": ["GPU=GPU_ADMIN"]}])
def test_what_has_none_is_not_privileged(edits: Json | None) -> None:
    privileges.must_not_be_privileged(edits, marker="GPU_ADMIN", what="a claim")
    with pytest.raises(Violation, match="nothing marked 'GPU_ADMIN'"):
        privileges.must_be_privileged(edits, marker="GPU_ADMIN", what="an admin claim")
