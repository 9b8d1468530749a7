"""The registered plugins, and which of them is called."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

from pytest_dra.kubelet.answers import PluginInfo
from pytest_dra.kubelet.answers import bounded_text
from pytest_dra.kubelet.client import DraClient
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.connection import shown
from pytest_dra.kubelet.health import ADVERTISED_SINCE
from pytest_dra.kubelet.health import HealthSink
from pytest_dra.kubelet.health import HealthWatch
from pytest_dra.kubelet.health import health_service
from pytest_dra.kubelet.settings import KubeletSettings
from pytest_dra.kubelet.settings import release
from pytest_dra.kubelet.wiping import SliceWiper
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plugin:
    """One registered plugin.

    ``endpoint`` is where its DRA socket is looked for; what the plugin said stands in ``info``.
    ``service`` is the version that it is called with, ``attempts`` how many attempts its
    registration took, the good one included. ``health`` is None where no health is watched.
    """

    info: PluginInfo
    socket: Path
    endpoint: Path
    service: str
    client: DraClient
    attempts: int
    health: HealthWatch | None = None


def announced_endpoint(info: PluginInfo, socket: Path) -> str:
    """The endpoint as the kubelet keeps it: the plugin's text, or the path of the socket itself."""
    return info.endpoint or shown(socket)


class EndpointTaken(Exception):
    """Another plugin of the same driver has announced this endpoint already."""


class PluginStore:
    """Thread-safe; tells the wiper when a driver has no connection left, and when it has one."""

    def __init__(
        self,
        *,
        timeline: Timeline,
        instance: str,
        settings: KubeletSettings,
        wiper: SliceWiper,
        kubernetes: str,
        clock: Clock,
        sink: HealthSink,
    ) -> None:
        self._sink = sink
        self._kubernetes = kubernetes
        self._clock = clock
        self._timeline = timeline
        self._instance = instance
        self._settings = settings
        self._wiper = wiper
        self._lock = threading.RLock()
        self._plugins: list[Plugin] = []
        self._closed = False

    def add(
        self, info: PluginInfo, *, socket: Path, endpoint: Path, service: str, attempts: int
    ) -> Plugin:
        """Register a plugin and begin to connect to it.

        Raises:
            EndpointTaken: as its name says; also after :meth:`close`.
        """
        driver = info.name
        with self._lock:
            announced = announced_endpoint(info, socket)
            taken = any(
                old.info.name == driver and announced_endpoint(old.info, old.socket) == announced
                for old in self._plugins
            )
            if taken or self._closed:
                raise EndpointTaken(
                    f"endpoint {announced} already registered for DRA driver plugin {driver}"
                )
            client = DraClient(
                endpoint,
                timeline=self._timeline,
                instance=self._instance,
                driver=driver,
                settings=self._settings,
                on_change=lambda ready: self._connection_changed(driver, ready=ready),
                clock=self._clock,
            )
            health = self._health_watch(client, info)
            plugin = Plugin(
                info=info,
                socket=socket,
                endpoint=endpoint,
                service=service,
                client=client,
                attempts=attempts,
                health=health,
            )
            self._plugins.append(plugin)
            self._sync(driver)
        if health is not None:
            health.start()
        return plugin

    def _health_watch(self, client: DraClient, info: PluginInfo) -> HealthWatch | None:
        service = health_service(self._kubernetes, info.supported_versions)
        if service is None:
            return None
        return HealthWatch(
            client,
            service,
            timeline=self._timeline,
            instance=self._instance,
            settings=self._settings,
            clock=self._clock,
            gives_up=release(self._kubernetes) >= ADVERTISED_SINCE,
            sink=self._sink,
        )

    def remove(self, plugin: Plugin) -> None:
        """Deregister a plugin and close its connection."""
        with self._lock:
            if plugin not in self._plugins:
                return
            self._plugins.remove(plugin)
            self._sync(plugin.info.name)
        _disconnect(plugin)
        self._mark(f"plugin of {plugin.info.name} deregistered")

    def newest_first(self) -> tuple[Plugin, ...]:
        """All registered plugins."""
        with self._lock:
            return tuple(reversed(self._plugins))

    def pick(self, driver: str | None) -> Plugin | None:
        """The newest connected plugin of the driver (None: of any), else the newest one."""
        plugins = [plugin for plugin in self.newest_first() if driver in (None, plugin.info.name)]
        connected = (plugin for plugin in plugins if plugin.client.is_connected)
        return next(connected, plugins[0] if plugins else None)

    def close(self) -> None:
        """Close all connections. Nothing can be added afterwards."""
        with self._lock:
            self._closed = True
            plugins, self._plugins = self._plugins, []
        for plugin in plugins:
            _disconnect(plugin)

    def _connection_changed(self, driver: str, *, ready: bool) -> None:
        self._mark(f"DRA connection to {driver} {'stands' if ready else 'lost'}")
        with self._lock:
            self._sync(driver)

    def _sync(self, driver: str) -> None:
        if self._closed:
            return
        of_driver = [plugin for plugin in self._plugins if plugin.info.name == driver]
        self._wiper.note(driver, connected=any(plugin.client.is_connected for plugin in of_driver))

    def _mark(self, text: str) -> None:
        self._timeline.add(Mark(text=bounded_text(text), instance=self._instance))


def _disconnect(plugin: Plugin) -> None:
    if plugin.health is not None:
        plugin.health.close()
    plugin.client.close()
