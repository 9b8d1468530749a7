"""What the driver is called with: flags, their environment variables, and the paths they make."""

from __future__ import annotations

import argparse
import base64
import dataclasses
import hashlib
import os
import sys
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from typing import NoReturn

from pytest_dra.fake_driver import names
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.features import FEATURES
from pytest_dra.fake_driver.features import SERVICES
from pytest_dra.fake_driver.record import VERSIONS

SOCKET_PATH_MAX: Final = 107
"""Bytes of a Unix socket path: ``sun_path`` of Linux has 108, one of them for the final NUL."""

DEVICES_MAX: Final = 4096
"""Devices of an inventory: 32 full slices."""

UNPLUGGED: Final = "unplugged"
"""File in the driver's directory: while it is there, the first device is not."""

FAULTY: Final = "faulty-"
"""Begins the names of files in the driver's directory: the device named behind it is faulty."""

LOG_LEVELS: Final = ("debug", "info", "warning", "error")

DEFAULT_DRIVER_NAME: Final = "fake.dra.example"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The call of the driver, checked. ``kubeconfig`` None means the in-cluster configuration."""

    node_name: str
    driver_name: str = DEFAULT_DRIVER_NAME
    kubeconfig: Path | None = None
    registry_dir: Path
    plugins_dir: Path
    cdi_root: Path
    static_cdi_root: Path = Path("/etc/cdi")
    inventory: Path | None = None
    devices: int | None = None
    features: tuple[str, ...] = ()
    instance_uid: str = ""
    fault: str = ""
    variant: str = ""
    log_level: str = "info"
    state_version: int = VERSIONS[-1]

    @property
    def data_dir(self) -> Path:
        """The driver's own directory: DRA socket and checkpoints."""
        return self.plugins_dir / self.driver_name

    @property
    def unplugged(self) -> Path:
        """The file that stands for a device that was taken out."""
        return self.data_dir / UNPLUGGED

    def faulty(self) -> frozenset[str]:
        """Names of the devices that are faulty now."""
        found = self.data_dir.glob(f"{FAULTY}*")
        return frozenset(path.name.removeprefix(FAULTY) for path in found)

    @property
    def dra_socket(self) -> Path:
        """Where Prepare and Unprepare are served; with the UID in its name for rolling updates."""
        if not self.instance_uid:
            return self.data_dir / "dra.sock"
        path = self.data_dir / f"dra-{self.instance_uid}.sock"
        if len(os.fsencode(path)) <= SOCKET_PATH_MAX:
            return path
        return self.data_dir / f"dra-{_short(self.instance_uid, 8)}.sock"

    @property
    def registration_socket(self) -> Path:
        """Where the kubelet finds the driver; the UID is shortened where the path gets too long."""
        if not self.instance_uid:
            return self.registry_dir / f"{self.driver_name}-reg.sock"
        both = f"{self.driver_name}\0{self.instance_uid}"
        for name in (
            f"{self.driver_name}-{self.instance_uid}-reg.sock",
            f"{self.driver_name}-{_short(self.instance_uid, 8)}-reg.sock",
        ):
            if len(os.fsencode(self.registry_dir / name)) <= SOCKET_PATH_MAX:
                return self.registry_dir / name
        return self.registry_dir / f"dra-{_short(both, 16)}-reg.sock"


