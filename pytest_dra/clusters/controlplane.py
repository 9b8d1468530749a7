"""A real etcd and kube-apiserver as kept processes, on sockets and a port of their own."""

from __future__ import annotations

import http.client
import os
import secrets
import socket
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pytest_dra.api.versions import NEEDS
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.clusters.binaries import Binaries
from pytest_dra.clusters.keypair import private_key
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.embedded.access import MASTERS
from pytest_dra.launch import Keeper
from pytest_dra.launch import LaunchError
from pytest_dra.launch import Process
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

HOST: Final = "127.0.0.1"

ETCD_URL: Final = "unix://etcd.sock"
"""Below the directory that both programs run in: a whole path may be too long for a socket."""

READY_S: Final = 90.0
"""Longest wait for the server: 3 to 5 s on an idle machine, some times that on a busy one."""

ANSWER_S: Final = 5.0
"""Longest wait for one answer about its readiness."""

EVERY_S: Final = 0.1
"""Between two such questions."""

LOG_BYTES: Final = 4 << 20
LOG_TAIL_BYTES: Final = 64 << 10
TAIL_BYTES: Final = 2000
"""How much of a log lies on disk, is kept of a case, and is shown where nothing starts."""

TOKEN_BYTES: Final = 24
"""Random bytes of the one token: beyond guessing for another user of the machine."""

_SECRET: Final = 0o600
"""For their owner only: a key and a token."""

_OK: Final = 200


class ControlPlane:
    """See the module; made of what a version and its gates ask for, started once.

    Nothing is shared with the processes of drivers, and nothing outlives this process: a keeper
    of its own kills both programs and removes their directory.

    Args:
        binaries: the programs.
        version: what the server is to be, older ones by emulation.
        gates: feature gates that differ from that version's defaults.
        user: name of the one user, who may do everything and act as anybody.
    """

    def __init__(
        self,
        binaries: Binaries,
        *,
        version: KubernetesVersion,
        gates: Mapping[str, bool],
        user: str,
    ) -> None:
        self.token = secrets.token_hex(TOKEN_BYTES)
        self._binaries = binaries
        self._version = version
        self._gates = gates
        self._user = user
        self._keeper = Keeper()
        self._processes: dict[str, Process] = {}
        self._port: socket.socket | None = None
        self.directory = Path()

    @property
    def url(self) -> str:
        """Address of the server, with TLS."""
        number = self._port.getsockname()[1] if self._port is not None else 0
        return f"https://{HOST}:{number}"

    def trust(self) -> ssl.SSLContext:
        """What believes in the certificate that the server has made for itself."""
        return ssl.create_default_context(cafile=str(self._certificate))

    def start(self) -> None:
        """Start both; ready when this returns.

        Raises:
            ClusterError: one of them ends, or does not become ready in time.
        """
        try:
            self._keeper.start()
            self.directory = Path(tempfile.mkdtemp(prefix="dra-plane-"))
            self._keeper.own_directory(self.directory)
            self._port = _reserved_port()
            self._write("tokens.csv", f'{self.token},{self._user},{self._user},"{MASTERS}"\n')
            self._write("accounts.key", private_key())
            self._spawn("etcd", self._etcd())
            self._spawn("kube-apiserver", self._kube_apiserver())
        except (OSError, LaunchError) as error:
            raise ClusterError(f"etcd and kube-apiserver do not start: {error}") from error
        deadline = Deadline.after(READY_S)
        if not poll(self._ready, deadline, every_s=EVERY_S):
            raise ClusterError(f"kube-apiserver was not ready within {READY_S:g} s{self._told()}")

    def stop(self) -> None:
        """Kill both, and remove what they have written; calling it twice is fine."""
        self._keeper.close()
        port, self._port = self._port, None
        if port is not None:
            port.close()

    def logs(self, max_bytes: int = LOG_TAIL_BYTES) -> dict[str, str]:
        """The end of the output of each program, by its name."""
        return {name: each.log_tail(max_bytes) for name, each in self._processes.items()}

    def _etcd(self) -> list[str]:
        store = self.directory / "etcd"
        return [
            str(self._binaries.etcd),
            f"--data-dir={store}",
            # No other user of the machine reaches a socket in a private directory.
            f"--listen-client-urls={ETCD_URL}",
            f"--advertise-client-urls={ETCD_URL}",
            f"--listen-peer-urls=http://{HOST}:0",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _kube_apiserver(self) -> list[str]:
        argv = [
            str(self._binaries.kube_apiserver),
            f"--etcd-servers={ETCD_URL}",
            f"--bind-address={HOST}",
            f"--secure-port={self.url.rpartition(':')[2]}",
            # It shares the port with the socket that keeps others off it until then.
            "--permit-port-sharing=true",
            f"--cert-dir={self.directory / 'certs'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.directory / 'accounts.key'}",
            f"--service-account-signing-key-file={self.directory / 'accounts.key'}",
            f"--token-auth-file={self.directory / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            # It wants accounts that a controller makes, and there is none.
            "--disable-admission-plugins=ServiceAccount",
            f"--advertise-address={HOST}",
            "--endpoint-reconciler-type=none",
        ]
        if self._version.minor != self._binaries.minor:
            argv.append(f"--emulated-version={self._version.name}")
        if gates := self._all_gates():
            words = (f"{name}={str(on).lower()}" for name, on in gates.items())
            argv.append(f"--feature-gates={','.join(words)}")
        return argv

    def _all_gates(self) -> dict[str, bool]:
        """The gates that are turned, and what they need that is none of DRA's."""
        needed = {
            other: True
            for gate, on in self._gates.items()
            for other in NEEDS.get(gate, ())
            if on and other not in self._version.gates
        }
        return {**self._gates, **needed}

    @property
    def _certificate(self) -> Path:
        return self.directory / "certs" / "apiserver.crt"

    def _write(self, name: str, text: str) -> None:
        path = self.directory / name
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _SECRET)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)

    def _spawn(self, name: str, argv: list[str]) -> None:
        self._processes[name] = self._keeper.spawn(
            argv,
            env={"PATH": os.defpath, "HOME": str(self.directory)},
            cwd=self.directory,
            log=self.directory / f"{name}.log",
            log_bytes=LOG_BYTES,
        )

    def _ready(self) -> bool:
        for name, process in self._processes.items():
            if not process.alive:
                raise ClusterError(f"{name} has ended, code {process.exit_code}{self._told()}")
        if not self._certificate.exists():
            return False
        try:
            port = int(self.url.rpartition(":")[2])
            link = http.client.HTTPSConnection(HOST, port, timeout=ANSWER_S, context=self.trust())
            try:
                link.request("GET", "/readyz", headers={"Authorization": f"Bearer {self.token}"})
                return link.getresponse().status == _OK
            finally:
                link.close()
        except (OSError, http.client.HTTPException):
            # Not listening yet, or its certificate is half written.
            return False

    def _told(self) -> str:
        ends = self.logs(TAIL_BYTES)
        return "".join(f"\nthe output of {name} ends:\n{text}" for name, text in ends.items())


def _reserved_port() -> socket.socket:
    """A port that is ours: bound, but not listening."""
    link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        link.bind((HOST, 0))
    except OSError:
        link.close()
        raise
    return link
