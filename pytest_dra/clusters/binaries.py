"""The programs of a real control plane on this machine: where they lie, and what they are."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VARIABLE: Final = "KUBEBUILDER_ASSETS"
"""Where controller-runtime's envtest looks, too."""

USUAL: Final = Path("/usr/local/kubebuilder/bin")
"""Where envtest looks without the variable."""

ETCD: Final = "etcd"
KUBE_APISERVER: Final = "kube-apiserver"

EMULATED_BEFORE: Final = 3
"""So many minor versions back a kube-apiserver can emulate."""

VERSION_S: Final = 20.0
"""Longest wait for a program's version: it is 150 MB and may have to be read from disk."""

_VERSION: Final = re.compile(r"v?1\.(\d+)\.\d+\S*")


class BinariesError(Exception):
    """The programs cannot be used; one sentence with the way out."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """The two programs. ``version`` is kube-apiserver's own, such as ``v1.37.2``."""

    etcd: Path
    kube_apiserver: Path
    version: str

    @property
    def minor(self) -> int:
        """37 for ``v1.37.2``."""
        found = _VERSION.fullmatch(self.version)
        return int(found.group(1)) if found else 0

    def must_serve(self, kubernetes: str) -> None:
        """Refuse a version such as ``1.36`` that the program neither is nor emulates.

        Raises:
            BinariesError: it is another one.
        """
        wanted, have = int(kubernetes.partition(".")[2]), self.minor
        if not have - EMULATED_BEFORE <= wanted <= have:
            raise BinariesError(
                f"{self.kube_apiserver} is {self.version} and cannot be Kubernetes {kubernetes}; "
                f"add --dra-kubernetes=1.{have}, or let {VARIABLE} name other programs"
            )


def find_binaries(environ: Mapping[str, str] = os.environ) -> Binaries:
    """The programs in the directory that ``KUBEBUILDER_ASSETS`` names, or the usual one.

    Raises:
        BinariesError: one is not there, or does not tell its version.
    """
    named = environ.get(VARIABLE, "")
    folder = Path(named).absolute() if named else USUAL
    missing = [name for name in (ETCD, KUBE_APISERVER) if not os.access(folder / name, os.X_OK)]
    if missing:
        where = f"{VARIABLE}={named}" if named else f"{VARIABLE} is not set, and {USUAL}"
        raise BinariesError(
            f"{where} has no program {' and no '.join(missing)}; let {VARIABLE} name a folder with "
            "both ('setup-envtest use -p path' fetches one), or use --dra-cluster=embedded"
        )
    program = folder / KUBE_APISERVER
    return Binaries(etcd=folder / ETCD, kube_apiserver=program, version=_version_of(program))


def _version_of(program: Path) -> str:
    try:
        done = subprocess.run(
            [str(program), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_S,
            check=False,
        )
        said = (done.stdout[:200] or done.stderr[:200]).decode("utf-8", "replace").strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    found = _VERSION.fullmatch(said.rpartition(" ")[2])
    if found is None:
        raise BinariesError(f"{program} --version: got {said!r}, want a version of Kubernetes")
    return found.group(0)
