"""One context of the user's kubeconfig files, found as kubectl finds it, as a file of its own.

In a pod, where there is no such file, it is what the pod's ServiceAccount has mounted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from typing import Final

import yaml

from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.embedded.incluster import ACCOUNT_DIR
from pytest_dra.spec import Json

VARIABLE: Final = "KUBECONFIG"
USUAL: Final = "~/.kube/config"

IN_CLUSTER: Final = "in-cluster"
"""Name of the context of a pod's ServiceAccount."""

HTTPS_PORT: Final = "443"

FILE_MAX: Final = 16 << 20
"""Bytes of a kubeconfig that are read: certificates of hundreds of clusters are far less."""

_MODE: Final = 0o600
"""The file holds credentials: for its owner only."""

_PATHS: Final = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key", "tokenFile"),
}
"""Fields with paths, which are relative to the file in which they stand."""


def files_of(environ: Mapping[str, str]) -> list[Path]:
    """The kubeconfig files, the one that wins first."""
    given = [each for each in environ.get(VARIABLE, "").split(os.pathsep) if each]
    return [Path(each).expanduser() for each in given or [USUAL]]


def found(
    environ: Mapping[str, str], context: str = "", *, account: Path = Path(ACCOUNT_DIR)
) -> tuple[str, Json]:
    """The context of the user's kubeconfig, or in a pod without one that of its ServiceAccount.

    Args:
        environ: names kubeconfig and, in a pod, the API server.
        context: as for :func:`chosen`.
        account: where a ServiceAccount is mounted.

    Raises:
        ClusterError: as :func:`chosen`.
    """
    files = files_of(environ)
    in_pod = environ.get("KUBERNETES_SERVICE_HOST") and (account / "token").is_file()
    if context in ("", IN_CLUSTER) and in_pod and not any(each.exists() for each in files):
        return IN_CLUSTER, _of_account(environ, account)
    return chosen(files, context)


def _of_account(environ: Mapping[str, str], account: Path) -> Json:
    """A kubeconfig of the account that a pod has, as client libraries find it."""
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "")
    address = f"[{host}]" if ":" in host else host
    context = {"cluster": IN_CLUSTER, "user": IN_CLUSTER}
    with suppress(OSError):
        context["namespace"] = (account / "namespace").read_text("utf-8").strip()
    cluster = {
        "server": f"https://{address}:{port or HTTPS_PORT}",
        "certificate-authority": str(account / "ca.crt"),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": IN_CLUSTER,
        "contexts": [{"name": IN_CLUSTER, "context": context}],
        "clusters": [{"name": IN_CLUSTER, "cluster": cluster}],
        "users": [{"name": IN_CLUSTER, "user": {"tokenFile": str(account / "token")}}],
    }


def token_file_of(config: Json) -> Path | None:
    """The file with the token of a kubeconfig with one context; None if it has none."""
    name = config["users"][0]["user"].get("tokenFile")
    return Path(name) if name else None


def chosen(files: Iterable[Path], context: str = "") -> tuple[str, Json]:
    """A kubeconfig with one context only, its name with it; paths are absolute.

    Args:
        files: the first that has something wins; those that are not there count as empty.
        context: its name; "": the current one.

    Raises:
        ClusterError: there is no such context, or a file is none; with what to do.
    """
    files = list(files)
    found = [(file.parent.absolute(), config) for file in files if (config := _read(file))]
    shown = ", ".join(map(str, files))
    if not found:
        raise ClusterError(
            f"no kubeconfig at {shown}: set {VARIABLE}, or write one, for example with "
            "'kind export kubeconfig'"
        )
    name = context or next(
        (str(each["current-context"]) for _, each in found if each.get("current-context")), ""
    )
    if not name:
        raise ClusterError(f"{shown}: no current context; name one: kubeconfig:CONTEXT")
    known = [str(item.get("name")) for _, config in found for item in _items(config, "contexts")]
    if name not in known:
        raise ClusterError(
            f"no context {name!r} in {shown}; it has {', '.join(dict.fromkeys(known)) or 'none'}"
        )
    about = _named(found, "context", name, shown)
    made: Json = {"apiVersion": "v1", "kind": "Config", "current-context": name}
    made["contexts"] = [{"name": name, "context": about}]
    for kind in ("cluster", "user"):
        wanted = str(about.get(kind) or "")
        made[f"{kind}s"] = [{"name": wanted, kind: _named(found, kind, wanted, shown)}]
    return name, made


def written(config: Json, file: Path) -> Path:
    """Write a kubeconfig for this user alone; the file."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as target:
        yaml.safe_dump(config, target, sort_keys=False)
    return file


def namespace_of(config: Json) -> str:
    """The namespace of a kubeconfig with one context."""
    return str(config["contexts"][0]["context"].get("namespace") or "default")


def server_of(config: Json) -> str:
    """The address of the server of a kubeconfig with one context."""
    return str(config["clusters"][0]["cluster"].get("server") or "")


def _read(file: Path) -> Json:
    try:
        with file.open("rb") as source:
            text = source.read(FILE_MAX + 1)
        config = yaml.safe_load(text)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ClusterError(f"kubeconfig {file}: {error.strerror}") from error
    except yaml.YAMLError as error:
        first = str(error).replace("\n", " ")
        raise ClusterError(f"kubeconfig {file}: no YAML: {first}") from error
    if config is None:
        return {}
    if len(text) > FILE_MAX or not isinstance(config, dict):
        raise ClusterError(f"kubeconfig {file}: not of the form of one")
    return config


def _items(config: Json, kind: str) -> list[Json]:
    items = config.get(kind)
    return [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []


def _named(found: list[tuple[Path, Json]], kind: str, name: str, shown: str) -> Json:
    """What has this name in the first file that has it."""
    for folder, config in found:
        for item in _items(config, f"{kind}s"):
            about = item.get(kind)
            if item.get("name") == name and isinstance(about, dict):
                return _absolute(about, _PATHS.get(kind, ()), folder)
    raise ClusterError(f"{shown}: no {kind} {name!r}, which the context names")


def _absolute(about: Json, fields: Iterable[str], folder: Path) -> Json:
    made: dict[str, Any] = dict(about)
    for field in fields:
        if made.get(field):
            made[field] = str(folder / str(made[field]))
    plugin = made.get("exec")
    if isinstance(plugin, dict) and os.sep in str(plugin.get("command") or ""):
        made["exec"] = {**plugin, "command": str(folder / str(plugin["command"]))}
    return made
