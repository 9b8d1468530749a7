"""Compare recorded answers of the Go CDI library with ours.

    python -m tests.upstream.cdi FILE...

Each line of a file is a question (``dirs``, ``root``, ``ask``, ``asks``, ``after``, ``oci``,
``names``, ``annotations``, ``keys``), the answer ``want`` of library 1.1.0 and, only where it
differs, ``newest`` of 1.1.2. Prints what differs and ends with ``N agree, M differ``.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_dra import cdi
from pytest_dra.spec import Json

LIBRARIES = {"want": "1.1.0", "newest": "1.1.2"}
"""Which library gave the answer under which key of a line."""

DEFAULT_MODE = 0o644
"""Mode of a file whose question says none."""

MAXIMUM_NAMED = 20
"""A recording counts devices instead of naming them above this number."""

_RECORDED_REASONS = {"crash": "panic"}
"""Our reasons that the recordings call otherwise."""


class Missing(Exception):
    """The question needs rights that this process lacks."""


def compare(line: Json) -> Iterator[tuple[str, Json, Json]]:
    """Yield library, our answer and the recorded one, for both libraries, where they differ."""
    for key, library in LIBRARIES.items():
        want = line.get(key) or line["want"]
        got = answer(line, library=library)
        if got != normalised(want):
            yield library, got, normalised(want)


def normalised(recorded: Json) -> Json:
    """A recorded answer without id and without the difference between empty and absent."""
    found = {key: value for key, value in recorded.items() if key != "id" and value}
    for file in found.get("files", {}).values():
        file["errors"] = sorted(file.get("errors", []))
    return found


def answer(question: Json, *, library: str) -> Json:
    """Our answer to one question, in the form of the recordings."""
    with tempfile.TemporaryDirectory(prefix="dra-", dir="/tmp") as name:
        root = Path(name).resolve()
        directories = _prepare(question, root)
        found: Json = {}
        if question.get("dirs"):
            found |= _loaded(question, root, directories, library)
        found |= _named(question, library)
        text = json.dumps(found).replace(str(root), "{root}")
        return {key: value for key, value in json.loads(text).items() if value}


def _prepare(question: Json, root: Path) -> list[Path]:
    for name, content in (question.get("root") or {}).items():
        _place(root / name, content, root)
    directories = []
    for directory in question.get("dirs") or []:
        full = Path(os.path.normpath(root / directory["path"]))
        directories.append(root / directory["path"])
        if directory.get("absent"):
            continue
        if directory.get("isFile") is not None:
            _place(full, directory["isFile"], root)
            continue
        full.parent.mkdir(parents=True, exist_ok=True)
        if directory.get("link"):
            full.symlink_to(directory["link"].replace("{root}", str(root)))
        else:
            full.mkdir(exist_ok=True)
        for name, content in (directory.get("files") or {}).items():
            _place(full / name, content, root)
    return directories


def _place(path: Path, content: Any, root: Path) -> None:
    if isinstance(content, str):
        content = {"text": content}
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = int(content.get("mode") or f"{DEFAULT_MODE:o}", 8)
    if content.get("remove"):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    elif content.get("link"):
        path.symlink_to(content["link"].replace("{root}", str(root)))
    elif content.get("dir"):
        path.mkdir(exist_ok=True)
    elif content.get("fifo"):
        os.mkfifo(path, mode)
        path.chmod(mode)
    elif content.get("node"):
        _make_node(path, content["node"], mode)
    else:
        path.write_bytes(_bytes(content, root))
        path.chmod(mode)


def _make_node(path: Path, text: str, mode: int) -> None:
    kind, major, minor = text.split()
    bits = 0o060000 if kind == "b" else 0o020000
    try:
        os.mknod(path, bits | mode, os.makedev(int(major), int(minor)))
    except PermissionError as error:
        raise Missing(f"mknod {path}: {error}") from None
    path.chmod(mode)


def _bytes(content: Json, root: Path) -> bytes:
    if content.get("base64"):
        return base64.b64decode(content["base64"])
    if content.get("text") is not None:
        text: str = content["text"].replace("{root}", str(root))
        return text.encode()
    repeat = content.get("repeat", "")
    parts = [repeat.replace("{i}", str(index)) for index in range(content.get("count", 0))]
    middle = content.get("sep", "").join(parts)
    return f"{content.get('head', '')}{middle}{content.get('tail', '')}".encode()


def _loaded(question: Json, root: Path, directories: list[Path], library: str) -> Json:
    registry = cdi.load(directories, library=library)
    crash = any(file.crashes for file in registry.files)
    files: Json = {}
    for file in registry.files:
        entry = files.setdefault(str(file.path.relative_to(root)), {"errors": []})
        names = [name for name, paths in registry.conflicts.items() if file.path in paths]
        _add_file(entry, file, [] if crash else names)
    if crash:
        return {"files": files, "cache": "panic"}
    devices = {
        name: str(file.path.relative_to(root)) for name, file in sorted(registry.devices.items())
    }
    if len(devices) > MAXIMUM_NAMED:
        devices = {f"({len(devices)})": ""}
    return {
        "files": files,
        "devices": devices,
        "conflicts": sorted(registry.conflicts),
        "injections": list(_injections(question, root, registry, library)),
    }


def _add_file(entry: Json, file: cdi.SpecFile, conflicts: list[str]) -> None:
    """Add a file to the answer; one that is read twice has its devices there twice."""
    reasons = [reason for reason in file.reasons if reason != "conflict"]
    reasons += [f"conflict {name}" for name in conflicts]
    names = list(file.devices)
    if len(names) > MAXIMUM_NAMED:
        names = [f"({len(names)})"]
    errors = {_RECORDED_REASONS.get(reason, reason) for reason in reasons}
    entry["errors"] = sorted(errors.union(entry["errors"]))
    if file.minimum:
        entry["min"] = file.minimum
    if names:
        entry["devices"] = entry.get("devices", []) + names


def _injections(question: Json, root: Path, registry: cdi.Registry, library: str) -> Iterator[Json]:
    asks = list(question.get("asks") or [])
    if question.get("ask") is not None:
        asks.insert(0, question["ask"])
    nodes = cdi.HostNodes(library=library)
    for index, ids in enumerate(asks):
        if index == 1:
            for name, content in sorted((question.get("after") or {}).items()):
                path = root / name
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
                _place(path, content, root)
        text = json.dumps(question.get("oci") or {}).replace("{root}", str(root))
        oci = json.loads(text)
        try:
            injection = registry.resolve(ids)
            yield {"oci": _as_go(cdi.apply(oci, injection, library=library, nodes=nodes))}
        except cdi.UnresolvedError as error:
            yield {"error": "unresolved", "unresolved": list(error.missing)}
        except cdi.CdiError as error:
            yield {"error": _RECORDED_REASONS.get(error.reason, error.reason)}


def _as_go(oci: Json) -> Json:
    """What Go writes for an OCI spec: required fields always, empty optional ones never."""
    found: Json = {"ociVersion": ""} | _pruned(oci)
    if "process" in found:
        found["process"] = {"user": {"uid": 0, "gid": 0}, "cwd": ""} | found["process"]
    return found


def _pruned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _pruned(item) for key, item in value.items() if item not in (None, [])}
    if isinstance(value, list):
        return [_pruned(item) for item in value]
    return value


def _named(question: Json, library: str) -> Json:
    found: Json = {"names": [_name(name, library) for name in question.get("names") or []]}
    if question.get("annotations") is not None:
        found["annotations"] = _annotations(question["annotations"], library)
    found["keys"] = [_key(*pair) for pair in question.get("keys") or []]
    return found


def _name(text: str, library: str) -> Json:
    try:
        name = cdi.parse_qualified_name(text, library=library)
    except cdi.CdiError as error:
        reason = _RECORDED_REASONS.get(error.reason, error.reason)
        return {"name": text, "ok": False, "error": reason}
    return {"name": text, "ok": True, "vendor": name.vendor, "class": name.cls, "device": name.name}


def _annotations(annotations: dict[str, str], library: str) -> Json:
    try:
        keys, devices = cdi.parse_annotations(annotations, library=library)
    except cdi.CdiError as error:
        return {"error": "panic" if error.reason == "crash" else "invalid"}
    found = {"keys": list(keys), "devices": sorted(devices)}
    return {key: value for key, value in found.items() if value}


def _key(plugin: str, device_id: str) -> str:
    try:
        return cdi.annotation_key(plugin, device_id)
    except cdi.CdiError:
        return "error"


def main(arguments: list[str]) -> int:
    """Compare all lines of the files; 1 if any answer differs."""
    differ = dict.fromkeys(LIBRARIES.values(), 0)
    lines = 0
    for name in arguments:
        for text in Path(name).read_text().splitlines():
            line = json.loads(text)
            lines += 1
            for library, got, want in compare(line):
                differ[library] += 1
                sys.stdout.write(f"{line['id']} ({library})\n  got:  {json.dumps(got)[:900]}\n")
                sys.stdout.write(f"  want: {json.dumps(want)[:900]}\n")
    for library, count in differ.items():
        sys.stdout.write(f"library {library}: {lines - count} agree, {count} differ\n")
    total = sum(differ.values())
    sys.stdout.write(f"{lines * len(LIBRARIES) - total} agree, {total} differ\n")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
