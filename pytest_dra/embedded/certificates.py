"""A certificate authority of one run, and the certificate by which the server is known over TLS.

Made by the program ``openssl``: neither the standard library nor what the suite depends on can sign
a certificate.
"""

from __future__ import annotations

import dataclasses
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Final

DAYS: Final = "2"
"""Validity: no run lasts as long, and nobody can use what is left behind for long."""

OPENSSL_S: Final = 20.0
"""Longest call; normal is some hundredths of a second."""

NAMES: Final = (
    "DNS:localhost",
    "DNS:kubernetes",
    "DNS:kubernetes.default",
    "DNS:kubernetes.default.svc",
    "DNS:kubernetes.default.svc.cluster.local",
    "IP:127.0.0.1",
)
"""What clients may call the server."""

_KEY: Final = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_SAID_MAX: Final = 200

MISSING: Final = (
    "HTTPS needs a certificate, which the program openssl makes; it is not on PATH: install it "
    "(package openssl), or give the driver a kubeconfig, which works without TLS"
)
"""Why there is no TLS where nothing can make a certificate."""


class CertificateError(Exception):
    """There is no certificate; the text is one sentence with a way out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Certificates:
    """Files in PEM: the authority that clients trust, the server's certificate and its key."""

    authority: Path
    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """What a server listens with."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.load_cert_chain(self.certificate, self.key)
        return made


def available() -> bool:
    """True if certificates can be made here."""
    return shutil.which("openssl") is not None


def make_certificates(directory: Path) -> Certificates:
    """Make an authority and a server's certificate in ``directory``, which only we can read.

    Raises:
        CertificateError: there is no openssl, or it fails.
    """
    program = shutil.which("openssl")
    if program is None:
        raise CertificateError(MISSING)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    config, request = directory / "openssl.cnf", directory / "server.csr"
    authority_key = directory / "ca.key"
    made = Certificates(directory / "ca.crt", directory / "tls.crt", directory / "tls.key")
    config.write_text(_CONFIG, "utf-8")
    common = ("-config", str(config))
    authority = (
        "req", "-x509", "-new", *_KEY, "-days", DAYS, "-keyout", str(authority_key),
        "-out", str(made.authority), "-subj", "/CN=pytest-dra", "-extensions", "authority", *common,
    )  # fmt: skip
    asked = (
        "req", "-new", *_KEY, "-keyout", str(made.key), "-out", str(request),
        "-subj", "/CN=kube-apiserver", *common,
    )  # fmt: skip
    signed = (
        "x509", "-req", "-in", str(request), "-CA", str(made.authority),
        "-CAkey", str(authority_key), "-set_serial", "2", "-days", DAYS,
        "-out", str(made.certificate), "-extfile", str(config), "-extensions", "server",
    )  # fmt: skip
    for arguments in (authority, asked, signed):
        _run([program, *arguments])
    for no_longer in (authority_key, request, config):
        no_longer.unlink()
    return made


_CONFIG: Final = f"""\
[req]
distinguished_name = name
prompt = no
[name]
CN = pytest-dra
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign, digitalSignature
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = {", ".join(NAMES)}
"""
"""Our own, so that the machine's configuration of openssl does not matter."""


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=OPENSSL_S,
            check=False,
            umask=0o077,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CertificateError(f"openssl makes no certificate: {error}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()[-_SAID_MAX:]
        raise CertificateError(f"openssl makes no certificate: {said}")
