"""The image of the bundled fake driver: built of this installation, once for each content of it."""

from __future__ import annotations

import hashlib
import importlib.resources
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

import pytest_dra
from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.remedies import OF_MACHINE
from pytest_dra.clusters.remedies import remedy_for
from pytest_dra.clusters.remedies import told
from pytest_dra.launch.tool import ToolError
from pytest_dra.launch.tool import call

REPOSITORY: Final = "localhost/pytest-dra/dra-fake-driver"

PARTS: Final = ("__init__.py", "api", "wire", "fake_driver")
"""What the fake driver imports of the package."""

PACKAGES: Final = ("grpcio", "kubernetes", "protobuf", "PyYAML")
"""What it imports besides, in the versions that are installed here."""

TAG_LENGTH: Final = 12
"""Digits of the content's hash in the tag."""

INSTALL_S: Final = 300.0
"""Longest download of the packages: 15 MB from a slow index."""

PROGRAM: Final = "dra-fake-driver"
MODULE: Final = "pytest_dra.fake_driver"
"""The command of the manifests, and what it runs."""

EXECUTABLE: Final = 0o755

PYTHON_S: Final = 180.0
"""Longest start and end of a container that says which Python it has, on a busy machine."""

_SAY = "import sys; print('%d.%d' % sys.version_info[:2])"


def image_name(base: str) -> str:
    """The image's name: its tag changes with the driver, its packages and the base."""
    told = hashlib.sha256(base.encode())
    for file in _files():
        told.update(file.name.encode())
        told.update(file.read_bytes())
    for package in PACKAGES:
        told.update(f"{package}=={metadata.version(package)}".encode())
    return f"{REPOSITORY}:{told.hexdigest()[:TAG_LENGTH]}"


def build(engine: Engine, folder: Path, *, base: str) -> None:
    """Build the image, unless the engine has it.

    Args:
        engine: builds it.
        folder: an empty one, for the build.
        base: image with Python 3.10 or newer and a shell.

    Raises:
        ClusterError: it cannot be built, with what to do.
    """
    image = image_name(base)
    try:
        if engine.has_image(image):
            return
        _fill(folder, python=_python_of(engine, base))
        engine.build(folder, tag=image, arguments={"BASE": base})
    except ToolError as error:
        usual = "a base image that the engine has is named with --dra-base-image"
        problem = f"--dra-driver=fake: its image cannot be built on {base}: {error}"
        raise ClusterError(told(problem, remedy_for(error.said, OF_MACHINE) or usual)) from error


def _python_of(engine: Engine, base: str) -> str:
    """Minor version of the base image's Python."""
    return engine.call(
        ["run", "--rm", "--network=none", "--entrypoint=python3", base, "-c", _SAY],
        timeout_s=PYTHON_S,
    ).strip()


def _fill(folder: Path, *, python: str) -> None:
    """What the Dockerfile copies: the driver's part of the package, and its packages."""
    source = importlib.resources.files(pytest_dra)
    target = folder / "site" / "pytest_dra"
    target.mkdir(parents=True)
    for part in PARTS:
        path = Path(str(source.joinpath(part)))
        if path.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(path, target / part, ignore=ignored)
        else:
            shutil.copy(path, target / part)
    shutil.copy(target / "fake_driver" / "Dockerfile", folder / "Dockerfile")
    program = folder / PROGRAM
    program.write_text(f'#!/bin/sh\nexec python3 -m {MODULE} "$@"\n', "utf-8")
    program.chmod(EXECUTABLE)
    wanted = [f"{package}=={metadata.version(package)}" for package in PACKAGES]
    call(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--no-compile", "--only-binary=:all:", f"--python-version={python}",
            f"--target={folder / 'site'}", *wanted,
        ],
        timeout_s=INSTALL_S,
    )  # fmt: skip


def _files() -> list[Path]:
    source = Path(str(importlib.resources.files(pytest_dra)))
    found = []
    for part in PARTS:
        path = source / part
        inner = path.rglob("*") if path.is_dir() else [path]
        found += [each for each in inner if each.is_file() and "__pycache__" not in each.parts]
    return sorted(found)
