"""Legal variants of where the sockets are and how they get there: V09."""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.fake_driver.endpoint import DRA_WORKERS
from pytest_dra.fake_driver.endpoint import REGISTRATION_WORKERS
from pytest_dra.fake_driver.endpoint import REGISTRY_MODE
from pytest_dra.fake_driver.endpoint import Endpoint
from pytest_dra.fake_driver.endpoint import Listener
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.registration import Registration

DIGEST: Final = 16
"""Hex digits of a name: short enough for every directory, and no two instances share one."""


class Elsewhere(Endpoint):
    """Both sockets at other paths than usual, or made in another way."""

    listener: type[Listener] = Listener

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.dra = self.listener(self.dra_socket(), DRA_WORKERS)
        self.registry = self.listener(self.registration_socket(), REGISTRATION_WORKERS)
        self.registration.dra_socket = self.dra.path

    def dra_socket(self) -> Path:
        """Where DRA is served."""
        return self.options.dra_socket

    def digest(self) -> str:
        """A name for the sockets of this instance, the same after each restart."""
        text = f"{self.options.driver_name}\0{self.options.instance_uid}"
        return hashlib.sha256(text.encode()).hexdigest()[:DIGEST]


class NamedByHash(Elsewhere):
    """V09: names that tell nothing, the same after each restart."""

    def registration_socket(self) -> Path:
        return self.options.registry_dir / self.digest()

    def dra_socket(self) -> Path:
        return self.options.data_dir / self.digest()


class NamedByUid(Elsewhere):
    """V09: names with a uid that is another one in each process, as that of a pod."""

    def __init__(self, *arguments: Any) -> None:
        self.uid = uuid.uuid4()
        super().__init__(*arguments)

    def registration_socket(self) -> Path:
        return self.options.registry_dir / f"{self.uid}-reg.sock"

    def dra_socket(self) -> Path:
        return self.options.data_dir / f"{self.uid.hex}.sock"


class InDirectories(Elsewhere):
    """V09: each socket in a directory of its own below the usual one."""

    def registration_socket(self) -> Path:
        return self.options.registry_dir / self.digest() / "a" / "r.sock"

    def dra_socket(self) -> Path:
        return self.options.data_dir / self.digest() / "dra.sock"


class Outside(Elsewhere):
    """V09: DRA is served beside the plugin directories, not in them."""

    def dra_socket(self) -> Path:
        return self.options.plugins_dir.with_name("run") / f"{self.digest()}.sock"


class OneForBoth(Endpoint):
    """V09: the registration socket serves DRA as well, so that GetInfo names no endpoint."""

    def open_dra(self) -> None:
        """Nothing yet: both come with the registration socket."""

    def open_registration(self) -> None:
        self.make_room(self.registry.path)
        self.registry.workers = DRA_WORKERS
        self.registry.listen([*self.registration.handlers(), *self.service.handlers()])


class NoEndpoint(Registration):
    """V09: no endpoint beside the registration socket."""

    def endpoint(self) -> str:
        return ""


class Renamed(Listener):
    """A socket that gets its name once somebody listens on it."""

    def bound(self) -> Path:
        return self.path.with_name(f".{self.path.name[:DIGEST]}")

    def show(self) -> None:
        self.bound().rename(self.path)


class RenamedIntoPlace(Elsewhere):
    """V09: sockets that are renamed into place."""

    listener = Renamed


class Linked(Listener):
    """A socket below ``home`` that callers find by a symbolic link."""

    home = Path()

    def bound(self) -> Path:
        return self.home / hashlib.sha256(os.fsencode(self.path)).hexdigest()[:DIGEST]

    def show(self) -> None:
        self.path.symlink_to(self.bound())


class ByLinks(Elsewhere):
    """V09: callers find symbolic links to the sockets."""

    listener = Linked

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.home = self.options.data_dir / "s"
        for listener in (self.dra, self.registry):
            if isinstance(listener, Linked):
                listener.home = self.home

    def make_room(self, path: Path) -> None:
        try:
            self.home.mkdir(mode=REGISTRY_MODE, parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                if path.is_symlink():
                    path.unlink()
        except OSError as error:
            raise StartError(f"{error.filename}: {error.strerror}; mend its rights") from error
        super().make_room(path)


VARIANTS: Final[dict[str, dict[str, type[Any]]]] = {
    "V09-HASH": {"endpoint": NamedByHash},
    "V09-UID": {"endpoint": NamedByUid},
    "V09-DIRECTORIES": {"endpoint": InDirectories},
    "V09-OUTSIDE": {"endpoint": Outside},
    "V09-ONE": {"endpoint": OneForBoth, "registration": NoEndpoint},
    "V09-RENAMED": {"endpoint": RenamedIntoPlace},
    "V09-LINKS": {"endpoint": ByLinks},
}
