"""A driver under test as one thing: all its components, started and ended together."""

from __future__ import annotations

import dataclasses
import signal
import threading
import uuid
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from pytest_dra.launch.component import Component
from pytest_dra.launch.component import Ready
from pytest_dra.launch.component import ready_here
from pytest_dra.launch.directories import NodeDirectories
from pytest_dra.launch.error import LaunchError
from pytest_dra.launch.lodging import Lodging
from pytest_dra.launch.process import LOG_BYTES
from pytest_dra.launch.process import TAIL_BYTES
from pytest_dra.launch.process import Keeper
from pytest_dra.launch.process import Process
from pytest_dra.timeline import ProcessEvent
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline

RESTART_S = 30.0
"""How long a restart waits after SIGTERM: a pod's default grace period."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EarlyExit:
    """A component that ended although nobody asked it to."""

    component: str
    exit_code: int | None
    log_tail: str


class Driver:
    """The processes of one driver instance on one node.

    Args:
        components: what to run, in this order.
        directories: the node's directories; ``kubeconfig`` in them is written by others.
        instance: named on the timeline and in log files.
        node: name of the node.
        driver_name: for ``{driver_name}`` and ``{driver_dir}``, where the instance's name stands in
            while it is unknown.
        pod_uid: for ``{pod_uid}`` and POD_UID; a fresh one if empty. It stays across restarts.
        cwd: where relative commands are looked for and run; the current directory if None.
        account: the variables of a pod by which it finds the API server; no KUBECONFIG then.
        lodging: where the components run, a jail or containers; in the host's file systems if
            None. Placeholders are paths outside.
    """

    def __init__(
        self,
        components: Sequence[Component],
        *,
        directories: NodeDirectories,
        keeper: Keeper,
        timeline: Timeline,
        instance: str,
        node: str,
        driver_name: str = "",
        pod_uid: str = "",
        cwd: Path | None = None,
        lodging: Lodging | None = None,
        account: Mapping[str, str] = MappingProxyType({}),
        log_bytes: int = LOG_BYTES,
    ) -> None:
        self.components = tuple(components)
        self.instance = instance
        self.pod_uid = pod_uid or str(uuid.uuid4())
        self._directories = directories
        self._keeper = keeper
        self._timeline = timeline
        self._cwd = cwd or Path.cwd()
        self._lodging = lodging
        self._account = dict(account)
        self._log_bytes = log_bytes
        self._values = {
            "kubeconfig": str(directories.kubeconfig),
            "node": node,
            "driver_name": driver_name,
            "registry_dir": str(directories.registry_dir),
            "plugins_dir": str(directories.plugins_dir),
            "driver_dir": str(directories.driver_dir(driver_name or instance)),
            "cdi_dir": str(directories.cdi_dir),
            "static_cdi_dir": str(directories.static_cdi_dir),
            "pod_uid": self.pod_uid,
        }
        self._lock = threading.RLock()
        self._processes: dict[str, Process] = {}
        self._expected: set[Process] = set()

    @property
    def registers(self) -> bool:
        """True unless no component is expected to register with a kubelet."""
        return not self.components or any(each.registers for each in self.components)

    @property
    def values(self) -> dict[str, str]:
        """What is filled in for the placeholders of commands and variables."""
        return dict(self._values)

    def start(self) -> None:
        """Start all components.

        Raises:
            LaunchError: a placeholder is unknown or a command cannot be run. This is found before
                anything is started, except what only executing shows (a script without
                interpreter); then what was started is killed again.
        """
        with self._lock:
            if self.alive:
                raise LaunchError(f"driver {self.instance} runs already")
            ready = {each.name: self._prepare(each) for each in self.components}
            self._processes.clear()
            self._expected.clear()
            try:
                for name, one in ready.items():
                    self._spawn(name, one)
            except LaunchError:
                self.kill()
                raise

    def terminate(self, deadline: Deadline) -> bool:
        """SIGTERM all components and wait; what lives at the deadline is killed.

        Returns:
            True if all ended by themselves. What they leave behind is killed in any case, so that
            nothing of this start can meet the next one.
        """
        with self._lock:
            running = self._note_expected()
            for name, process in running.items():
                self._note(name, process, "terminate")
                process.signal(signal.SIGTERM)
            for process in running.values():
                process.wait(deadline)
            in_time = not any(process.alive for process in running.values())
            self._kill_all()
        return in_time

    def kill(self) -> None:
        """SIGKILL all components and all that came of them."""
        with self._lock:
            self._note_expected()
            self._kill_all()

    def leave(self, deadline: Deadline) -> None:
        """The end of the run: nothing of the driver is left when this returns."""
        self.terminate(deadline)
        self.kill()

    def restart(self, deadline: Deadline | None = None) -> bool:
        """:meth:`terminate`, then :meth:`start` with the same directories and pod UID.

        Returns:
            True if all components had ended by themselves before ``deadline`` (30 s if None).
        """
        in_time = self.terminate(deadline or Deadline.after(RESTART_S))
        self.start()
        return in_time

    @property
    def alive(self) -> bool:
        """True while every component lives; False before the start."""
        processes = self._processes.values()
        return bool(processes) and all(process.alive for process in processes)

    @property
    def processes(self) -> dict[str, Process]:
        """The processes of the last start, by component."""
        return dict(self._processes)

    @property
    def pids(self) -> list[int]:
        """The process ids of those of them that live."""
        return [process.pid for process in self._processes.values() if process.alive]

    def early_exits(self, max_bytes: int = TAIL_BYTES) -> tuple[EarlyExit, ...]:
        """Components that ended although nobody asked them to, with the end of their logs."""
        return tuple(
            EarlyExit(
                component=name,
                exit_code=process.exit_code,
                log_tail=process.log_tail(max_bytes),
            )
            for name, process in self.processes.items()
            if not process.alive and process not in self._expected
        )

    def output(self) -> str:
        """All output until now, as far as the logs keep it."""
        for process in self.processes.values():
            process.catch_up()
        return self.log_tail(self._log_bytes)

    def log_tail(self, max_bytes: int = TAIL_BYTES) -> str:
        """The end of all logs, each with a heading, at most ``max_bytes`` of each."""
        parts = [
            f"--- {self.instance} {component.name}\n{tail}"
            for component in self.components
            if (tail := self._tail(component.name, max_bytes))
        ]
        return "\n".join(parts)

    def _tail(self, name: str, max_bytes: int) -> str:
        process = self._processes.get(name)
        return process.log_tail(max_bytes) if process is not None else ""

    def _prepare(self, component: Component) -> Ready:
        ready = self._lodging.ready if self._lodging is not None else ready_here
        return ready(component, values=self._values, account=self._account, cwd=self._cwd)

    def _spawn(self, name: str, ready: Ready) -> None:
        process = self._keeper.spawn(
            ready.argv,
            env=ready.env,
            cwd=self._cwd,
            log=self._directories.log(self.instance, name),
            log_bytes=self._log_bytes,
        )
        self._processes[name] = process
        if self._lodging is not None:
            process = self._processes[name] = self._lodging.begun(process, ready)
        self._note(name, process, "start", detail=ready.shown)
        process.when_ended(lambda code: self._note(name, process, "exit", exit_code=code))

    def _note_expected(self) -> dict[str, Process]:
        running = {name: one for name, one in self._processes.items() if one.alive}
        self._expected.update(running.values())
        return running

    def _kill_all(self) -> None:
        for name, process in self._processes.items():
            if process.alive:
                self._note(name, process, "kill")
            process.kill()

    def _note(
        self,
        component: str,
        process: Process,
        action: str,
        *,
        exit_code: int | None = None,
        detail: str = "",
    ) -> None:
        self._timeline.add(
            ProcessEvent(
                instance=self.instance,
                component=component,
                action=action,
                pid=process.pid,
                exit_code=exit_code,
                detail=detail,
            )
        )
