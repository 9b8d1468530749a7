"""Metadata of devices as containers find it: where, whose, and what it says."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from pytest_dra.checks.workloads import dict_at
from pytest_dra.checks.workloads import list_at
from pytest_dra.spec import Json
from pytest_dra.spec import Violation

ROOT: Final = "/var/run/kubernetes.io/dra-device-attributes"
"""Where containers look for metadata (contract 4.6)."""

VERSIONS: Final = ("metadata.resource.k8s.io/v1alpha1", "metadata.resource.k8s.io/v1beta1")
KIND: Final = "DeviceMetadata"

READ_ONLY: Final = "ro"

SHOWN: Final = 3
"""Attributes in a message."""

Name = tuple[str, str]
"""A device by its pool and its name."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a container finds the metadata of one request.

    ``pod_claim``: the pod's name for a claim that was made from a template; empty for any other.
    """

    driver: str
    claim: str
    request: str
    pod_claim: str = ""

    @property
    def directory(self) -> str:
        """Where the claim's requests are."""
        if self.pod_claim:
            return f"{ROOT}/resourceclaimtemplates/{self.pod_claim}"
        return f"{ROOT}/resourceclaims/{self.claim}"

    @property
    def path(self) -> str:
        """The request's file."""
        return f"{self.directory}/{self.request}/{self.driver}-metadata.json"

    def __str__(self) -> str:
        return f"metadata of request {self.request!r} of claim {self.claim}"


def mounts_of(edits: Json | None) -> list[Json]:
    """The mounts of a container that lie in the place of metadata, or contain it."""
    root = PurePosixPath(ROOT)
    found = []
    for mount in (edits or {}).get("mounts") or []:
        path = PurePosixPath(str(mount.get("containerPath")))
        if path == root or root in path.parents or path in root.parents:
            found.append(mount)
    return found


def mount_at(edits: Json | None, place: Place) -> Json:
    """The mount of a request's file.

    Raises:
        Violation: there is none.
    """
    some = mounts_of(edits)
    for mount in some:
        if mount.get("containerPath") == place.path:
            return mount
    nothing = "no mount of metadata" if edits else "no CDI ids, or one that does not resolve"
    raise Violation(
        f"{place}, in the edits of its CDI ids",
        got=[mount.get("containerPath") for mount in some] or nothing,
        want=f"a mount at {place.path}",
    )


def document_in(data: bytes, place: Place) -> Json:
    """The first object of a file.

    Raises:
        Violation: it has none.
    """
    try:
        return first_object(data)
    except ValueError as error:
        raise Violation(
            f"the file with the {place}", got=str(error), want="a JSON object at its beginning"
        ) from error


def first_object(data: bytes) -> Json:
    """The first object of a stream of JSON objects; ValueError if there is none."""
    found, _ = json.JSONDecoder().raw_decode(data.decode().lstrip())
    if not isinstance(found, dict):
        raise ValueError(f"a JSON {type(found).__name__}")
    return found


def must_be_of_the_claim(
    document: Json, place: Place, *, namespace: str, uid: str, devices: Collection[Name]
) -> None:
    """A document has a known version, the claim's identity, and the devices of the request.

    Args:
        document: the first object of the file.
        place: whose it is.
        namespace: of the claim.
        uid: of the claim.
        devices: pool and name of each that the request got of this driver.
    """
    metadata = dict_at(document, "metadata")
    wanted = {
        "kind": (document.get("kind"), KIND),
        "metadata.name": (metadata.get("name"), place.claim),
        "metadata.namespace": (metadata.get("namespace"), namespace),
        "metadata.uid": (metadata.get("uid"), uid),
    }
    if document.get("apiVersion") not in VERSIONS:
        raise _wrong("apiVersion", place, document.get("apiVersion"), " or ".join(VERSIONS))
    for field, (got, want) in wanted.items():
        if got != want:
            raise _wrong(field, place, got, want)
    told = {(each.get("pool"), each.get("name")) for each in devices_in(document, place)}
    if told != set(devices):
        raise _wrong(
            "requests[].devices", place, sorted(map(str, told)), f"exactly {sorted(devices)}"
        )


