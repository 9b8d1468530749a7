"""Reports of single nodes on their way out of a cluster: as ConfigMaps, which outlive pods and Job.

``kubectl get jobs,configmaps -l pytest-dra.dev/job=NAME -o json`` gives all of a job: the Job, a
ConfigMap with the list of its nodes, and one with the report of each. Those may be of several runs.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import os
import sys
import zlib
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.report import matrix
from pytest_dra.report.checksum import FIELD
from pytest_dra.report.checksum import checksum
from pytest_dra.report.jobruns import JOB_LABEL
from pytest_dra.report.jobruns import RUN_LABEL
from pytest_dra.report.jobruns import Kept
from pytest_dra.report.jobruns import of_one_run
from pytest_dra.report.nodes import no_name
from pytest_dra.report.plain import one_line
from pytest_dra.report.reading import STANDARD_INPUT
from pytest_dra.report.reading import BadReport
from pytest_dra.report.reading import Report
from pytest_dra.report.reading import read
from pytest_dra.report.reading import read_text
from pytest_dra.report.yaml_report import render
from pytest_dra.spec import Json

CONFIG_MAP: Final = "ConfigMap"
JOB: Final = "Job"

NODES: Final = "nodes"
"""Field of the job's ConfigMap: names of its nodes, a line each."""

REPORT: Final = "report.yaml.gz"
"""Field of a node's ConfigMap; a ConfigMap takes a mebibyte, compressed reports mostly 10 KiB."""

FILES_LIMIT: Final = 100_000
"""Reports in a directory: one for each node of a cluster."""

CONFIG_MAX: Final = 1024 * 1024
"""Bytes of all values of a ConfigMap; an API server refuses more."""

LEFT_OUT: Final = (
    "what happened round it is left out: the report would be too large for a ConfigMap"
)
"""Note of a case of a node whose driver has said very much."""

LIST_LIMIT: Final = 512 * 1024 * 1024
"""Bytes of a list of ConfigMaps: thousands of nodes, also where everything fails on each."""

SIZE_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of a report of one node: twice one in which every case has failed. What stands for many
small values takes a hundred times as much memory."""

BROKEN: Final = (OSError, EOFError, ValueError, zlib.error)
"""What base64 and gzip say of data that is none; UnicodeDecodeError is a ValueError."""


def config_map(name: str, *, job: str, report: bytes, run: str = "") -> Json:
    """What keeps the report of one node of a job; ``run`` is the uid of the Job, as far as known.

    Raises:
        BadReport: no ConfigMap takes it, not even without what happened round the failures.
    """
    packed = gzip.compress(report, mtime=0)
    if len(packed) > CONFIG_MAX:
        packed = gzip.compress(_shortened(name, report), mtime=0)
    if len(packed) > CONFIG_MAX:
        raise BadReport(f"ConfigMap {name}: the report has {len(packed)} bytes, want {CONFIG_MAX}")
    return {
        "apiVersion": "v1",
        "kind": CONFIG_MAP,
        "metadata": {
            "name": name,
            "labels": {JOB_LABEL: job, **({RUN_LABEL: run} if run else {})},
        },
        "binaryData": {REPORT: base64.b64encode(packed).decode("ascii")},
    }


def _shortened(name: str, report: bytes) -> bytes:
    """A report without the proofs of its cases, with a note at each of them."""
    data = read_text(name, report.decode("utf-8")).raw
    for case in data["cases"]:
        had = [case.pop(field, None) for field in ("timeline", "sequence")]
        if any(had):
            case["notes"] = [*case.get("notes", ()), LEFT_OUT]
    data[FIELD] = checksum(data)
    return render(data).encode("utf-8")


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What there is of the shards of a run.

    Attributes:
        reports: each is read when it is taken, which may raise BadReport.
        nodes: those that there should be a report of.
        told: sentences on what was left out.
    """

    reports: Iterator[Report]
    nodes: list[str]
    told: list[str]


