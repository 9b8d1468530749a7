"""Where the API server is and how it is asked.

The ``kubernetes`` client reads kubeconfigs with TLS and credentials. A plain server on this machine
(the embedded one, ``kubectl proxy``) is found without it: importing the library takes longer than
everything else in the start of the driver, and it is killed and started a lot.
"""

from __future__ import annotations

import dataclasses
import functools
import ipaddress
import urllib.parse
from collections.abc import Callable
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.fake_driver.errors import StartError

KUBECONFIG_MAX: Final = 1 << 20
"""Bytes of a kubeconfig that are looked at without the library."""

CONNECTIONS: Final = 8
"""Connections that are kept open: a watch, the publisher, and some claims at a time."""

USER_AGENT: Final = "dra-fake-driver"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """An API server: its URL, an HTTP pool to it, and the headers of each request."""

    url: str
    pool: Any
    headers: Callable[[], dict[str, str]]


def find(kubeconfig: Path | None) -> Server:
    """The server of a kubeconfig, or of the cluster whose pod we are; it is not contacted.

    Raises:
        StartError: the configuration is not usable.
    """
    plain = _plain(kubeconfig) if kubeconfig is not None else None
    return plain or _by_library(kubeconfig)


def _plain(kubeconfig: Path) -> Server | None:
    """The server if it is a plain one on this machine that asks for nothing, else None."""
    import urllib3
    import yaml

    try:
        with kubeconfig.open("rb") as file:
            config = yaml.safe_load(file.read(KUBECONFIG_MAX))
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"] or {}
        url = urllib.parse.urlsplit(cluster["server"])
        local = ipaddress.ip_address(url.hostname or "").is_loopback
    except (OSError, ValueError, KeyError, TypeError, StopIteration, yaml.YAMLError):
        return None
    if url.scheme != "http" or not local or set(cluster) - {"server"} or set(user) - {"token"}:
        return None
    headers = {"User-Agent": USER_AGENT}
    if user.get("token"):
        headers["Authorization"] = f"Bearer {user['token']}"
    return Server(
        url=str(cluster["server"]).rstrip("/"),
        pool=urllib3.PoolManager(maxsize=CONNECTIONS),
        headers=functools.partial(dict, headers),
    )


def _named(entries: list[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _by_library(kubeconfig: Path | None) -> Server:
    try:
        import kubernetes.client
        import kubernetes.config
    except ImportError as error:
        raise StartError(
            f"the kubernetes client does not import ({error}); install pytest-dra again"
        ) from error
    loader: Any = kubernetes.config
    configuration = kubernetes.client.Configuration()
    try:
        if kubeconfig is None:
            loader.load_incluster_config(client_configuration=configuration)
        else:
            loader.load_kube_config(config_file=str(kubeconfig), client_configuration=configuration)
    except Exception as error:
        # The library raises whatever its YAML parser and its own checks raise.
        where = kubeconfig or "the in-cluster configuration"
        raise StartError(f"{where} is not usable: {error}; mend it") from error
    client: Any = kubernetes.client.ApiClient(configuration)

    def headers() -> dict[str, str]:
        found = dict(client.default_headers)
        for setting in client.configuration.auth_settings().values():
            if setting["in"] == "header" and setting["value"]:
                found[setting["key"]] = setting["value"]
        return found

    return Server(
        url=client.configuration.host, pool=client.rest_client.pool_manager, headers=headers
    )
