"""What a driver says on its registration socket."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence

from pytest_dra.api.names import driver_name_error
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.timeline import EndpointProbe
from pytest_dra.wire.answers import GetInfoReply
from pytest_dra.wire.answers import PluginInfo
from pytest_dra.wire.answers import Reply

PLUGIN_TYPE = "DRAPlugin"
"""The plugin type that the kubelet has a handler for (contract 3.2)."""

KNOWN_SERVICES = ("v1.DRAPlugin", "v1beta1.DRAPlugin")
"""DRA services that kubelets of 1.34 to 1.37 know, newest first (contract 3.2)."""

V1_SINCE = (1, 34)
"""First kubelet that knows v1; older ones know v1beta1 only."""


def type_must_be_dra_plugin(info: PluginInfo) -> None:
    """``type`` is exactly ``DRAPlugin``; any other has no handler in the kubelet."""
    if info.type != PLUGIN_TYPE:
        raise Violation("GetInfo.type", got=info.type, want=f"exactly {PLUGIN_TYPE!r}")


def name_must_be_the_drivers(
    info: PluginInfo, *, slices: Iterable[Json], given: str | None
) -> None:
    """The registered name is legal, the given one, and that of every slice as sent."""
    problem = driver_name_error(info.name)
    if problem:
        raise Violation("GetInfo.name", got=info.name, want=f"a legal driver name: {problem}")
    if given and info.name != given:
        raise Violation("GetInfo.name", got=info.name, want=f"the given driver name {given!r}")
    for body in slices:
        driver = (body.get("spec") or {}).get("driver")
        if driver is not None and driver != info.name:
            name = (body.get("metadata") or {}).get("name") or "(generated name)"
            raise Violation(
                f"spec.driver of ResourceSlice {name}",
                got=driver,
                want=f"the registered name {info.name!r}, case included",
            )


def a_known_service_must_be_advertised(info: PluginInfo, *, kubernetes: str) -> None:
    """At least one service name that the kubelet of this version knows."""
    if not set(info.supported_versions) & set(KNOWN_SERVICES):
        raise Violation(
            "GetInfo.supported_versions",
            got=list(info.supported_versions),
            want=f"at least one of {', '.join(KNOWN_SERVICES)} (kubelet {kubernetes})",
        )


def needed_services(oldest_kubelet: str | None, newest_kubelet: str | None) -> tuple[str, ...]:
    """The services that a driver for this range of kubelets needs; without a range, both.

    Args:
        oldest_kubelet: such as ``1.32``; None if the profile does not say.
        newest_kubelet: such as ``1.37``; None likewise.
    """
    if oldest_kubelet is None and newest_kubelet is None:
        return KNOWN_SERVICES
    needs_v1 = newest_kubelet is None or _minor(newest_kubelet) >= V1_SINCE
    needs_beta = oldest_kubelet is None or _minor(oldest_kubelet) < V1_SINCE
    return tuple(
        name for name, needed in zip(KNOWN_SERVICES, (needs_v1, needs_beta), strict=True) if needed
    )


def _minor(version: str) -> tuple[int, int]:
    major, minor = version.removeprefix("v").split(".")[:2]
    return int(major), int(minor)


def service_must_be_advertised(info: PluginInfo, service: str) -> None:
    """A service that the driver's kubelets need is in ``supported_versions``."""
    if service not in info.supported_versions:
        raise Violation(
            "GetInfo.supported_versions",
            got=list(info.supported_versions),
            want=f"{service} too, or driver.kubelets in the profile without kubelets that need it",
        )


def must_be_implemented(reply: Reply, *, service: str, method: str) -> None:
    """An advertised method answers an empty request; only what it is, not how, is judged."""
    if reply.code in ("UNIMPLEMENTED", "DEADLINE_EXCEEDED", "UNAVAILABLE"):
        raise Violation(
            f"{service}/{method} with an empty claim list",
            got=f"{reply.code}: {reply.details}",
            want="an answer, since GetInfo advertises the service",
            proof=(reply.serial,),
        )


def endpoint_must_be_absolute(info: PluginInfo) -> None:
    """``endpoint`` is empty or an absolute path, without a scheme."""
    if info.endpoint and not info.endpoint.startswith("/"):
        raise Violation(
            "GetInfo.endpoint",
            got=info.endpoint,
            want="empty, or the absolute path of a Unix socket without a URI scheme",
        )


def endpoint_must_listen(probe: EndpointProbe) -> None:
    """The one attempt to connect straight after GetInfo's answer succeeded."""
    if not probe.connected:
        raise Violation(
            f"DRA endpoint {probe.endpoint} straight after GetInfo",
            got=probe.error,
            want="a socket that accepts connections",
        )


def must_be_available(reply: Reply, *, what: str) -> None:
    """The call reached the driver, whatever it answered."""
    if reply.code == "UNAVAILABLE":
        raise Violation(
            what,
            got=f"{reply.code}: {reply.details}",
            want="any status but UNAVAILABLE",
            proof=(reply.serial,),
        )


def getinfo_must_be_in_time(replies: Sequence[GetInfoReply], *, limit_s: float) -> None:
    """Each call was answered within the kubelet's deadline."""
    for number, reply in enumerate(replies, start=1):
        if not reply.ok:
            raise Violation(
                f"GetInfo, call {number} of {len(replies)}",
                got=f"{reply.code} after {reply.duration_s:.2f} s: {reply.details}",
                want=f"an answer within {limit_s:g} s",
                proof=(reply.serial,),
            )


def notify_must_be_acknowledged(reply: Reply, *, limit_s: float) -> None:
    """NotifyRegistrationStatus(true) is answered OK in time."""
    if not reply.ok:
        raise Violation(
            "NotifyRegistrationStatus(plugin_registered=true)",
            got=f"{reply.code} after {reply.duration_s:.2f} s: {reply.details}",
            want=f"OK within {limit_s:g} s",
            proof=(reply.serial,),
        )
