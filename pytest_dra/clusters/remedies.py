"""What to do about trouble of the machine, by what kind, container engines and kubelets say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.launch.tool import ToolError

LIMITS: Final = Path("/proc/sys/fs/inotify")
INSTANCES: Final = "max_user_instances"
WATCHES: Final = "max_user_watches"
ENOUGH: Final = {INSTANCES: 512, WATCHES: 524288}
"""Limits of inotify, and what several nodes on one machine need of them."""

MORE: Final = 2
"""How many times as much is told where there is as much, and others have used it up."""

_RLIMIT: Final = (
    "this machine lets nobody raise the limit {} (no CAP_SYS_RESOURCE): give Podman a lower one in "
    'containers.conf: [containers] default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]'
)
_HYBRID: Final = (
    "crun runs nothing where both versions of cgroups are mounted: install runc, and name it in "
    'Podman\'s containers.conf: [engine] runtime = "runc"'
)

Signs = Sequence[tuple[str, str]]
"""A pattern of what is said, and what to do then: "{}" is its first group."""

_DISK: Final = (
    "the disk is full: remove what the engine does not need any more ('docker system df' shows it, "
    "'docker system prune' does it)"
)
_PORT: Final = (
    "port {} is taken: end who has it ('ss -ltnp' tells), or name another one in "
    "--dra-kind-config (extraPortMappings, or networking.apiServerPort)"
)
_PULL: Final = (
    "image {} is neither in the local engine nor can it be pulled: build or load it, or name "
    "another one (--dra-kind-image for nodes, --dra-pod-image for pods)"
)

_INOTIFY: Final = "raise the limits of inotify: sysctl -w {limits}"

OF_MACHINE: Final[Signs] = (
    # Who has no watch left is told that there is no space.
    (r"(?:inotify|watch)[^\n]{0,200}no space left on device", _INOTIFY),
    (
        r"no space left on device|node\.kubernetes\.io/disk-pressure|low on resource: ephem|"
        r"had condition: \[[^]]*DiskPressure",
        _DISK,
    ),
    (
        r"node\.kubernetes\.io/(memory|pid)-pressure|low on resource: (?:memory|pids)|"
        r"had condition: \[[^]]*(?:Memory|PID)Pressure",
        "the node is short of memory or processes: end what else needs them, or take a larger one",
    ),
    (r"too many open files|inotify", _INOTIFY),
)
"""Trouble that may come at any time, and is nothing of the driver's."""

SIGNS: Final[Signs] = (
    (r"bind for \S+?:(\d+) failed: port is already allocated", _PORT),
    (r":(\d+): bind: address already in use", _PORT),
    *OF_MACHINE,
    (r'failed to pull image "([^"]+)"', _PULL),
    (r'image: "([^"]+)" not present locally', _PULL),
    (r"unable to find image '([^']+)' locally", _PULL),
    (
        r"uses an old api spec: \"(kubeadm\.k8s\.io/\w+)\"",
        "this kind is too old for the Kubernetes of its node image, which reads no {} any more: "
        "install a newer kind, or name an older image with --dra-kind-image",
    ),
    (
        r"no command specified|failed to detect containerd",
        "this is no node image of kind: --dra-kind-image names one, by default it is kind's own",
    ),
    (
        r"node\(s\) already exist for a cluster with the name \"([^\"]+)\"",
        "a cluster of this name exists: --dra-reuse={} uses it",
    ),
    (
        r"cannot connect to the docker daemon at (\S+?)\. ",
        "the engine does not run, or listens elsewhere than at {}: start it, or set DOCKER_HOST",
    ),
    (
        r"permission denied while trying to connect to the docker",
        "this user may not use the engine: add the user to its group, or run a rootless one",
    ),
    (r"setrlimit `?(RLIMIT_\w+)", _RLIMIT),
    (r"cgroups in hybrid mode not supported", _HYBRID),
)
"""All that is known of what the commands say."""

OF_NODE: Final[Signs] = (
    OF_MACHINE[0],
    (r"inotify[^\n]{0,80}too many open files|fsnotify[^\n]{0,80}too many open files", _INOTIFY),
    (
        r"configured to not run on a host using cgroup v1",
        "this machine has cgroup v1, on which this kubelet does not run: boot it with cgroup v2 "
        "(systemd.unified_cgroup_hierarchy=1 on the kernel's command line), say failCgroupV1: "
        "false in a patch of KubeletConfiguration in --dra-kind-config, or name an older image "
        "with --dra-kind-image",
    ),
    (r"no space left on device", _DISK),
)
"""What the logs of a node tell where the commands only say that it has not come up."""

VAGUE: Final[Signs] = (
    (
        r"could not find a log line that matches|container \w+ is not running|"
        r"cannot exec in a stopped container",
        "the node's systemd has not come up, mostly for want of inotify: sysctl -w {limits}; else "
        "the image is none of kind's, or the machine lacks cgroups",
    ),
    (
        r"kubelet is not healthy|kubelet isn't running|phase wait-control-plane",
        "the control plane has not come up: why stands in the logs of the nodes, which are in "
        "cases/ID/nodes.log of the output directory",
    ),
)
"""What the commands say where a node has not come up, whatever the reason."""


def remedy_for(said: str, signs: Signs = SIGNS) -> str:
    """What to do about what was said; empty where nobody knows."""
    for pattern, remedy in signs:
        found = re.search(pattern, said, re.IGNORECASE)
        if found:
            first = found[1] if found.re.groups and found[1] else ""
            return remedy.replace("{limits}", limits()).replace("{}", first)
    return ""


def limits() -> str:
    """The limits of inotify as they should be, and as they are."""
    wanted, now = [], []
    for name, enough in ENOUGH.items():
        try:
            found = int((LIMITS / name).read_text("ascii"))
        except (OSError, ValueError):
            found = 0
        wanted.append(f"fs.inotify.{name}={max(enough, MORE * found if found >= enough else 0)}")
        now += [f"{name} {found}"] if found else []
    return f"{' '.join(wanted)} ({', '.join(now)} now)" if now else " ".join(wanted)


def remedied(error: ToolError, *, logs: str = "") -> ClusterError:
    """The error of a command with what to do, where that is known.

    Args:
        error: of the command.
        logs: of the nodes, where it is one that makes them.
    """
    remedy = remedy_for(error.said) or remedy_for(logs, OF_NODE) or remedy_for(error.said, VAGUE)
    return ClusterError(told(str(error), remedy), logs=logs)


def told(problem: str, remedy: str) -> str:
    """A problem with its remedy, if there is one."""
    return f"{problem}{f'. What to do: {remedy}' if remedy else ''}"
