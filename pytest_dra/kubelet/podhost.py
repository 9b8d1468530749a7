"""What a kubelet sees of pods, and what it does to them: all that is outside of the stand-in."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import Protocol

from pytest_dra.wire.answers import ClaimRef


class ClaimUnreadable(Exception):
    """The API server does not give the claim; the text is its own."""


class StatusRefused(Exception):
    """The API server does not take the status."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimUse:
    """What a container lists: an entry of the pod's claims, and a request of it or ""."""

    entry: str
    request: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class PodClaim:
    """An entry of a pod's claims; ``name`` is that of the ResourceClaim."""

    entry: str
    name: str
    owned: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod of the node as the API server shows it.

    ``uses`` has what each container lists, init containers left out. ``deleted``: it is to end.
    ``removed``: the API server has it no more, so that nobody can be told anything of it.
    ``ended``: it has its last phase.
    """

    uid: str
    namespace: str
    name: str
    claims: tuple[PodClaim, ...]
    uses: tuple[tuple[str, tuple[ClaimUse, ...]], ...] = ()
    deleted: bool = False
    removed: bool = False
    ended: bool = False

    @property
    def to_end(self) -> bool:
        """True if its containers have to be stopped."""
        return self.deleted or self.removed


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClaimObject:
    """A ResourceClaim as the API server shows it to the kubelet of a pod.

    ``drivers`` are those of its results, empty if it is not allocated. ``foreign``: why it is not
    the pod's, though it was made of a template, or "".
    """

    ref: ClaimRef
    drivers: tuple[str, ...]
    reserved: bool
    foreign: str = ""


class Containers(enum.Enum):
    """What the container runtime has of a pod."""

    NONE = "none"
    """No sandbox: claims are prepared before one is made."""

    STARTING = "starting"
    """A sandbox, and no container has run yet."""

    RUNNING = "running"

    ENDED = "ended"
    """All containers have ended and none will be started again."""


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceHealth:
    """The health of one device in a pod's status; ``message`` is None if there is none."""

    resource_id: str
    health: str
    message: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceStatus:
    """One entry of a container's ``allocatedResourcesStatus``."""

    container: str
    name: str
    resources: tuple[ResourceHealth, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class PodStatus:
    """What the kubelet reports of a pod."""

    phase: str
    resources: tuple[ResourceStatus, ...] = ()


class PodHost(Protocol):
    """The API server and the container runtime, for one node. Called from several threads."""

    def pods(self) -> Sequence[Pod]:
        """The pods of the node as they are when a kubelet starts."""

    def claim(self, pod: Pod, claim: PodClaim) -> ClaimObject:
        """The claim as it is now.

        Raises:
            ClaimUnreadable: it is not given.
        """

    def tell(self, pod: Pod, reason: str, message: str) -> None:
        """Make a warning event of the pod."""

    def show(self, pod: Pod, status: PodStatus) -> None:
        """Write the status, which is another one than before.

        Raises:
            StatusRefused: it is not taken, and will be given again.
        """

    def remove(self, pod: Pod) -> None:
        """Delete the object: the kubelet has nothing more to do with it."""

    def containers(self, pod: Pod) -> Containers:
        """What runs."""

    def last_phase(self, pod: Pod) -> str:
        """``Succeeded`` or ``Failed``, by the exit codes of the containers."""

    def start(self, pod: Pod) -> None:
        """Make the sandbox and start the containers; returns at once."""

    def kill(self, pod: Pod) -> None:
        """End the containers, the way the pod's grace period says; returns when they have."""
