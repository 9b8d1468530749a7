"""The switches of the good driver."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

NAME = "odd.example.com"

SPECIALS = ("counters", "taints", "shared")
"""Kinds of devices that cannot simply be given away whole."""

SOCKETS = ("plain", "folder", "link", "renamed", "hashed")
"""Forms of the registration socket: in the registry itself, in a folder of it, a link to a socket
elsewhere, bound under a hidden name and renamed, or with a hash in its name (V09)."""

ENDPOINTS = ("driver-dir", "elsewhere", "same")
"""Where DRA is served: in the driver's directory, outside of it, or on the registration socket."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """See the help text of each switch."""

    name: str
    node: str
    kubeconfig: Path
    registry_dir: Path
    plugins_dir: Path
    cdi_dir: Path
    parts: tuple[str, ...]
    devices: int
    per_slice: int
    special: tuple[str, ...]
    write: str
    socket: str
    endpoint: str
    versions: tuple[str, ...]
    cdi: str
    errors: str
    request_names: str
    delay: float

    @property
    def driver_dir(self) -> Path:
        """The driver's own directory."""
        return self.plugins_dir / self.name


def words(text: str) -> tuple[str, ...]:
    """The words of a list with commas."""
    return tuple(word for word in text.split(",") if word)


def parser() -> argparse.ArgumentParser:
    """The command line; where things lie comes from the environment that every driver gets."""
    made = argparse.ArgumentParser(prog="tests.drivers.good")
    made.add_argument("--name", default=NAME)
    made.add_argument("--parts", default="plugin,controller", type=words, help="what this one is")
    made.add_argument("--devices", default=3, type=int)
    made.add_argument("--per-slice", default=128, type=int)
    made.add_argument("--special", default=(), type=words, help=f"first devices: {SPECIALS}")
    made.add_argument("--write", default="put", choices=("put", "patch", "apply", "never"))
    made.add_argument("--socket", default="plain", choices=SOCKETS)
    made.add_argument("--endpoint", default="driver-dir", choices=ENDPOINTS)
    made.add_argument("--versions", default="v1.DRAPlugin,v1beta1.DRAPlugin", type=words)
    made.add_argument("--cdi", default="json", choices=("json", "yaml", "common", "none"))
    made.add_argument("--errors", default="claim", choices=("claim", "rpc", "rpc-always"))
    made.add_argument(
        "--request-names",
        default="full",
        choices=("full", "empty"),
        help="empty: for claims with a single request (V05)",
    )
    made.add_argument("--delay", default=0.0, type=float, help="seconds before anything is done")
    return made


def read(arguments: Sequence[str]) -> Options:
    """The switches of a command line, and the places of the environment."""
    given = vars(parser().parse_args(arguments))
    return Options(
        node=os.environ["NODE_NAME"],
        kubeconfig=Path(os.environ["KUBECONFIG"]),
        registry_dir=Path(os.environ["KUBELET_REGISTRAR_DIRECTORY_PATH"]),
        plugins_dir=Path(os.environ["KUBELET_PLUGINS_DIRECTORY_PATH"]),
        cdi_dir=Path(os.environ["CDI_ROOT"]),
        **given,
    )
