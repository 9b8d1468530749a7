"""Images in files: Docker archives, and OCI layouts as folders or archives.

An engine is given a new archive of one image under a name of ours, so that what a file calls
itself takes no name from another image, and an engine that reads no OCI layouts gets none.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path
from typing import IO
from typing import Any
from typing import Final
from typing import Protocol

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.launch.tool import ToolError

REPOSITORY: Final = "localhost/pytest-dra"

LAYOUT: Final = "oci-layout"
INDEX: Final = "index.json"
MANIFEST: Final = "manifest.json"
NAMED: Final = ("org.opencontainers.image.ref.name", "io.containerd.image.name")
"""Annotations by which a layout calls its images."""

JSON_MAX: Final = 4 << 20
"""Bytes of a document: manifests have some thousands."""

LAYERS_MAX: Final = 127
"""Layers that engines stack."""

INDEXES_MAX: Final = 3
"""Indexes inside of each other: one for several images, one for several machines."""

BYTES_MAX: Final = 64 << 30
"""Bytes of all layers."""

CHUNK: Final = 1 << 20
ID_LENGTH: Final = 12
"""Digits of the image's id in its name."""

MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
"""Names of processors in images, where they are not the kernel's."""

_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})")
_NOT_FOR_NAMES: Final = re.compile(r"[^a-z0-9]+")


class ArchiveError(ValueError):
    """A file is no image, or not one; without the file's name."""


class Files(Protocol):
    """Files by their names, in a folder or an archive."""

    def open(self, name: str) -> IO[bytes]:
        """A file of it. Raises ArchiveError."""


class Folder:
    """An OCI layout as a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self, name: str) -> IO[bytes]:
        """A file of it. Raises ArchiveError."""
        try:
            return (self._path / name).open("rb")
        except OSError as error:
            raise ArchiveError(f"{name}: {error.strerror}") from error


class Archive:
    """The same as a tar file, compressed or not."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.members = {member.name.removeprefix("./"): member for member in tar}

    def open(self, name: str) -> IO[bytes]:
        """A file of it. Raises ArchiveError."""
        try:
            file = self._tar.extractfile(self.members[name])
        except (KeyError, tarfile.TarError, OSError) as error:
            raise ArchiveError(f"there is no {name} in it") from error
        if file is None:
            raise ArchiveError(f"{name} in it is no file")
        return file


class Found:
    """One image of a file: where its parts are, and what it calls itself ("" if nothing)."""

    def __init__(self, files: Files, config: str, layers: list[str], name: str) -> None:
        self.files = files
        self.config = config
        self.layers = layers
        self.name = name


def is_archive(word: str) -> bool:
    """True for what is an image in a file, or looks as if it was meant to be."""
    path = Path(word)
    return word.startswith(("/", "./", "../")) or path.is_file() or (path / LAYOUT).is_file()


def loaded(engine: Engine, path: Path) -> str:
    """Give the image of a file to an engine, unless it is there.

    Returns:
        Its name there: ``localhost/pytest-dra/NAME:ID``, with the last part of its own.

    Raises:
        ClusterError: it is no image, or the engine refuses it; with the way out.
    """
    try:
        with opened(path) as found:
            with found.files.open(found.config) as file:
                config = _bounded(file, found.config)
            id = hashlib.sha256(config).hexdigest()
            own = found.name.partition("@")[0].rpartition("/")[2].partition(":")[0] or path.stem
            short = _NOT_FOR_NAMES.sub("-", own.lower()).strip("-") or "image"
            name = f"{REPOSITORY}/{short}:{id[:ID_LENGTH]}"
            if not engine.has_image(name):
                with tempfile.TemporaryFile() as target:
                    _write(found, config, id, name, target)
                    target.seek(0)
                    engine.load(target)
    except (ArchiveError, tarfile.TarError, OSError, EOFError, zlib.error, LZMAError) as error:
        raise ClusterError(
            f"{path} is no image: {error}. Want a Docker archive (docker save), or an OCI layout "
            "as a folder or archive"
        ) from error
    except ToolError as error:
        raise ClusterError(f"{engine.name} does not load {path}: {error}") from error
    return name


@contextmanager
def opened(path: Path) -> Iterator[Found]:
    """The one image of a file. Raises ArchiveError, OSError, TarError."""
    with ExitStack() as stack:
        if path.is_dir():
            yield _of_layout(Folder(path))
            return
        try:
            tar = stack.enter_context(tarfile.open(path))
        except tarfile.ReadError as error:
            raise ArchiveError("it is no tar file") from error
        files = Archive(tar)
        yield _of_docker(files) if MANIFEST in files.members else _of_layout(files)


