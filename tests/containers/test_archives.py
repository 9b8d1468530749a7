"""Images in files: what is taken for one, and what an engine is given of it."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.containers import archives
from tests.clusters.stubs import Stub

CONFIG = b'{"os": "linux"}'
LAYER = b"a layer"
ID = hashlib.sha256(CONFIG).hexdigest()[:12]

BODY = """\
if words[:2] == ["image", "inspect"]:
    sys.exit(1)
open({file!r}, "wb").write(sys.stdin.buffer.read())
"""


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    body = BODY.format(file=str(tmp_path / "loaded.tar"))
    return Engine(Stub(tmp_path, "docker", body).program)


def tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as made:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            made.addfile(entry, io.BytesIO(data))
    return path


def docker_archive(path: Path, **changes: Any) -> Path:
    one = {"Config": "c.json", "RepoTags": ["reg.example/a/gpu-driver:1.2"], "Layers": ["l.tar"]}
    manifest = json.dumps([{**one, **changes}]).encode()
    return tar(path, {"manifest.json": manifest, "c.json": CONFIG, "l.tar": LAYER})


def blob(folder: Path, data: bytes) -> dict[str, str]:
    digest = hashlib.sha256(data).hexdigest()
    (folder / "blobs/sha256").mkdir(parents=True, exist_ok=True)
    (folder / "blobs/sha256" / digest).write_bytes(data)
    return {"digest": f"sha256:{digest}"}


def layout(folder: Path) -> Path:
    manifest = {"config": blob(folder, CONFIG), "layers": [blob(folder, LAYER)]}
    inner = blob(folder, json.dumps(manifest).encode())
    entries = [
        {**inner, "platform": {"os": "linux", "architecture": "amd64"}},
        {**inner, "platform": {"os": "linux", "architecture": "s390x"}},
    ]
    outer: dict[str, Any] = blob(folder, json.dumps({"manifests": entries}).encode())
    outer["annotations"] = {"org.opencontainers.image.ref.name": "reg.example/gpu:1"}
    (folder / "index.json").write_text(json.dumps({"manifests": [outer]}))
    (folder / "oci-layout").write_text("{}")
    return folder


def given(tmp_path: Path) -> dict[str, bytes]:
    """What the engine was given."""
    with tarfile.open(tmp_path / "loaded.tar") as made:
        return {each.name: (made.extractfile(each) or io.BytesIO()).read() for each in made}


def test_a_docker_archive_is_loaded_under_a_name_of_ours(tmp_path: Path, engine: Engine) -> None:
    name = archives.loaded(engine, docker_archive(tmp_path / "d.tar"))
    assert name == f"localhost/pytest-dra/gpu-driver:{ID}"
    files = given(tmp_path)
    (one,) = json.loads(files["manifest.json"])
    assert one["RepoTags"] == [name]
    assert files[one["Config"]] == CONFIG
    assert [files[each] for each in one["Layers"]] == [LAYER]


def test_an_oci_layout_is_loaded_as_a_folder_and_as_an_archive(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    folder = layout(tmp_path / "oci")
    name = f"localhost/pytest-dra/gpu:{ID}"
    assert archives.loaded(engine, folder) == name
    with tarfile.open(tmp_path / "oci.tar", "w") as made:
        made.add(folder, ".")
    assert archives.loaded(engine, tmp_path / "oci.tar") == name
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(ClusterError, match="0 images for linux/riscv64, want one"):
        archives.loaded(engine, folder)


def test_a_layer_that_was_changed_is_refused(tmp_path: Path, engine: Engine) -> None:
    folder = layout(tmp_path / "oci")
    (folder / "blobs/sha256" / hashlib.sha256(LAYER).hexdigest()).write_bytes(b"another")
    with pytest.raises(ClusterError, match="has another content than its digest says"):
        archives.loaded(engine, folder)


def test_digests_lead_nowhere_else(tmp_path: Path, engine: Engine) -> None:
    folder = layout(tmp_path / "oci")
    index = {"manifests": [{"digest": "sha256:../../../../etc/passwd"}]}
    (folder / "index.json").write_text(json.dumps(index))
    with pytest.raises(ClusterError, match=r"got the digest .*passwd', want sha256"):
        archives.loaded(engine, folder)


def test_what_is_no_image_is_told(tmp_path: Path, engine: Engine) -> None:
    (tmp_path / "text").write_text("no archive")
    two = [{"Config": "c", "Layers": []}] * 2
    for path, text in (
        (tmp_path / "text", r"text is no image: .* Want a Docker archive \(docker save\)"),
        (tmp_path / "none", "none is no image: .*No such file"),
        (tar(tmp_path / "empty.tar", {"x": b""}), "there is no index.json in it"),
        (tar(tmp_path / "two.tar", {"manifest.json": json.dumps(two).encode()}), "got 2 images"),
        (docker_archive(tmp_path / "tags.tar", RepoTags=5), "RepoTags is no list of names"),
        (docker_archive(tmp_path / "lost.tar", Layers=["x"]), "there is no x in it"),
        (docker_archive(tmp_path / "many.tar", Layers=["l.tar"] * 200), "200 layers, at most 127"),
    ):
        with pytest.raises(ClusterError, match=text):
            archives.loaded(engine, path)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("begin", [0.3, 0.6])
def test_an_archive_that_was_damaged_is_told(
    compress: Callable[[bytes], bytes], begin: float, tmp_path: Path, engine: Engine
) -> None:
    # Something to compress: what is stored as it is shows no damage.
    config = json.dumps({"os": "linux", "history": list(range(100_000))}).encode()
    manifest = json.dumps([{"Config": "c", "Layers": ["l"]}]).encode()
    whole = tar(tmp_path / "w.tar", {"manifest.json": manifest, "c": config, "l": config})
    data = bytearray(compress(whole.read_bytes()))
    place = int(len(data) * begin)
    data[place : place + 64] = bytes(64)
    whole.write_bytes(data)
    with pytest.raises(ClusterError, match=r"w\.tar is no image: .*Want a Docker archive"):
        archives.loaded(engine, whole)


def test_names_are_no_files_and_paths_are(tmp_path: Path) -> None:
    assert not archives.is_archive("registry.example/driver:1")
    assert not archives.is_archive("driver")
    assert archives.is_archive("./driver.tar")
    assert archives.is_archive(str(tmp_path))
