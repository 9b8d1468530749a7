"""What a program in a pod finds of its cluster: three files at a fixed path, two variables."""

from __future__ import annotations

import os
import urllib.parse
from pathlib import Path
from typing import Final

ACCOUNT_DIR: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where every client library looks: no variable moves it."""

NAMESPACE: Final = "default"

_SECRET: Final = 0o600
_PUBLIC: Final = 0o644


def write_account(
    directory: Path, *, token: str, authority: Path, namespace: str = NAMESPACE
) -> None:
    """Write ``token``, ``ca.crt`` and ``namespace``, as a ServiceAccount is mounted into a pod.

    Each file is replaced at once, so that a client that reads again sees the old or the new one.
    """
    _replace(directory / "token", token, _SECRET)
    _replace(directory / "ca.crt", authority.read_text("ascii"), _PUBLIC)
    _replace(directory / "namespace", namespace, _PUBLIC)


def variables(url: str) -> dict[str, str]:
    """The environment of a pod for an HTTPS server at ``url``."""
    parts = urllib.parse.urlsplit(url)
    return {
        "KUBERNETES_SERVICE_HOST": parts.hostname or "",
        "KUBERNETES_SERVICE_PORT": str(parts.port or ""),
    }


def _replace(path: Path, text: str, mode: int) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    partial.replace(path)
