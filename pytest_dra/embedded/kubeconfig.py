"""The file by which clients find a server."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

import yaml

from pytest_dra.embedded.access import IDENTITY_PATH

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~-]+")

_MODE: Final = 0o600
"""The file holds a token: for its owner only."""


def write_kubeconfig(path: Path, *, server: str, token: str, context: str = "embedded") -> None:
    """Write a kubeconfig with one cluster, one user and one context, readable by its owner only.

    Args:
        path: the file; an existing one is replaced.
        server: URL of the API server.
        token: bearer token of the user.
        context: name of cluster, user and context.

    Raises:
        ValueError: the token has characters that a URL would have to escape.
    """
    if _TOKEN.fullmatch(token) is None:
        raise ValueError("a token may only have letters, digits and . _ ~ -")
    if server.startswith("http://"):
        # client-go sends no token over plain HTTP, so the path has to say who is asking
        server = f"{server.rstrip('/')}{IDENTITY_PATH}{token}"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": {"server": server}}],
        "users": [{"name": context, "user": {"token": token}}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
        "current-context": context,
    }
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        yaml.safe_dump(config, file, sort_keys=False)
    partial.replace(path)
