"""The local container engine, Docker or Podman, by its command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import IO
from typing import Any
from typing import Final

from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.remedies import remedy_for
from pytest_dra.clusters.remedies import told
from pytest_dra.launch.tool import ToolError
from pytest_dra.launch.tool import call
from pytest_dra.launch.tool import find

ROOT: Final = 0
"""The user id of root."""

DOCKER: Final = "docker"
PODMAN: Final = "podman"
ENGINES: Final = (DOCKER, PODMAN)

ANSWER_S: Final = 30.0
"""Longest wait for an answer of the engine; a busy one takes seconds."""

BUILD_S: Final = 900.0
"""Longest build of an image: a base image may have to be pulled first."""

SHOWN: Final = 80
"""Characters of an answer in a message."""

SAVE_S: Final = 300.0
"""Longest export or import of an image: gigabytes to a slow disk."""


class Engine:
    """See the module.

    Args:
        program: ``docker`` or ``podman``, or a path that ends in one of them.
    """

    def __init__(self, program: str) -> None:
        self.program = program
        self.name = PODMAN if PODMAN in Path(program).name else DOCKER

    def call(
        self,
        arguments: Sequence[str],
        *,
        timeout_s: float = ANSWER_S,
        stdin: bytes = b"",
        source: IO[bytes] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Ask the engine; its output.

        Raises:
            ToolError: it refuses, or does not answer.
        """
        return call(
            [self.program, *arguments], timeout_s=timeout_s, stdin=stdin, source=source, env=env
        )

    def must_answer(self) -> None:
        """Check that the engine can be used.

        Raises:
            ClusterError: it cannot; with what to do.
        """
        try:
            self.call(["info", "--format", "{{json .}}"])
        except ToolError as error:
            said = error.said.rpartition("\n")[2] or str(error)
            usual = f"start it, or see whether this user may use it ('{self.program} info' works)"
            problem = f"{self.name} does not answer: {said}"
            raise ClusterError(told(problem, remedy_for(f"{said} ") or usual)) from error

    def is_rootless(self) -> bool:
        """True if it runs as this user, who is root in its containers. Raises ToolError."""
        if self.name == PODMAN:
            return "true" in self.call(["info", "--format", "{{.Host.Security.Rootless}}"])
        return "rootless" in self.call(["info", "--format", "{{json .SecurityOptions}}"])

    def has_image(self, image: str) -> bool:
        """True if the engine holds an image of this name."""
        try:
            self.call(["image", "inspect", "--format", "{{.Id}}", image])
        except ToolError as error:
            if error.code is None:
                raise
            return False
        return True

    def image_id(self, image: str) -> str:
        """Digest of an image's configuration, for the report. Raises ToolError."""
        return self.call(["image", "inspect", "--format", "{{.Id}}", image]).strip()

    def build(self, folder: Path, *, tag: str, arguments: Mapping[str, str]) -> None:
        """Build an image of a folder with a Dockerfile. Raises ToolError."""
        given = [
            word for key, value in arguments.items() for word in ("--build-arg", f"{key}={value}")
        ]
        self.call(["build", "--tag", tag, *given, str(folder)], timeout_s=BUILD_S)

    def save(self, image: str, file: Path) -> None:
        """Write an image to a Docker archive. Raises ToolError."""
        self.call(["save", "--output", str(file), image], timeout_s=SAVE_S)

    def inside(self, container: str, argv: Sequence[str], *, timeout_s: float = ANSWER_S) -> str:
        """Run a command in a container that runs; its output. Raises ToolError."""
        return self.call(["exec", container, *argv], timeout_s=timeout_s)

    def containers(self, label: str) -> dict[str, str]:
        """Names of all containers with a label, running or not, and the label's value."""
        found = {}
        for about in self._listed("ps", "--all", "--filter", f"label={label}"):
            names = about.get("Names")
            name = names[0] if isinstance(names, list) else str(names).partition(",")[0]
            found[name] = _label(about.get("Labels"), label)
        return found

    def networks(self, label: str) -> dict[str, str]:
        """Names of all networks with a label, and the label's value."""
        return {
            str(each.get("Name") or each.get("name")): _label(
                each.get("Labels") or each.get("labels"), label
            )
            for each in self._listed("network", "ls", "--filter", f"label={label}")
        }

    def _listed(self, *arguments: str) -> list[dict[str, Any]]:
        """The objects of a listing: Docker writes each on a line, Podman one list of them."""
        text = self.call([*arguments, "--format", "{{json .}}"]).strip()
        try:
            every = json.loads(text if text[:1] == "[" else f"[{','.join(text.splitlines())}]")
        except ValueError as error:
            shown = " ".join((self.name, *arguments))
            raise ToolError(f"{shown}: got {text[:SHOWN]!r}, want JSON") from error
        return [each for each in every if isinstance(each, dict)]

    def load(self, archive: IO[bytes]) -> None:
        """Load a Docker archive. Raises ToolError."""
        self.call(["load"], timeout_s=SAVE_S, source=archive)

    def running(self, container: str) -> tuple[str, int]:
        """Id of a container, and of its first process; 0 unless it runs. Raises ToolError."""
        said = self.call(["container", "inspect", "--format", "{{.Id}} {{.State.Pid}}", container])
        id, _, pid = said.strip().partition(" ")
        return id, int(pid) if pid.isdecimal() else 0

    def signal(self, container: str, number: int) -> None:
        """Send a signal to the first process of a container. Raises ToolError."""
        self.call(["kill", f"--signal={number}", container])

    def remove_container(self, name: str) -> None:
        """End a container and remove it with its volumes. Raises ToolError."""
        self.call(["rm", "--force", "--volumes", name])

    def remove_network(self, name: str) -> None:
        """Remove a network. Raises ToolError."""
        self.call(["network", "rm", name])


def _label(labels: object, wanted: str) -> str:
    """The value of a label, which Docker lists as text and Podman as a mapping."""
    if isinstance(labels, dict):
        return str(labels.get(wanted, ""))
    pairs = dict(each.partition("=")[::2] for each in str(labels or "").split(","))
    return pairs.get(wanted, "")


def find_engine(wanted: str = "") -> Engine:
    """The engine by name or path; else the first one on PATH, Docker before Podman.

    Raises:
        ClusterError: there is none; with what to do.
    """
    for program in [wanted] if wanted else ENGINES:
        path = find(program)
        if path is not None:
            return Engine(path)
    if wanted:
        raise ClusterError(f"container engine {wanted}: not found on PATH, nor is it a program")
    raise ClusterError(
        "no container engine: neither docker nor podman is on PATH. Install one of them, or use "
        "--dra-cluster=embedded, which needs none"
    )