def _short(text: str, size: int) -> str:
    digest = hashlib.sha256(text.encode()).digest()[:size]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence instead of the usage and a sentence."""

    def error(self, message: str) -> NoReturn:
        raise StartError(f"{message}; see {self.prog} --help")


@dataclasses.dataclass(frozen=True, slots=True)
class _Flag:
    name: str
    variable: str
    default: str
    text: str


_FLAGS = (
    _Flag("kubeconfig", "KUBECONFIG", "", "kubeconfig file; without one: in-cluster configuration"),
    _Flag("node-name", "NODE_NAME", "", "name of the node that the devices belong to"),
    _Flag(
        "registry-dir",
        "KUBELET_REGISTRAR_DIRECTORY_PATH",
        "/var/lib/kubelet/plugins_registry",
        "the kubelet's plugin registry",
    ),
    _Flag(
        "plugins-dir",
        "KUBELET_PLUGINS_DIRECTORY_PATH",
        "/var/lib/kubelet/plugins",
        "parent of the driver's data directory",
    ),
    _Flag("cdi-root", "CDI_ROOT", "/var/run/cdi", "directory for CDI specs"),
    _Flag(
        "static-cdi-root",
        "STATIC_CDI_ROOT",
        "/etc/cdi",
        "directory for CDI specs that are always there; used by faults and variants only",
    ),
    _Flag("driver-name", "DRIVER_NAME", DEFAULT_DRIVER_NAME, "name to register and publish as"),
    _Flag("inventory", "INVENTORY", "", "YAML file with pools and devices; default: bundled"),
    _Flag("devices", "DEVICES", "", "number of devices, all like the first one of the inventory"),
    _Flag("features", "FEATURES", "", "some of these: " + ", ".join((*FEATURES, *SERVICES))),
    _Flag("instance-uid", "INSTANCE_UID", "", "UID in socket names, for rolling updates"),
    _Flag("fault", "FAULT", "", "id of the case that the driver shall break"),
    _Flag("variant", "VARIANT", "", "id of a legal variant of the catalogue, e.g. V11"),
    _Flag("state-version", "STATE_VERSION", str(VERSIONS[-1]), "1: write state as release 1 did"),
    _Flag("log-level", "LOG_LEVEL", "info", "one of " + ", ".join(LOG_LEVELS)),
)


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = _Parser(prog="dra-fake-driver", description=__doc__, allow_abbrev=False)
    for flag in _FLAGS:
        default = environment.get(flag.variable, "") or flag.default
        shown = f" (environment: {flag.variable}; default: {flag.default or 'none'})"
        parser.add_argument(f"--{flag.name}", default=default, help=flag.text + shown)
    parser.add_argument("--list-faults", action="store_true", help="print all faults and exit")
    parser.add_argument(
        "--print-manifests", action="store_true", help="print what is installed, and exit"
    )
    return parser


def wants_list(arguments: Sequence[str]) -> bool:
    """True if the call only asks for the list of faults, for which nothing else is needed."""
    return "--list-faults" in arguments


def shown(
    arguments: Sequence[str], environment: Mapping[str, str] = os.environ
) -> tuple[str, tuple[str, ...]] | None:
    """Fault and features of the manifests that are to be printed; None if none are."""
    if "--print-manifests" not in arguments:
        return None
    given = _parser(environment).parse_args(arguments)
    return str(given.fault), _features(given.features)


def parse(
    arguments: Sequence[str] | None = None, environment: Mapping[str, str] = os.environ
) -> Options:
    """Read the call; StartError with one sentence if it is not usable."""
    given = _parser(environment).parse_args(sys.argv[1:] if arguments is None else arguments)
    kubeconfig = Path(given.kubeconfig).absolute() if given.kubeconfig else None
    options = Options(
        node_name=given.node_name,
        driver_name=given.driver_name,
        kubeconfig=kubeconfig,
        registry_dir=Path(given.registry_dir).absolute(),
        plugins_dir=Path(given.plugins_dir).absolute(),
        cdi_root=Path(given.cdi_root).absolute(),
        static_cdi_root=Path(given.static_cdi_root).absolute(),
        inventory=Path(given.inventory).absolute() if given.inventory else None,
        devices=_number(given.devices),
        features=_features(given.features),
        instance_uid=given.instance_uid,
        fault=given.fault,
        variant=given.variant,
        log_level=given.log_level.lower(),
        state_version=_state_version(given.state_version),
    )
    _check(options, environment)
    return options


def _number(text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or int(text) > DEVICES_MAX:
        raise StartError(f"--devices is {text!r}; want a number from 0 to {DEVICES_MAX}")
    return int(text)


def _features(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(text.split(","))) if text else ()
    for name in found:
        if name not in FEATURES and name not in SERVICES:
            known = ", ".join((*FEATURES, *SERVICES))
            raise StartError(f"--features has {name!r}; want some of {known}")
    return found


def _state_version(text: str) -> int:
    known = [str(version) for version in VERSIONS]
    if text not in known:
        raise StartError(f"--state-version is {text!r}; want one of {', '.join(known)}")
    return int(text)


def _check(options: Options, environment: Mapping[str, str]) -> None:
    if not options.node_name:
        raise StartError("the node name is missing; give --node-name or set NODE_NAME")
    if not names.is_subdomain(options.node_name):
        raise StartError(
            f"--node-name is {options.node_name!r}; want a node name: a DNS subdomain of at most "
            f"{names.SUBDOMAIN_MAX} characters"
        )
    if not names.is_driver(options.driver_name):
        raise StartError(
            f"--driver-name is {options.driver_name!r}; want a lower case DNS subdomain of 2 to "
            f"{names.LABEL_MAX} characters that starts with a letter"
        )
    if options.instance_uid and not names.is_uid(options.instance_uid):
        raise StartError(
            f"--instance-uid is {options.instance_uid!r}; want letters, digits and dashes, at "
            f"most {names.UID_MAX}"
        )
    if options.log_level not in LOG_LEVELS:
        raise StartError(f"--log-level is {options.log_level!r}; want one of {LOG_LEVELS}")
    _check_kubeconfig(options.kubeconfig, environment)
    for path in (options.dra_socket, options.registration_socket):
        check_socket_path(path)


def _check_kubeconfig(kubeconfig: Path | None, environment: Mapping[str, str]) -> None:
    if kubeconfig is not None:
        if not kubeconfig.is_file():
            raise StartError(f"there is no kubeconfig file {kubeconfig}; mend --kubeconfig")
    elif "KUBERNETES_SERVICE_HOST" not in environment:
        raise StartError(
            "there is neither a kubeconfig nor an in-cluster configuration; give --kubeconfig or "
            "set KUBECONFIG"
        )


def check_socket_path(path: Path) -> None:
    """StartError if ``path`` is too long for a Unix socket."""
    size = len(os.fsencode(path))
    if size > SOCKET_PATH_MAX:
        raise StartError(
            f"the socket path {path} has {size} bytes, a Unix socket takes {SOCKET_PATH_MAX}; use "
            "shorter directories or a shorter driver name"
        )
