"""An API server in this process, true enough for an unmodified driver to run against it.

Its behaviour is held against recordings of the real kube-apiserver.
"""

from __future__ import annotations

from pytest_dra.embedded.access import Attempt
from pytest_dra.embedded.access import User
from pytest_dra.embedded.kubeconfig import write_kubeconfig
from pytest_dra.embedded.server import ApiServer

__all__ = ["ApiServer", "Attempt", "User", "write_kubeconfig"]