def _of_docker(files: Files) -> Found:
    listed = _json(files, MANIFEST)
    if not isinstance(listed, list) or len(listed) != 1 or not isinstance(listed[0], dict):
        count = len(listed) if isinstance(listed, list) else 0
        raise ArchiveError(f"{MANIFEST}: got {count} images, want one")
    one = listed[0]
    tags = one.get("RepoTags") or [""]
    if not isinstance(tags, list):
        raise ArchiveError(f"{MANIFEST}: RepoTags is no list of names")
    layers = one.get("Layers")
    if not isinstance(layers, list) or not all(isinstance(each, str) for each in layers):
        raise ArchiveError(f"{MANIFEST}: Layers is no list of names")
    return Found(files, str(one.get("Config")), _few(layers), str(tags[0]))


def _of_layout(files: Files) -> Found:
    index, name = _json(files, INDEX), ""
    for _ in range(INDEXES_MAX):
        if not isinstance(index, dict) or "manifests" not in index:
            break
        chosen = _for_this_machine(index["manifests"])
        annotations = chosen.get("annotations")
        if isinstance(annotations, dict):
            name = next((str(annotations[key]) for key in NAMED if key in annotations), name)
        index = _json(files, _blob(chosen))
    if not isinstance(index, dict) or not isinstance(index.get("layers"), list):
        raise ArchiveError("there is no manifest of an image in the layout")
    layers = [_blob(each) for each in index["layers"]]
    # A tag alone says nothing of the name.
    own = name if "/" in name or ":" in name else ""
    return Found(files, _blob(index.get("config")), _few(layers), own)


def _for_this_machine(listed: Any) -> dict[str, Any]:
    entries = [each for each in listed if isinstance(each, dict)] if type(listed) is list else []
    machine = platform.machine()
    wanted = {"os": "linux", "architecture": MACHINES.get(machine, machine)}
    fitting = [
        each
        for each in entries
        if not isinstance(each.get("platform"), dict)
        or all(each["platform"].get(key) == value for key, value in wanted.items())
    ]
    if len(fitting) != 1:
        raise ArchiveError(
            f"an index with {len(fitting)} images for linux/{wanted['architecture']}, want one"
        )
    return fitting[0]


def _blob(descriptor: Any) -> str:
    digest = descriptor.get("digest") if isinstance(descriptor, dict) else None
    found = _DIGEST.fullmatch(str(digest))
    if found is None:
        raise ArchiveError(f"got the digest {digest!r:.80}, want sha256:...")
    return f"blobs/sha256/{found[1]}"


def _few(layers: list[str]) -> list[str]:
    if len(layers) > LAYERS_MAX:
        raise ArchiveError(f"{len(layers)} layers, at most {LAYERS_MAX} can be used")
    return layers


def _json(files: Files, name: str) -> Any:
    with files.open(name) as file:
        data = _bounded(file, name)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{name} is no JSON") from error


def _bounded(file: IO[bytes], name: str) -> bytes:
    data = file.read(JSON_MAX + 1)
    if len(data) > JSON_MAX:
        raise ArchiveError(f"{name} has more than {JSON_MAX} bytes")
    return data


def _write(found: Found, config: bytes, id: str, name: str, target: IO[bytes]) -> None:
    """An archive of this image alone, as engines load it."""
    left = BYTES_MAX
    with tarfile.open(fileobj=target, mode="w") as tar:
        layers = []
        for number, layer in enumerate(found.layers):
            with found.files.open(layer) as source, tempfile.TemporaryFile() as copy:
                size, digest = _copied(source, copy, left)
                wanted = layer.rpartition("/")[2]
                if layer.startswith("blobs/sha256/") and wanted != digest:
                    raise ArchiveError(f"{layer} has another content than its digest says")
                left -= size
                copy.seek(0)
                layers.append(f"{number}.tar")
                tar.addfile(_entry(layers[-1], size), copy)
        manifest = [{"Config": f"{id}.json", "RepoTags": [name], "Layers": layers}]
        for file, data in ((f"{id}.json", config), (MANIFEST, json.dumps(manifest).encode())):
            tar.addfile(_entry(file, len(data)), io.BytesIO(data))


def _copied(source: IO[bytes], copy: IO[bytes], left: int) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    while data := source.read(CHUNK):
        size += len(data)
        if size > left:
            raise ArchiveError(f"more than {BYTES_MAX} bytes")
        digest.update(data)
        copy.write(data)
    return size, digest.hexdigest()


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry
