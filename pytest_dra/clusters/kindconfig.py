"""The configuration of a kind cluster: the user's, with what DRA needs."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.spec import Json

API_VERSION: Final = "kind.x-k8s.io/v1alpha4"
KIND: Final = "Cluster"

FILE_MAX: Final = 1 << 20
"""Bytes of a configuration that are read."""

SHOWN: Final = 80
"""Characters of a value in a message."""

_SHAPES: Final[Sequence[tuple[str, type, str]]] = (
    ("nodes", list, "a list of nodes"),
    ("featureGates", dict, "gates with true or false"),
    ("runtimeConfig", dict, 'API versions with "true" or "false"'),
)
"""Fields of which something is merged."""

ROLES: Final = ("control-plane", "worker")


def read_config(file: Path) -> Json:
    """A kind configuration.

    Raises:
        ClusterError: it cannot be read, or is none.
    """
    try:
        with file.open("rb") as source:
            text = source.read(FILE_MAX + 1)
        found = yaml.safe_load(text[:FILE_MAX])
    except OSError as error:
        raise ClusterError(f"--dra-kind-config={file}: {error.strerror}") from error
    except yaml.YAMLError as error:
        first = str(error).replace("\n", " ")
        raise ClusterError(f"--dra-kind-config={file}: no YAML: {first}") from error
    if len(text) > FILE_MAX:
        raise ClusterError(f"--dra-kind-config={file}: longer than {FILE_MAX} bytes")
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise ClusterError(f"--dra-kind-config={file}: want an object of kind {KIND}")
    if found.get("apiVersion") != API_VERSION:
        raise ClusterError(
            f"--dra-kind-config={file}: got apiVersion {found.get('apiVersion')!r}, "
            f"want {API_VERSION!r}"
        )
    for field, kind, shown in _SHAPES:
        if not isinstance(found.get(field) or kind(), kind):
            raise ClusterError(
                f"--dra-kind-config={file}: got {field}: {str(found[field])[:SHOWN]}, want {shown}"
            )
    if not all(isinstance(each, dict) for each in found.get("nodes") or ()):
        raise ClusterError(f"--dra-kind-config={file}: nodes: want objects, as {{role: worker}}")
    return dict(found)


def merged(
    given: Json,
    *,
    nodes: int | None,
    feature_gates: Mapping[str, bool],
    runtime_config: Mapping[str, str],
) -> Json:
    """A configuration with what the run needs; what the user has set stays as it is.

    Args:
        given: the user's own, {} for none.
        nodes: number of nodes; None: those of the user, or one. The first is the control plane,
            which runs pods where it is alone.
        feature_gates: of all components.
        runtime_config: served API versions, such as ``resource.k8s.io/v1beta1: "true"``.

    Raises:
        ClusterError: a gate or version is wanted in two ways.
    """
    config = copy.deepcopy(given)
    config.setdefault("kind", KIND)
    config.setdefault("apiVersion", API_VERSION)
    listed = list(config.get("nodes") or ())
    number = nodes or len(listed) or 1
    roles = [ROLES[0], *[ROLES[1]] * (number - 1)]
    config["nodes"] = [*listed[:number], *({"role": role} for role in roles[len(listed) :])]
    for field, wanted in (("featureGates", feature_gates), ("runtimeConfig", runtime_config)):
        have = config.setdefault(field, {}) or {}
        for name, value in wanted.items():
            if name in have and have[name] != value:
                raise ClusterError(
                    f"--dra-kind-config: {field}.{name} is {have[name]!r}, and the run wants "
                    f"{value!r}: take one of them out"
                )
        config[field] = {**have, **wanted}
    return config


def written(config: Json, file: Path) -> Path:
    """Write a configuration; returns the file."""
    file.write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
    return file
