"""The rights that a driver ships: the RBAC objects among its manifests, and whose they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from pytest_dra.api import rbac
from pytest_dra.profile.model import DriverProfile
from pytest_dra.spec import Json

FILE_MAX: Final = 4 << 20
"""Bytes of one file of manifests: a rendered chart has some hundred thousand."""

OBJECTS_MAX: Final = 1000
"""Objects of all files."""

ENDINGS: Final = (".yaml", ".yml", ".json")
"""What is read of a folder."""

PLACED: Final = frozenset(["Role", "RoleBinding", "ServiceAccount"])
KINDS: Final = PLACED | {
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}
"""Kinds that say what a driver may do; some of them live in namespaces."""


class RightsError(Exception):
    """The manifests cannot be used; one sentence with the file."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """The account of the driver's pods, and the objects, in the order of the files."""

    namespace: str
    account: str
    objects: tuple[Json, ...]


def rights_of(profile: DriverProfile) -> Rights | None:
    """What the profile's manifests grant to ``launch.service_account``; None if it names none.

    Raises:
        RightsError: a file cannot be read, or the account has no binding in them.
    """
    given = profile.launch.service_account
    if not given:
        return None
    namespace, _, account = given.partition("/")
    objects = tuple(_placed(each, namespace) for each in _granting(profile.manifests))
    if not any(_bound(each, namespace, account) for each in objects):
        files = ", ".join(map(str, profile.manifests)) or "none are given"
        raise RightsError(
            f"launch.service_account: no binding in the manifests ({files}) names ServiceAccount "
            f"{account} of namespace {namespace}; add them to manifests, or leave the field out"
        )
    return Rights(namespace=namespace, account=account, objects=objects)


def _granting(paths: Iterable[Path]) -> Iterator[Json]:
    count = 0
    for path in files_of(paths):
        for obj in _documents(path):
            count += 1
            if count > OBJECTS_MAX:
                raise RightsError(f"{path}: more than {OBJECTS_MAX} objects in all manifests")
            if obj.get("kind") in KINDS:
                yield obj


def files_of(paths: Iterable[Path]) -> Iterator[Path]:
    """The files of manifests: those given, and of each folder what is read of it, by name."""
    for path in paths:
        if path.is_dir():
            yield from sorted(each for each in path.iterdir() if each.suffix in ENDINGS)
        else:
            yield path


def _documents(path: Path) -> Iterator[Json]:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_MAX + 1)
        if len(data) > FILE_MAX:
            raise RightsError(f"{path}: more than {FILE_MAX} bytes")
        found = list(yaml.safe_load_all(data))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise RightsError(f"{path}: {' '.join(str(error).split())}") from error
    for document in found:
        for obj in _items(document):
            meta = obj.get("metadata")
            if isinstance(meta, dict) and isinstance(meta.get("name"), str):
                yield obj


def _items(document: object) -> Iterator[Json]:
    if not isinstance(document, dict):
        return
    items = document.get("items")
    if str(document.get("kind", "")).endswith("List") and isinstance(items, list):
        yield from (each for each in items if isinstance(each, dict))
    else:
        yield document


def _placed(obj: Json, namespace: str) -> Json:
    """The object in the namespace that it would get when it is applied there."""
    if obj["kind"] not in PLACED or obj["metadata"].get("namespace"):
        return obj
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


def _bound(obj: Json, namespace: str, account: str) -> bool:
    subjects = obj.get("subjects")
    home = str(obj["metadata"].get("namespace") or "")
    return isinstance(subjects, list) and any(
        rbac.means(each, home, [(namespace, account)]) for each in subjects
    )
