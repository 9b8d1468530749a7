"""A real etcd and kube-apiserver as kept processes, on sockets and a port of their own."""

from __future__ import annotations

import http.client
import os
import secrets
import shutil
import socket
import ssl
import tempfile
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pytest_dra.api.versions import NEEDS
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.clusters.binaries import ETCD
from pytest_dra.clusters.binaries import KUBE_APISERVER
from pytest_dra.clusters.binaries import Binaries
from pytest_dra.clusters.keypair import private_key
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.embedded.access import MASTERS
from pytest_dra.embedded.port import HOST
from pytest_dra.launch import Keeper
from pytest_dra.launch import LaunchError
from pytest_dra.launch import Process
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

ETCD_URL: Final = "unix://etcd.sock"
"""Below the directory that both programs run in: a whole path may be too long for a socket."""

SECOND: Final = "second-kube-apiserver"
"""Name of the other server in messages and of its log."""

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
        return _url(self._port) if self._port is not None else ""

    @property
    def pids(self) -> tuple[int, ...]:
        """Of etcd and the server."""
        return tuple(each.pid for each in self._processes.values())

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
            self._run()
        except (OSError, LaunchError) as error:
            raise ClusterError(f"etcd and kube-apiserver do not start: {error}") from error
        self._wait(KUBE_APISERVER, self.url)

    def _run(self) -> None:
        self._spawn(ETCD, self._etcd())
        self._spawn(KUBE_APISERVER, self._kube_apiserver(self.url, self._gates))

    def restart(self, *, loses_objects: bool = False) -> None:
        """Kill both and start them again: same port, same objects, or none.

        Raises:
            ClusterError: they do not come back.
        """
        try:
            for name in (KUBE_APISERVER, ETCD):
                self._processes[name].kill()
            if loses_objects:
                shutil.rmtree(self.directory / ETCD)
            self._run()
        except (OSError, LaunchError) as error:
            raise ClusterError(f"etcd and kube-apiserver do not start: {error}") from error
        self._wait(KUBE_APISERVER, self.url)

    @contextmanager
    def second(self, *, gates: Mapping[str, bool], serving: Mapping[str, bool]) -> Iterator[str]:
        """Run another kube-apiserver on the same storage, and give its URL.

        Args:
            gates: feature gates that differ from those of the first one.
            serving: group versions that it is to serve or not to serve.

        Raises:
            ClusterError: it does not start with these.
        """
        port = _reserved_port()
        url = _url(port)
        more = [f"--runtime-config={_turned(serving)}"] if serving else []
        try:
            argv = self._kube_apiserver(url, {**self._gates, **self._consequences(gates), **gates})
            self._spawn(SECOND, [*argv, *more])
            self._wait(SECOND, url)
            yield url
        except LaunchError as error:
            raise ClusterError(f"a second kube-apiserver does not start: {error}") from error
        finally:
            port.close()
            second = self._processes.pop(SECOND, None)
            if second is not None:
                second.kill()

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
        store = self.directory / ETCD
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

    def _kube_apiserver(self, url: str, gates: Mapping[str, bool]) -> list[str]:
        argv = [
            str(self._binaries.kube_apiserver),
            f"--etcd-servers={ETCD_URL}",
            f"--bind-address={HOST}",
            f"--secure-port={url.rpartition(':')[2]}",
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
        if every := self._with_needs(gates):
            argv.append(f"--feature-gates={_turned(every)}")
        return argv

    def _consequences(self, gates: Mapping[str, bool]) -> dict[str, bool]:
        """Off is also what needs one that is turned off."""
        off = {gate for gate, on in gates.items() if not on}
        return {
            gate: False
            for gate, others in NEEDS.items()
            if self._version.enabled(gate) and not off.isdisjoint(others)
        }

    def _with_needs(self, gates: Mapping[str, bool]) -> dict[str, bool]:
        """The gates that are turned, and what they need that is none of DRA's."""
        needed = {
            other: True
            for gate, on in gates.items()
            for other in NEEDS.get(gate, ())
            if on and other not in self._version.gates
        }
        return {**gates, **needed}

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

    def _wait(self, name: str, url: str) -> None:
        deadline = Deadline.after(READY_S)
        if not poll(lambda: self._ready(name, url), deadline, every_s=EVERY_S):
            raise ClusterError(f"{name} was not ready within {READY_S:g} s{self._told()}")

    def _ready(self, name: str, url: str) -> bool:
        for each in (ETCD, name):
            process = self._processes[each]
            if not process.alive:
                told = self._told() if name == KUBE_APISERVER else self._told(name)
                raise ClusterError(f"{each} has ended, code {process.exit_code}{told}")
        if not self._certificate.exists():
            return False
        try:
            port = int(url.rpartition(":")[2])
            link = http.client.HTTPSConnection(HOST, port, timeout=ANSWER_S, context=self.trust())
            try:
                link.request("GET", "/readyz", headers={"Authorization": f"Bearer {self.token}"})
                return link.getresponse().status == _OK
            finally:
                link.close()
        except (OSError, http.client.HTTPException):
            # Not listening yet, or its certificate is half written.
            return False

    def _told(self, *names: str) -> str:
        ends = self.logs(TAIL_BYTES)
        return "".join(
            f"\nthe output of {name} ends:\n{text}"
            for name, text in ends.items()
            if not names or name in names
        )


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


def _url(port: socket.socket) -> str:
    return f"https://{HOST}:{port.getsockname()[1]}"


def _turned(switches: Mapping[str, bool]) -> str:
    return ",".join(f"{name}={str(on).lower()}" for name, on in switches.items())
