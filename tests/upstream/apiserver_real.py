"""The real kube-apiserver as the recordings had it: no controllers, four identities, TLS.

``KUBEBUILDER_ASSETS`` names the folder of etcd and kube-apiserver. Older versions are emulated,
unless the program is of that version itself.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final

from pytest_dra.api.versions import NEEDS
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.clusters.binaries import Binaries
from pytest_dra.clusters.keypair import private_key
from pytest_dra.launch import Keeper
from pytest_dra.launch import Process
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.upstream.apiserver import ALPHA_SUFFIX
from tests.upstream.apiserver import TOKENS

HOST: Final = "127.0.0.1"
READY_S: Final = 120.0
"""Longest start; 5 s on an idle machine."""

_LOG_BYTES: Final = 4 << 20
_TAIL_BYTES: Final = 3000
_ASKED_S: Final = 5.0
_ROWS: Final = (
    ("admin", "admin", "admin", "system:masters"),
    ("user", "plain-user", "u-plain", "plain-group"),
    ("kubelet-a", "system:node:node-a", "node-a", "system:nodes"),
    ("kubelet-b", "system:node:node-b", "node-b", "system:nodes"),
)
"""Identity of the scripts, user, uid and group."""


class RealServer:
    """etcd and kube-apiserver of one profile; a context manager that ends both.

    Args:
        binaries: the programs.
        profile: as in :mod:`tests.upstream.apiserver`; ``-alpha`` turns all of DRA's gates on and
            serves every version.
    """

    def __init__(self, binaries: Binaries, profile: str) -> None:
        self._binaries = binaries
        self._alpha = profile.endswith(ALPHA_SUFFIX)
        self._version = kubernetes_version(profile.removesuffix(ALPHA_SUFFIX))
        self._keeper = Keeper()
        self._directory = Path()
        self._processes: dict[str, Process] = {}
        self._port = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"https://{HOST}:{self._port}"

    def trust(self) -> ssl.SSLContext:
        """What believes in its certificate."""
        return ssl.create_default_context(cafile=str(self._directory / "certs" / "apiserver.crt"))

    def __enter__(self) -> RealServer:
        self._keeper.start()
        try:
            self._start()
        except BaseException:
            self._keeper.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._keeper.close()

    def _start(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="dra-real-", dir="/tmp"))
        self._keeper.own_directory(self._directory)
        self._port = _free_port()
        rows = (f'{TOKENS[who]},{user},{uid},"{group}"' for who, user, uid, group in _ROWS)
        (self._directory / "tokens.csv").write_text("\n".join(rows) + "\n")
        (self._directory / "accounts.key").write_text(private_key())
        self._spawn("etcd", self._etcd())
        self._spawn("kube-apiserver", self._kube_apiserver())
        if not poll(self._ready, Deadline.after(READY_S), every_s=0.2):
            raise RuntimeError(f"kube-apiserver is not ready{self._told()}")

    def _etcd(self) -> list[str]:
        return [
            str(self._binaries.etcd),
            f"--data-dir={self._directory / 'etcd'}",
            "--listen-client-urls=unix://etcd.sock",
            "--advertise-client-urls=unix://etcd.sock",
            f"--listen-peer-urls=http://{HOST}:0",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _kube_apiserver(self) -> list[str]:
        here, key = self._directory, self._directory / "accounts.key"
        argv = [
            str(self._binaries.kube_apiserver),
            "--etcd-servers=unix://etcd.sock",
            f"--bind-address={HOST}",
            f"--secure-port={self._port}",
            f"--cert-dir={here / 'certs'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            f"--token-auth-file={here / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--advertise-address={HOST}",
            "--endpoint-reconciler-type=none",
        ]
        if self._version.minor != self._binaries.minor:
            argv.append(f"--emulated-version={self._version.name}")
        return argv + (self._everything() if self._alpha else [])

    def _everything(self) -> list[str]:
        gates = {gate for gate, stage in self._version.stages.items() if stage.value != "locked"}
        gates |= {need for gate in gates for need in NEEDS.get(gate, ())}
        served = ("v1beta1", "v1beta2", "v1alpha3")
        return [
            "--feature-gates=" + ",".join(f"{gate}=true" for gate in sorted(gates)),
            "--runtime-config=" + ",".join(f"resource.k8s.io/{name}=true" for name in served),
        ]

    def _spawn(self, name: str, argv: list[str]) -> None:
        self._processes[name] = self._keeper.spawn(
            argv,
            env={"PATH": os.defpath, "HOME": str(self._directory)},
            cwd=self._directory,
            log=self._directory / f"{name}.log",
            log_bytes=_LOG_BYTES,
        )

    def _ready(self) -> bool:
        for name, process in self._processes.items():
            if not process.alive:
                raise RuntimeError(f"{name} has ended, code {process.exit_code}{self._told()}")
        try:
            trust = self.trust()
            link = http.client.HTTPSConnection(HOST, self._port, timeout=_ASKED_S, context=trust)
            try:
                link.request(
                    "GET", "/readyz", headers={"Authorization": f"Bearer {TOKENS['admin']}"}
                )
                return link.getresponse().status == http.client.OK
            finally:
                link.close()
        except (OSError, http.client.HTTPException):
            return False

    def _told(self) -> str:
        return "".join(
            f"\nthe output of {name} ends:\n{process.log_tail(_TAIL_BYTES)}"
            for name, process in self._processes.items()
        )


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as link:
        link.bind((HOST, 0))
        found: int = link.getsockname()[1]
        return found
