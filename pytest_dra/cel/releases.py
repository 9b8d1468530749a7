"""The environment of a Kubernetes version with its feature gates."""

from __future__ import annotations

from typing import Final

from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.cel.environments import Environment
from pytest_dra.cel.environments import environment

GATES: Final = ("DRAConsumableCapacity", "DRAListTypeAttributes")
"""Feature gates that change what an expression may use."""


def environment_of(version: KubernetesVersion, *, stored: bool) -> Environment:
    """What a scheduler (``stored``) or the admission of new expressions goes by."""
    features = frozenset(gate.removeprefix("DRA") for gate in GATES if version.enabled(gate))
    return environment(version.minor, stored=stored, features=features)
