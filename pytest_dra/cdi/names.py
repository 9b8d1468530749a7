"""Qualified device names, ``vendor/class=name``, and the annotations that carry them.

Source: CDI SPEC.md, "kind" and "devices"; the grammar is the one that the library enforces,
which has no limit of length.
"""

from __future__ import annotations

import dataclasses
import string
from collections.abc import Mapping

from pytest_dra.cdi.errors import CRASH
from pytest_dra.cdi.errors import CdiError
from pytest_dra.cdi.errors import shown
from pytest_dra.cdi.library import Library
from pytest_dra.cdi.library import library_of

ANNOTATION_PREFIX = "cdi.k8s.io/"
"""Prefix of the container annotations that request CDI devices."""

MAXIMUM_ANNOTATION_NAME = 63
"""Bytes in the name of an annotation key: Kubernetes' limit, which the library checks."""

_LETTERS = frozenset(string.ascii_letters)
_ALPHANUMERIC = frozenset(string.ascii_letters + string.digits)
_KIND_MIDDLE = _ALPHANUMERIC | frozenset("_-.")
_DEVICE_MIDDLE = _ALPHANUMERIC | frozenset("_-.:")


@dataclasses.dataclass(frozen=True)
class QualifiedName:
    """A fully qualified CDI device: what a driver returns as ``cdi_device_ids``."""

    vendor: str
    cls: str
    name: str

    def __str__(self) -> str:
        return f"{self.vendor}/{self.cls}={self.name}"


def parse_qualified_name(text: str, *, library: str = Library.V1_1_0.value) -> QualifiedName:
    """Take ``vendor/class=name`` apart; raises :class:`CdiError` that says what is wrong."""
    qualifier, equals, name = text.partition("=")
    vendor, cls = split_kind(qualifier)
    if text.startswith("/") or not equals or not vendor or not name:
        raise CdiError(
            f"CDI device {shown(text)}: got no qualified name, want vendor/class=name",
            reason="unqualified",
        )
    version = library_of(library)
    check_vendor(vendor, library=version)
    check_class(cls, library=version)
    check_device_name(name)
    return QualifiedName(vendor=vendor, cls=cls, name=name)


def split_kind(kind: str) -> tuple[str, str]:
    """Vendor and class of a kind; the vendor is empty when the text has no two parts."""
    vendor, _, cls = kind.partition("/")
    if not vendor or not cls:
        return "", kind
    return vendor, cls


def check_vendor(vendor: str, *, library: Library) -> None:
    """Raise :class:`CdiError` unless the library takes ``vendor``."""
    _check_kind_part(vendor, what="vendor", library=library)


def check_class(cls: str, *, library: Library) -> None:
    """Raise :class:`CdiError` unless the library takes ``cls``."""
    _check_kind_part(cls, what="class", library=library)


def _check_kind_part(text: str, *, what: str, library: Library) -> None:
    want = "want a letter first, a letter or digit last, letters, digits, _ - . between"
    if not text or text[0] not in _LETTERS:
        raise CdiError(f"{what} {shown(text)}: {want}", reason=what)
    if len(text) == 1:
        if library is Library.V1_1_0:
            raise CdiError(
                f"{what} {shown(text)}: one letter crashes library 1.1.0 and the containerd that"
                " runs it; want at least two characters",
                reason=CRASH,
            )
        return
    if text[-1] not in _ALPHANUMERIC or not _KIND_MIDDLE.issuperset(text[1:-1]):
        raise CdiError(f"{what} {shown(text)}: {want}", reason=what)


def check_device_name(name: str) -> None:
    """Raise :class:`CdiError` unless ``name`` is a device name (the part after ``=``)."""
    ends = bool(name) and name[0] in _ALPHANUMERIC and name[-1] in _ALPHANUMERIC
    if not ends or not _DEVICE_MIDDLE.issuperset(name[1:-1]):
        raise CdiError(
            f"device name {shown(name)}: want a letter or digit first and last,"
            " letters, digits, _ - . : between",
            reason="device-name",
        )


def parse_annotations(
    annotations: Mapping[str, str], *, library: str = Library.V1_1_0.value
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Keys and qualified names of the container annotations that request devices.

    Keys are sorted; names follow their keys. One name that is none refuses them all.
    """
    keys = sorted(key for key in annotations if key.startswith(ANNOTATION_PREFIX))
    devices = [name for key in keys for name in annotations[key].split(",")]
    for name in devices:
        parse_qualified_name(name, library=library)
    return tuple(keys), tuple(devices)


def annotation_key(plugin: str, device_id: str) -> str:
    """The annotation key for one allocation; raises :class:`CdiError` for what cannot be a key."""
    name = f"{plugin}_{device_id.replace('/', '_')}"
    good = plugin and device_id and len(name.encode()) <= MAXIMUM_ANNOTATION_NAME
    ends = name[0] in _ALPHANUMERIC and name[-1] in _ALPHANUMERIC
    if not good or not ends or not _KIND_MIDDLE.issuperset(name[1:-1]):
        raise CdiError(
            f"annotation name {shown(name)}: want a plugin and a device id, together at most"
            f" {MAXIMUM_ANNOTATION_NAME} bytes of letters, digits, _ - .",
            reason="annotation",
        )
    return ANNOTATION_PREFIX + name
