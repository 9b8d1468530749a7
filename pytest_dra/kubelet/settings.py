"""The kubelet's time constants, each a field, so that tests can use small ones."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KubeletSettings:
    """All spans in seconds.

    The defaults are the numbers of kubelet 1.37.2, as recorded, except where the field says
    otherwise.
    """

    poll_s: float = 0.1
    """Pause between two looks at the registry directory. The kubelet has inotify and a loop of
    1 s; looking more often only lets a driver be found sooner."""

    dial_s: float = 10.0
    """How long one attempt tries to connect to a registration socket
    (pluginmanager/operationexecutor, dialTimeoutDuration)."""

    get_info_s: float = 1.0
    """Deadline of GetInfo (operationexecutor, GenerateRegisterPluginFunc)."""

    notify_s: float = 5.0
    """Deadline of NotifyRegistrationStatus (operationexecutor, notifyTimeoutDuration)."""

    probe_s: float = 0.1
    """Longest wait of the one plain connect to a DRA endpoint after GetInfo: a listening Unix
    socket accepts at once, unless its backlog is full. Not the kubelet's: an observation. 0: none,
    for comparing with recordings of the kubelet, which has no such connection."""

    call_s: float = 45.0
    """Deadline of NodePrepareResources and NodeUnprepareResources
    (cm/dra/plugin, defaultClientCallTimeout)."""

    least_s: float = 0.0
    """No call is given up sooner, whatever deadline it is made with: for a driver in a debugger."""

    backoff_s: float = 0.5
    """First pause after a failed attempt (util/goroutinemap/exponentialbackoff)."""

    backoff_factor: float = 2.0
    """Growth of the pause with each further failure (same place)."""

    backoff_limit_s: float = 122.0
    """Longest pause between two attempts (same place: 2 min 2 s)."""

    reconnect_s: float = 0.2
    """First pause between the begins of two connects. The kubelet has gRPC's own 1 s; shorter, so
    that a driver that listens late is connected soon."""

    reconnect_factor: float = 1.6
    """Growth of this pause with each further failure (gRPC connection backoff; its 20 % of chance
    are left out)."""

    reconnect_limit_s: float = 1.0
    """Longest such pause. The kubelet has gRPC's own 120 s; shorter for the same reason."""

    connect_s: float = 20.0
    """Longest wait for the HTTP/2 greeting of a socket that accepts (gRPC's own number)."""

    wipe_delay_s: float = 30.0
    """From the loss of a driver's last connection to the deletion of its slices
    (cm/dra, defaultWipingDelay)."""

    health_pause_s: float = 5.0
    """From the end of a health stream to the next one (recording health-stream-ends)."""

    relist_s: float = 0.02
    """Period in which containers are listed and pods that are due are looked for. Nothing is done
    for a pod twice between two listings, and the ends of containers are seen then. The kubelet has
    1 s; shorter, so that tests with pods are quick (kubelet.go, plegRelistPeriod)."""

    housekeeping_s: float = 0.1
    """Period in which pods that are gone are looked for. The kubelet has 2 s; shorter for the same
    reason (kubelet.go, housekeepingPeriod)."""

    resync_s: float = 0.7
    """A pod is looked at again so long after it was, or up to half as much later, also after a
    Prepare that failed. The kubelet has 60 s; shorter for the same reason
    (defaultSyncFrequency)."""

    pod_retry_s: float = 0.7
    """The same after an Unprepare that failed. The kubelet has 10 s; shorter for the same reason
    (kubelet.go, backOffPeriod)."""

    reconcile_s: float = 60.0
    """Period in which the claims of pods are given back that nobody knows any more (cm/dra,
    defaultReconcilePeriod)."""

    wipe_retry_s: float = 1.0
    """First pause after a failed deletion, doubled each time (cm/dra/plugin,
    wipeResourceSlices)."""

    wipe_retry_limit_s: float = 300.0
    """Longest such pause (same place)."""

    stop_s: float = 5.0
    """Longest wait for our own threads at the end. They end at once when their connections are
    closed, so this only bounds a machine that hardly runs."""


def release(kubernetes: str) -> tuple[int, ...]:
    """``1.37`` or ``1.37.2`` as (1, 37), which compares."""
    return tuple(int(part) for part in kubernetes.split(".")[:2])
