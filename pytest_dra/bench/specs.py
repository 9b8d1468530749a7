"""The CDI directories of one node: what lies in them, and how it came there."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

from pytest_dra import cdi
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.filewatch import FileWatch
from pytest_dra.bench.preparation import Preparation
from pytest_dra.bench.preparation import host_of
from pytest_dra.bench.preparation import modes_of
from pytest_dra.checks import cdi_specs
from pytest_dra.launch import NodeDirectories
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.timeline import Entry
from pytest_dra.timeline import FileEvent
from pytest_dra.timeline import Timeline
from pytest_dra.wire.answers import NodeReply


class Specs:
    """Reads and watches the two directories as the node's container runtime does.

    Args:
        directories: of the node.
        library: version of the runtime's CDI library.
        timeline: gets the events of the directories.
        instance: named on it.
        outside: where a path of the driver lies for us.
    """

    def __init__(
        self,
        directories: NodeDirectories,
        *,
        library: str,
        timeline: Timeline,
        instance: str,
        outside: Callable[[str], Path] = Path,
    ) -> None:
        self.library = cdi.Library(library)
        self.static_dir = directories.static_cdi_dir
        self._directories = (directories.static_cdi_dir, directories.cdi_dir)
        self._timeline = timeline
        self._instance = instance
        self._outside = outside
        self._watch = FileWatch(
            self._directories, timeline=timeline, instance=instance, look=self._look
        )

    def start(self) -> None:
        """Begin to watch, before a driver can write anything."""
        self._watch.start()

    def stop(self) -> None:
        """Watch no longer."""
        self._watch.stop()

    def registry(self) -> cdi.Registry:
        """The directories as they are now, lower priority first."""
        return cdi.load(self._directories, library=self.library.value)

    def prepared(self, claims: Sequence[Claim], reply: NodeReply, *, began: int) -> Preparation:
        """What a Prepare call that has just been answered shows; ``began``: its first serial."""
        registry = self.registry()
        host = host_of(self._edits(registry, claims, reply), self._outside)
        self._watch.catch_up()
        return Preparation(
            claims=tuple(claims),
            reply=reply,
            registry=registry,
            disturbed=self._timeline.all(since=reply.serial)[0].disturbed,
            modes=modes_of(registry),
            host=host,
            began=began,
            ended=len(self._timeline),
        )

    def events(self, *, since: int = 0, until: int | None = None) -> list[Entry[FileEvent]]:
        """What has happened in the directories, oldest first, serials ``since`` to ``until``.

        Raises:
            UnsupportedEnvironment: the record has gaps.
        """
        self._watch.catch_up()
        if self._watch.problem:
            raise UnsupportedEnvironment(
                f"the CDI directories could not be watched: {self._watch.problem}",
                way_out="raise fs.inotify.max_user_instances, or let the driver write less",
            )
        found = self._timeline.entries(FileEvent, since=since, where=self._is_own)
        return [entry for entry in found if until is None or entry.serial < until]

    def _is_own(self, event: FileEvent) -> bool:
        return event.instance == self._instance

    def _look(self, path: Path) -> tuple[str, str]:
        file = cdi.load_file(path, library=self.library.value)
        return file.digest, "; ".join(file.errors) if file.digest else ""

    @staticmethod
    def _edits(registry: cdi.Registry, claims: Sequence[Claim], reply: NodeReply) -> list[Json]:
        found = [cdi_specs.edits_of(registry, cdi_specs.ids_of(reply, each.uid)) for each in claims]
        return [edits for edits in found if edits]
