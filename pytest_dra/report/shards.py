"""Reports of single nodes on their way out of a cluster: as ConfigMaps, which outlive pods and Job.

``kubectl get configmaps -l pytest-dra.dev/job=NAME -o json`` gives all of a job: one with the list
of its nodes, and one with the report of each.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.report import matrix
from pytest_dra.report.plain import one_line
from pytest_dra.report.reading import SIZE_LIMIT
from pytest_dra.report.reading import STANDARD_INPUT
from pytest_dra.report.reading import BadReport
from pytest_dra.report.reading import Report
from pytest_dra.report.reading import read
from pytest_dra.report.reading import read_text
from pytest_dra.spec import Json

JOB_LABEL: Final = "pytest-dra.dev/job"
"""Label of everything that a job has."""

NODES: Final = "nodes"
"""Field of the job's ConfigMap: names of its nodes, a line each."""

REPORT: Final = "report.yaml.gz"
"""Field of a node's ConfigMap; a ConfigMap takes a mebibyte, compressed reports mostly 10 KiB."""

LIST_LIMIT: Final = 512 * 1024 * 1024
"""Bytes of a list of ConfigMaps: thousands of nodes, also where everything fails on each."""

BROKEN: Final = (OSError, EOFError, ValueError, zlib.error)
"""What base64 and gzip say of data that is none; UnicodeDecodeError is a ValueError."""


def config_map(name: str, *, job: str, report: bytes) -> Json:
    """What keeps the report of one node of a job."""
    packed = gzip.compress(report, mtime=0)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {JOB_LABEL: job}},
        "binaryData": {REPORT: base64.b64encode(packed).decode("ascii")},
    }


def found(paths: Iterable[Path]) -> tuple[list[Report], list[str]]:
    """Reports, and the nodes that there should be some of.

    Args:
        paths: reports, directories with such in and below them, and lists of ConfigMaps in JSON.

    Raises:
        BadReport: something of it is none of them.
    """
    reports: list[Report] = []
    nodes: list[str] = []
    for path in paths:
        if path.is_dir():
            reports += map(read, matrix.find(path))
        elif path != STANDARD_INPUT and path.suffix != ".json":
            reports.append(read(path))
        else:
            for item in _items(path):
                nodes += _nodes(path, item)
                reports += _report(path, item)
    if not reports:
        raise BadReport("no report of any node")
    return reports, list(dict.fromkeys(nodes))


def _items(path: Path) -> list[Json]:
    """The ConfigMaps of a list, as kubectl prints it."""
    try:
        if path == STANDARD_INPUT:
            text = sys.stdin.buffer.read(LIST_LIMIT + 1)
        else:
            # Not blocking: a named pipe without a writer would hold the command up for ever.
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                text = file.read(LIST_LIMIT + 1)
        if len(text) > LIST_LIMIT:
            raise ValueError(f"larger than {LIST_LIMIT // 1024**2} MiB")
        data: Any = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadReport(f"{path}: no JSON of kubectl: {one_line(str(reason))}") from error
    items = data.get("items", [data]) if isinstance(data, dict) else data
    if not isinstance(items, list) or not all(_is_config_map(each) for each in items):
        raise BadReport(f"{path}: want ConfigMaps, as kubectl get configmaps -o json prints them")
    return items


def _is_config_map(item: object) -> bool:
    return (
        isinstance(item, dict)
        and item.get("kind") == "ConfigMap"
        and isinstance(item.get("metadata"), dict)
        and all(isinstance(item.get(field) or {}, dict) for field in ("data", "binaryData"))
    )


def _nodes(path: Path, item: Json) -> Iterator[str]:
    listed = (item.get("data") or {}).get(NODES, "")
    if not isinstance(listed, str):
        raise BadReport(f"{path}: {NODES} of a ConfigMap is no text")
    yield from listed.split()


def _report(path: Path, item: Json) -> Iterator[Report]:
    packed = (item.get("binaryData") or {}).get(REPORT)
    if packed is None:
        return
    name = f"{path}, ConfigMap {one_line(str(item['metadata'].get('name')))}"
    try:
        text = _unpacked(base64.b64decode(packed)).decode("utf-8")
    except (*BROKEN, TypeError) as error:
        raise BadReport(f"{name}: {REPORT} is broken: {one_line(str(error))}") from error
    yield read_text(name, text)


def _unpacked(packed: bytes) -> bytes:
    """Raises one of ``BROKEN``."""
    reader = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    text = reader.decompress(packed, SIZE_LIMIT)
    if not reader.eof:
        raise ValueError(f"cut off, or larger than {SIZE_LIMIT // 1024**2} MiB")
    return text
