"""What a driver says on its registration socket."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
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


def slow_getinfo(replies: Sequence[GetInfoReply], *, above_s: float, limit_s: float) -> str:
    """A warning of the slowest answer where it took more than ``above_s``; empty if none did."""
    slowest = max((reply.duration_s for reply in replies), default=0.0)
    if slowest <= above_s:
        return ""
    return (
        f"GetInfo, the slowest of {len(replies)} calls, took {slowest:.1f} s; "
        f"want less than {above_s:g} s: a kubelet gives up after {limit_s:g} s"
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


def newer_versions_must_come_first(info: PluginInfo) -> None:
    """Where both DRA services are advertised, v1 stands before v1beta1: the kubelet takes the
    first entry that it knows."""
    known = [name for name in dict.fromkeys(info.supported_versions) if name in KNOWN_SERVICES]
    wanted = [name for name in KNOWN_SERVICES if name in known]
    if known != wanted:
        raise Violation(
            "GetInfo.supported_versions",
            got=list(info.supported_versions),
            want=f"{' before '.join(wanted)}: the kubelet takes the first one that it knows",
        )


def name_must_be_in_a_domain(name: str, *, where: str) -> None:
    """A driver name is lower case and has a dot."""
    if name != name.lower() or "." not in name:
        raise Violation(where, got=name, want="lower case, below a domain of the vendor")


def refusal_must_be_answered(reply: Reply, *, limit_s: float) -> None:
    """NotifyRegistrationStatus(false) is answered in time, with whatever status."""
    if reply.code == "DEADLINE_EXCEEDED":
        raise Violation(
            "NotifyRegistrationStatus(plugin_registered=false)",
            got=f"no answer in {reply.duration_s:.2f} s",
            want=f"any answer within {limit_s:g} s",
            proof=(reply.serial,),
        )


def refusal_must_be_survived(
    first: PluginInfo, again: PluginInfo | None, *, ended: bool, got: str
) -> None:
    """After a refused registration the driver lives and says what it said before.

    Args:
        first: the answer to GetInfo before.
        again: the answer after it, None if there is none.
        ended: the driver's process has ended.
        got: what was seen instead of an answer.
    """
    if ended or again is None:
        raise Violation(
            "after NotifyRegistrationStatus(plugin_registered=false)",
            got=got,
            want="a driver that lives on and answers GetInfo: the kubelet will try again",
        )
    if again != first:
        raise Violation(
            "GetInfo after NotifyRegistrationStatus(plugin_registered=false)",
            got=again,
            want=f"what it answered before: {first}",
        )


def get_info_must_answer(reply: GetInfoReply, *, what: str) -> None:
    """GetInfo is answered."""
    if not reply.ok:
        raise Violation(
            f"GetInfo of {what}",
            got=f"{reply.code}: {reply.details}",
            want="an answer",
            proof=(reply.serial,),
        )


SOCKET_BYTES = 108
"""Longest path of a Unix socket (``sun_path``, unix(7))."""


def absence() -> Violation:
    """What is wrong with a driver that was registered once, and is not any more."""
    return Violation(
        "registration of the driver, before the case proper",
        got="it is not registered any more",
        want="registered and connected, as it was before",
    )


def socket_paths_must_fit(lengths: Mapping[str, int]) -> None:
    """No path of a socket is longer than one can be; ``lengths`` in bytes."""
    for path, length in sorted(lengths.items()):
        if length > SOCKET_BYTES:
            raise Violation(
                f"socket path {path}", got=f"{length} bytes", want=f"at most {SOCKET_BYTES} bytes"
            )


def longest_names_must_work(*, registered: bool, ended: bool, output: str, name: str) -> None:
    """Under the longest names the driver registers, or ends with a message."""
    if registered or (ended and output.strip()):
        return
    raise Violation(
        f"start as {name} with a pod uid of 36 characters",
        got="the driver has ended without a word" if ended else "the driver does not register",
        want=f"sockets whose paths have at most {SOCKET_BYTES} bytes, or an exit with a message",
    )


def sockets_must_be_removed(left: Sequence[str], *, in_time: bool, within_s: float) -> None:
    """SIGTERM has ended the driver in time, and its sockets are gone.

    Args:
        left: socket files at which it accepted connections before, and which are still there.
        in_time: it has ended by itself within ``within_s`` seconds.
    """
    if not in_time:
        raise Violation(
            "SIGTERM", got=f"the driver runs after {within_s:g} s", want="it ends before"
        )
    if left:
        raise Violation(
            "after SIGTERM",
            got=f"left: {', '.join(sorted(left))}",
            want="no socket of the driver: its removal is the only de-registration",
        )


def removal_must_be_noticed(name: str, *, noticed: bool, within_s: float) -> None:
    """A driver whose registration socket was deleted has made a new one, or has ended."""
    if not noticed:
        raise Violation(
            f"registration socket {name}, deleted by somebody",
            got=f"the driver serves on and cannot be found, {within_s:g} s later",
            want="a new socket that accepts connections, or an exit, so that it is started again",
        )