def _wrong(field: str, place: Place, got: object, want: str) -> Violation:
    return Violation(f"{field} in the {place}", got=got, want=want)


def devices_in(document: Json, place: Place) -> list[Json]:
    """The driver's devices of the request; a prioritized list is named by the main request."""
    return [
        device
        for request in list_at(document, "requests")
        if str(request.get("name")).partition("/")[0] == place.request
        for device in list_at(request, "devices")
        if device.get("driver") == place.driver
    ]


def only_its_own_may_be_mounted(
    edits: Json | None, place: Place, *, others: Mapping[str, str]
) -> None:
    """A container that names one request does not see the files of another one.

    Args:
        edits: what the ids of the request do.
        place: the request.
        others: host path of the file of each other request.
    """
    for mount in mounts_of(edits):
        target, source = str(mount.get("containerPath")), str(mount.get("hostPath"))
        is_own = _contains(f"{place.directory}/{place.request}", target)
        shown = [request for request, path in others.items() if _contains(source, path)]
        if shown or not is_own:
            raise Violation(
                f"{place}, in the edits of its CDI ids",
                got=f"a mount of {source} at {target}"
                + (f", which has request {shown[0]!r}" if shown else ""),
                want=f"nothing but {place.path}",
            )


def _contains(source: str, path: str) -> bool:
    return PurePosixPath(source) in [PurePosixPath(path), *PurePosixPath(path).parents]


def must_be_read_only(mount: Json, place: Place) -> None:
    """A container cannot change the file."""
    options = mount.get("options") or []
    if READ_ONLY not in options:
        raise Violation(
            f"mount of the {place}", got=f"options {options}", want=f"{READ_ONLY} among them"
        )


def generation_of(document: Json) -> int:
    """``metadata.generation``; 0 where there is none."""
    value = dict_at(document, "metadata").get("generation")
    return value if isinstance(value, int) else 0


def generation_must_rise(before: Json, now: Json, place: Place, *, within_s: float) -> None:
    """An update shows in the generation."""
    old, new = generation_of(before), generation_of(now)
    if new <= old:
        raise Violation(
            f"metadata.generation in the {place} after an update",
            got=new,
            want=f"more than {old} within {within_s:g} s",
        )


def must_be_readable(problem: str, place: Place, *, pause_s: float) -> None:
    """A reader that tries once more after a moment gets a whole document.

    Args:
        problem: of the second try; empty if there was none.
        place: what was read.
        pause_s: between the two tries.
    """
    if problem:
        raise Violation(
            f"the file with the {place} during an update, read twice",
            got=problem,
            want=f"a JSON object at the second try, {pause_s:g} s after the first",
        )


def must_be_gone(left: Sequence[str], place: Place) -> None:
    """Nothing of the metadata is left after Unprepare."""
    if left:
        raise Violation(
            f"{place}, after Unprepare",
            got=f"still there: {', '.join(left)}",
            want="file, directory and CDI device are gone",
        )


def attributes_must_agree(document: Json, place: Place, *, published: Mapping[Name, Json]) -> None:
    """What metadata and slices both say of a device is the same.

    Args:
        document: the first object of the file.
        place: whose it is.
        published: the devices of the slices.
    """
    for device in devices_in(document, place):
        name = (str(device.get("pool")), str(device.get("name")))
        told = _plain_names(dict_at(device, "attributes"), place.driver)
        known = _plain_names(dict_at(published.get(name), "attributes"), place.driver)
        differ = sorted(key for key in set(told) & set(known) if told[key] != known[key])
        if differ:
            raise Violation(
                f"attributes of device {name[1]!r} of pool {name[0]!r} in the {place}",
                got={key: told[key] for key in differ[:SHOWN]},
                want=f"what the slice says: { ({key: known[key] for key in differ[:SHOWN]}) }",
            )


def _plain_names(attributes: Json, driver: str) -> Json:
    """Attributes by their names, those of the driver's own domain without it."""
    return {str(name).removeprefix(f"{driver}/"): value for name, value in attributes.items()}
