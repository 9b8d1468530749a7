"""An API server in this process, true enough for an unmodified driver to run against it.

Its behaviour is held against recordings of the real kube-apiserver. The server is loaded when it
is first used: the rules for objects need no HTTP.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING
from typing import Any
from typing import Final

if TYPE_CHECKING:
    from pytest_dra.embedded.access import Attempt
    from pytest_dra.embedded.access import User
    from pytest_dra.embedded.kubeconfig import write_kubeconfig
    from pytest_dra.embedded.server import ApiServer

__all__ = ["ApiServer", "Attempt", "User", "write_kubeconfig"]

_HOMES: Final = {
    "ApiServer": "server",
    "Attempt": "access",
    "User": "access",
    "write_kubeconfig": "kubeconfig",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
