"""Faults of names, sockets and updates: how instances and releases follow each other (REG, RST)."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import Final

import grpc

from pytest_dra.fake_driver import files
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.claims import ClaimSource
from pytest_dra.fake_driver.endpoint import Endpoint
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.ledger import Ledger
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.publisher import Publisher
from pytest_dra.fake_driver.record import VERSION
from pytest_dra.fake_driver.registration import Registration
from pytest_dra.fake_driver.slices import Slices

PROBE_S: Final = 1.0
"""Longest look at whether somebody listens on a socket."""

CAPITAL: Final = "Gpu.example.com"
"""As the text of REG-016 has it."""

_log = logging.getLogger(__name__)


def leave(code: int) -> None:
    """End the process at once."""
    os._exit(code)


@fault("REG-008", "exit with code 1 on a failed status")
class LeavesWhenRefused(Registration):
    def notify(self, request: Any, context: grpc.ServicerContext) -> Any:
        if not request.plugin_registered:
            leave(1)
        return super().notify(request, context)


@fault("REG-011", "name the socket `<driver>-<pod UID>-reg.sock` without shortening")
class UnboundedSocket(Endpoint):
    """Where it cannot listen it goes on without."""

    def registration_socket(self) -> Path:
        options = self.options
        uid = f"-{options.instance_uid}" if options.instance_uid else ""
        return options.registry_dir / f"{options.driver_name}{uid}-reg.sock"

    def open_registration(self) -> None:
        with contextlib.suppress(StartError):
            super().open_registration()


@fault("REG-012", "`os._exit` on SIGTERM")
class LeavesAtOnce(Endpoint):
    def close(self, grace_s: float) -> None:
        leave(0)


_CAPITAL = "register and publish as `Gpu.example.com`"


@fault("REG-016", _CAPITAL)
class RegistersCapital(Registration):
    def __init__(self, driver: str, dra_socket: Path, versions: Sequence[str]) -> None:
        super().__init__(CAPITAL, dra_socket, versions)


@fault("REG-016", _CAPITAL)
class ServesCapital(Claims):
    def __init__(self, driver: str, source: ClaimSource) -> None:
        super().__init__(CAPITAL, source)


@fault("REG-016", _CAPITAL)
class WantsCapital(Slices):
    def __init__(self, options: Any, *arguments: Any) -> None:
        super().__init__(dataclasses.replace(options, driver_name=CAPITAL), *arguments)


@fault("REG-016", _CAPITAL)
class PublishesCapital(Publisher):
    def __init__(self, options: Any, *arguments: Any) -> None:
        super().__init__(dataclasses.replace(options, driver_name=CAPITAL), *arguments)


@fault("REG-018", "advertise v1beta1 before v1")
class OldestFirst(Registration):
    def versions(self) -> Sequence[str]:
        return tuple(reversed(self.served))


class _DeletesFirst(threading.Event):
    """An event that lets its publisher take its slices away before it is set."""

    def __init__(self, publisher: Publisher) -> None:
        super().__init__()
        self.publisher = publisher

    def set(self) -> None:
        super().set()
        for item in list(self.publisher.seen.values()):
            with contextlib.suppress(ApiError, KeyError):
                self.publisher.delete(item)


@fault("RST-008", "delete own slices on exit")
class DeletesOnExit(Publisher):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.stopping = _DeletesFirst(self)


@fault("RST-009", "keep prepared claims per process")
class ReadsOnce(Ledger):
    """What others write after the start is not seen."""

    opened = False

    def open(self) -> None:
        super().open()
        self.opened = True

    def refresh(self) -> None:
        if not self.opened:
            super().refresh()


@fault("RST-010", "when it starts, a new instance unlinks the sockets of older instances")
class ClearsTheWay(Endpoint):
    """It begins to clear when it finds one of an instance that was killed."""

    def open(self) -> None:
        data = self.options.data_dir
        mine = (self.dra.path, self.registry.path)
        older = [
            path
            for directory, pattern in (
                (self.options.registry_dir, f"{self.options.driver_name}-*reg.sock"),
                (data, "dra-*.sock"),
            )
            for path in directory.glob(pattern)
            if path not in mine
        ]
        if not all(_answers(path) for path in older):
            for path in older:
                path.unlink(missing_ok=True)
        super().open()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(PROBE_S)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


_NO_MIGRATION = "change the checkpoint format without migration (unknown version = empty)"


@fault("RST-011", _NO_MIGRATION)
class NoMigration(Ledger):
    def knows(self, path: Path) -> bool:
        """True unless the checkpoint is whole and of another version."""
        try:
            version = json.loads(files.read(path))["version"]
        except (OSError, ValueError, KeyError, TypeError):
            return True
        return bool(version == VERSION)

    def checkpoints(self) -> list[Path]:
        return [path for path in super().checkpoints() if self.knows(path)]


@fault("RST-011", _NO_MIGRATION)
class ReleasesWhatIsKnown(Preparer):
    def release(self, ref: ClaimRef, call: Call) -> None:
        ledger = self.ledger
        if isinstance(ledger, NoMigration) and not ledger.knows(ledger.path(ref)):
            return
        super().release(ref, call)


@fault("RST-013", "block for ever after the first refused connection, neither retrying nor exiting")
class GivesUp(Publisher):
    """At the start: once it has seen its slices it tries again as it should."""

    reached = False

    def list_slices(self) -> str:
        try:
            version = super().list_slices()
        except ApiError as error:
            if not self.reached and error.status == 0:
                _log.error("%s; giving up", error)
                self.stopping.wait()
            raise
        self.reached = True
        return version


_SAME_NAMES = "use the same socket names in every instance"


@fault("RST-014", _SAME_NAMES)
class SameSockets(Endpoint):
    def __init__(self, options: Any, *arguments: Any) -> None:
        super().__init__(dataclasses.replace(options, instance_uid=""), *arguments)


@fault("RST-014", _SAME_NAMES)
class SameEndpoint(Registration):
    def endpoint(self) -> str:
        return str(self.dra_socket.with_name("dra.sock"))
