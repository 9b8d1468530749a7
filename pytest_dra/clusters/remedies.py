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
ENOUGH: Final = "fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288"
"""Limits of inotify, and what several nodes on one machine need of them."""

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
    "port {} is taken: end who has it ('ss -ltnp' tells), or name another one under "
    "extraPortMappings in --dra-kind-config"
)
_PULL: Final = (
    "image {} is neither in the local engine nor can it be pulled: build or load it, or name "
    "another one (--dra-kind-image for nodes, --dra-pod-image for pods)"
)

OF_MACHINE: Final[Signs] = (
    (r"no space left on device|node\.kubernetes\.io/disk-pressure|low on resource: ephem", _DISK),
    (r"too many open files|inotify", "raise the limits of inotify: sysctl -w {limits}"),
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
        r"could not find a log line that matches",
        "the node's systemd has not come up, mostly for want of inotify: sysctl -w {limits}; else "
        "the image is none of kind's, or the machine lacks cgroups",
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
    (
        r"kubelet is not healthy|kubelet isn't running",
        "the kubelet of the node has not come up: its log is in the folder of --dra-logs=always",
    ),
)
"""All that is known."""


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
    now = []
    for name in (INSTANCES, WATCHES):
        try:
            now.append(f"{name} {(LIMITS / name).read_text('ascii').strip()}")
        except OSError:
            continue
    return f"{ENOUGH} ({', '.join(now)} now)" if now else ENOUGH


def remedied(error: ToolError) -> ClusterError:
    """The error of a command with what to do, where that is known."""
    return ClusterError(told(str(error), remedy_for(error.said)))


def told(problem: str, remedy: str) -> str:
    """A problem with its remedy, if there is one."""
    return f"{problem}{f'. What to do: {remedy}' if remedy else ''}"