def found(paths: Iterable[Path], *, runs: Collection[str] = ()) -> Found:
    """The reports of one run.

    Args:
        paths: reports, directories with such in and below them, and lists of ConfigMaps in JSON.
        runs: uids of the runs whose ConfigMaps are meant, where that is not clear.

    Raises:
        BadReport: something of it is none of them, or nothing says which run is meant.
    """
    files: list[Path] = []
    maps: list[tuple[Path, Json]] = []
    for path in paths:
        if path.is_dir():
            files += matrix.find(path, limit=FILES_LIMIT)
        elif path != STANDARD_INPUT and path.suffix != ".json":
            files.append(path)
        else:
            maps += [(path, item) for item in _items(path)]
    nodes = dict.fromkeys(name for path, item in maps for name in _nodes(path, item))
    every = [Kept(path, item) for path, item in maps if _packed(item) is not None]
    jobs = [item for _, item in maps if item["kind"] == JOB]
    kept, told = of_one_run(every, jobs, wanted=runs)
    if not files and not kept:
        raise BadReport("no report of any node")
    return Found(_read(files, kept), list(nodes), told)


def _read(files: Iterable[Path], kept: Iterable[Kept]) -> Iterator[Report]:
    yield from map(read, files)
    for each in kept:
        yield _report(each.path, each.item)


def _items(path: Path) -> list[Json]:
    """The ConfigMaps and Jobs of a list, as kubectl prints it."""
    try:
        if path == STANDARD_INPUT:
            text = sys.stdin.buffer.read(LIST_LIMIT + 1)
        else:
            # Not blocking: a named pipe without a writer would hold the command up for ever.
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                os.set_blocking(file.fileno(), True)
                text = file.read(LIST_LIMIT + 1)
        if len(text) > LIST_LIMIT:
            raise ValueError(f"larger than {LIST_LIMIT // 1024**2} MiB")
        data: Any = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadReport(f"{path}: no JSON of kubectl: {one_line(str(reason))}") from error
    items = data.get("items", [data]) if isinstance(data, dict) else data
    if not isinstance(items, list) or not all(_is_of_a_job(each) for each in items):
        raise BadReport(
            f"{path}: want ConfigMaps and their Job, as kubectl get jobs,configmaps -o json prints "
            "them"
        )
    return items


def _is_of_a_job(item: object) -> bool:
    return (
        isinstance(item, dict)
        and item.get("kind") in (CONFIG_MAP, JOB)
        and isinstance(item.get("metadata"), dict)
        and all(isinstance(item.get(field) or {}, dict) for field in ("data", "binaryData"))
    )


def _nodes(path: Path, item: Json) -> Iterator[str]:
    listed = (item.get("data") or {}).get(NODES, "")
    if not isinstance(listed, str):
        raise BadReport(f"{path}: {NODES} of a ConfigMap is no text")
    for name in listed.split():
        if wrong := no_name(name):
            raise BadReport(f"{path}, {_called(item)}: {NODES}: {wrong}")
        yield name


def _called(item: Json) -> str:
    return f"ConfigMap {one_line(str(item['metadata'].get('name')))}"


def _packed(item: Json) -> Any:
    return (item.get("binaryData") or {}).get(REPORT)


def _report(path: Path, item: Json) -> Report:
    name = f"{path}, {_called(item)}"
    try:
        text = _unpacked(base64.b64decode(_packed(item))).decode("utf-8")
    except (*BROKEN, TypeError) as error:
        raise BadReport(f"{name}: {REPORT} is broken: {one_line(str(error))}") from error
    return read_text(name, text)


def _unpacked(packed: bytes) -> bytes:
    """Raises one of ``BROKEN``."""
    reader = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    text = reader.decompress(packed, SIZE_LIMIT)
    if not reader.eof:
        raise ValueError(f"cut off, or larger than {SIZE_LIMIT // 1024**2} MiB")
    return text
