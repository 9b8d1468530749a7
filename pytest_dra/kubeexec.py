"""Commands in containers, by the web socket of ``kubectl exec``.

With :mod:`pytest_dra.kube`, through which it is used, the only importer of the ``kubernetes``
client.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

_STDOUT, _STDERR = 1, 2
"""Channels of a command's outputs."""


class ExecError(Exception):
    """The command could not be run, or does not end; ``code`` is the server's (0: no answer)."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def execute(
    configuration: Any,
    path: str,
    argv: Sequence[str],
    *,
    container: str,
    headers: Mapping[str, str],
    timeout_s: float,
) -> tuple[int, str, str]:
    """Run a command in a container: its exit status (-1: unknown), and the two outputs.

    Args:
        configuration: of the client library: host, TLS.
        path: of the pod's subresource ``exec``.
        argv: the command; there is no shell.
        container: its name.
        headers: who asks.
        timeout_s: longest run.

    Raises:
        ExecError: see there.
    """
    from kubernetes.stream.ws_client import WSClient

    words = [*(("command", word) for word in argv), ("container", container)]
    query = urlencode([*words, ("stdout", "true"), ("stderr", "true")])
    # The scheme of web sockets: ws, or wss for https.
    host = str(configuration.host).replace("http", "ws", 1)
    try:
        stream: Any = WSClient(  # type: ignore[no-untyped-call]
            configuration, f"{host}{path}?{query}", dict(headers), True
        )
        stream.run_forever(timeout=timeout_s)
        open_still = stream.is_open()
        if open_still:
            stream.close()
        code = stream.returncode
        out, err = stream.read_channel(_STDOUT), stream.read_channel(_STDERR)
    except Exception as error:
        # What the library raises where the server refuses has no common class.
        raise ExecError(str(error), getattr(error, "status", None) or 0) from error
    if open_still:
        raise ExecError(f"no end within {timeout_s:g} s", 0)
    return -1 if code is None else int(code), out, err
