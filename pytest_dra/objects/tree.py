"""Plain data with the lines where it stands, built step by step from a parser's events.

Nothing recurses here, and what aliases unfold to is counted before anybody walks through it.
"""

from __future__ import annotations

import dataclasses
from typing import Any
from typing import Final

DEPTH_MAX: Final = 200
"""Levels of nesting, those behind aliases included; objects of the API have fewer than 20."""

NODES_MAX: Final = 8_000_000
"""Values of a file, names of fields included, each alias counted with all that it stands for.

Some 8,000 slices of 16 devices; at worst they take about 1 GB of memory.
"""

CONTAINER_SIZE: Final = 3
"""What a mapping or a list counts besides what is in it: so much more memory it takes."""

ALIASES_MAX: Final = 10_000
"""Aliases of a file. Hand-written manifests have a few."""

MERGE: Final = "<<"
"""Key of YAML 1.1 that takes over the fields of another mapping."""


class InputError(ValueError):
    """The text cannot be read. ``line`` counts from 1; 0 where it is not known."""

    def __init__(self, line: int, why: str) -> None:
        self.line = line
        self.why = why
        super().__init__(why)


class Places:
    """The lines of a file's containers and of what is in them.

    They are kept by identity: whoever asks has to hold the data itself, not a copy of it.
    """

    __slots__ = ("_children", "_starts")

    def __init__(self) -> None:
        self._starts: dict[int, int] = {}
        self._children: dict[int, dict[Any, int]] = {}

    def begin(self, container: Any, line: int) -> None:
        """Note where a mapping or a list begins."""
        self._starts[id(container)] = line
        self._children[id(container)] = {}

    def note(self, container: Any, key: Any, line: int) -> None:
        """Note where a field or an item stands."""
        self._children[id(container)][key] = line

    def child(self, container: Any, key: Any) -> int:
        """The line of a field or an item; that of the container where it is not known.

        0 for a container that was not read here.
        """
        start = self._starts.get(id(container), 0)
        return self._children.get(id(container), {}).get(key, start)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of a file: its value, where it begins, and fields that are there twice."""

    value: Any
    line: int
    places: Places
    repeated: tuple[tuple[int, str], ...]
    """(line, name) of each field that its mapping has already."""


@dataclasses.dataclass(slots=True)
class _Frame:
    container: Any
    anchor: str | None
    line: int
    key: Any = None
    key_line: int = 0
    has_key: bool = False
    size: int = CONTAINER_SIZE
    height: int = 1
    merges: list[Any] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class _Shared:
    """What an anchor stands for."""

    value: Any
    size: int
    height: int


class Builder:
    """Makes documents out of events."""

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self._places = Places()
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Shared] = {}
        self._repeated: list[tuple[int, str]] = []
        self._nodes = 0
        self._aliases = 0

    def begin_document(self) -> None:
        """Anchors are known within their document only."""
        self._anchors = {}
        self._repeated = []

    def begin(self, container: Any, line: int, anchor: str | None = None) -> None:
        """A mapping (an empty dict) or a list begins."""
        if len(self._frames) >= DEPTH_MAX:
            raise InputError(line, f"nested more than {DEPTH_MAX} levels deep")
        if self._wants_name():
            raise InputError(line, "a mapping or a list as the name of a field")
        self._places.begin(container, line)
        self._frames.append(_Frame(container, anchor, line))
        if anchor is not None:
            self._anchors.pop(anchor, None)

    def end(self) -> None:
        """The innermost container ends."""
        frame = self._frames.pop()
        for other in frame.merges:
            for key, value in other.items():
                if key not in frame.container:
                    frame.container[key] = value
                    self._places.note(frame.container, key, self._places.child(other, key))
        self._count(CONTAINER_SIZE, frame.line)
        shared = _Shared(frame.container, frame.size, frame.height)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = shared
        self._put(shared, frame.line)

    def scalar(self, value: Any, line: int, anchor: str | None = None) -> None:
        """A text, number, bool or null."""
        self._count(1, line)
        shared = _Shared(value, 1, 0)
        if anchor is not None:
            self._anchors[anchor] = shared
        self._put(shared, line)

    def alias(self, name: str, line: int) -> None:
        """What stands at the anchor of this name, once more."""
        self._aliases += 1
        if self._aliases > ALIASES_MAX:
            raise InputError(line, f"more than {ALIASES_MAX} aliases")
        shared = self._anchors.get(name)
        if shared is None:
            raise InputError(line, f"alias {name!r:.60} without a complete anchor before it")
        if len(self._frames) + shared.height > DEPTH_MAX:
            raise InputError(line, f"nested more than {DEPTH_MAX} levels deep, by an alias")
        self._count(shared.size, line)
        self._put(shared, line)

    def _count(self, size: int, line: int) -> None:
        self._nodes += size
        if self._nodes > NODES_MAX:
            raise InputError(line, f"more than {NODES_MAX} values, aliases unfolded")

    def _wants_name(self) -> bool:
        frame = self._frames[-1] if self._frames else None
        return frame is not None and type(frame.container) is dict and not frame.has_key

    def _put(self, shared: _Shared, line: int) -> None:
        if shared.value is _MERGES and not self._wants_name():
            shared = _Shared(MERGE, 1, 0)
        if not self._frames:
            document = Document(
                value=shared.value,
                line=line,
                places=self._places,
                repeated=tuple(self._repeated),
            )
            self.documents.append(document)
            return
        frame = self._frames[-1]
        frame.size += shared.size
        frame.height = max(frame.height, shared.height + 1)
        if type(frame.container) is list:
            self._places.note(frame.container, len(frame.container), line)
            frame.container.append(shared.value)
        elif frame.has_key:
            self._put_field(frame, shared.value)
        elif type(shared.value) in (dict, list):
            raise InputError(line, "a mapping or a list as the name of a field")
        else:
            frame.key, frame.key_line, frame.has_key = _name(shared.value), line, True

    def _put_field(self, frame: _Frame, value: Any) -> None:
        frame.has_key = False
        key, line = frame.key, frame.key_line
        if key is _MERGES:
            others = value if type(value) is list else [value]
            if not all(type(other) is dict for other in others):
                raise InputError(line, f"{MERGE}: wants a mapping, or a list of them")
            frame.merges += others
            return
        if key in frame.container:
            self._repeated.append((line, key))
        frame.container[key] = value
        self._places.note(frame.container, key, line)


class Merge(str):
    """The key ``<<``, unquoted."""

    __slots__ = ()


_MERGES: Final = Merge(MERGE)


def merge_key() -> str:
    """What a YAML reader hands over for the unquoted key ``<<``."""
    return _MERGES


def _name(value: Any) -> Any:
    """A field's name as JSON has it: Kubernetes turns numbers and bools into text."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
