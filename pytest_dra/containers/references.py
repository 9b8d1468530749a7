"""What a pod refers to: the ConfigMaps and Secrets among the manifests."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.checks.workloads import dict_at
from pytest_dra.spec import Json

CONFIG_MAP: Final = "ConfigMap"
SECRET: Final = "Secret"  # noqa: S105 - the name of a kind

DEFAULT: Final = "default"
"""The namespace of what names none."""


class PodSpecError(ValueError):
    """A pod needs what is not there without a cluster; one sentence with the place."""


class References:
    """See the module.

    Args:
        objects: of the manifests.
        namespace: of the pod.
    """

    def __init__(self, objects: Sequence[Json], *, namespace: str) -> None:
        self.namespace = namespace
        self._objects = objects

    def data(self, kind: str, wanted: Json, where: str) -> Mapping[str, bytes]:
        """The contents of a ConfigMap or Secret that a reference names; empty if it is optional.

        Raises:
            PodSpecError: it is not among the manifests, or is no such thing.
        """
        name = wanted.get("name") or wanted.get("secretName")
        for each in self._objects:
            metadata = dict_at(each, "metadata")
            home = str(metadata.get("namespace") or DEFAULT)
            if (each.get("kind"), metadata.get("name"), home) == (kind, name, self.namespace):
                return dict(_contents(each, f"{where}: {kind} {name}"))
        if wanted.get("optional") is True:
            return {}
        raise PodSpecError(
            f"{where}: {kind} {name} of namespace {self.namespace} is not among the manifests; "
            "add it, or judge the image on a cluster"
        )


def _contents(item: Json, where: str) -> Iterator[tuple[str, bytes]]:
    encoded = "data" if item.get("kind") == SECRET else "binaryData"
    plain = "stringData" if item.get("kind") == SECRET else "data"
    for key, value in dict_at(item, encoded).items():
        try:
            yield str(key), base64.b64decode(str(value), validate=True)
        except binascii.Error as error:
            raise PodSpecError(f"{where}: {key} is no base64") from error
    for key, value in dict_at(item, plain).items():
        yield str(key), str(value).encode()
