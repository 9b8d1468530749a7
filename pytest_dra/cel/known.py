"""What the estimate knows of sub-expressions: where in the input they come from, how large."""

from __future__ import annotations

import dataclasses
from typing import Final

from pytest_dra.cel.checker import Checked
from pytest_dra.cel.environments import Environment
from pytest_dra.cel.sizes import ONE
from pytest_dra.cel.sizes import UNKNOWN
from pytest_dra.cel.sizes import Range
from pytest_dra.cel.sizes import fixed
from pytest_dra.cel.tree import Const
from pytest_dra.cel.tree import Ident
from pytest_dra.cel.tree import ListNode
from pytest_dra.cel.tree import MapNode
from pytest_dra.cel.tree import Node
from pytest_dra.cel.types import CelType
from pytest_dra.cel.types import is_optional

_SCALARS: Final = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})


class Path:
    """A path into the input, with the memory of the reference's slices.

    Paths that grow from a common beginning may share memory, so that the last one to grow changes
    the end of the others. Estimates depend on it.
    """

    __slots__ = ("length", "memory")

    def __init__(self, memory: list[str], length: int) -> None:
        self.memory = memory
        self.length = length

    def to(self, step: str) -> Path:
        """The path one step further."""
        memory = self.memory
        if self.length == len(memory):
            memory = [*memory, *[""] * max(len(memory), 1)]
        memory[self.length] = step
        return Path(memory, self.length + 1)

    @property
    def steps(self) -> tuple[str, ...]:
        """The path as it is now."""
        return tuple(self.memory[: self.length])


NO_PATH: Final = Path([], 0)


@dataclasses.dataclass(slots=True)
class Entries:
    """Sizes of keys and values of a container."""

    container: str
    key: Range
    value: Range

    def union(self, other: Entries | None) -> Entries | None:
        """Sizes that hold both."""
        if other is None:
            return None
        return Entries(self.container, self.key.union(other.key), self.value.union(other.value))


@dataclasses.dataclass(slots=True)
class Local:
    """What is known of a variable of a comprehension."""

    path: Path
    size: Range | None
    entries: Entries | None


class NodeArgument:
    """An argument of a call, see :class:`callestimates.Argument`."""

    def __init__(self, coster: Knowledge, node: Node) -> None:
        path = coster.path(node)
        self.coster = coster
        self.node = node
        self.kind = coster.checked.kinds[node.id]
        self.path = path
        self.known = coster.size(node)

    def size(self) -> Range:
        """Its size."""
        if self.known is not None:
            return self.known
        shape = self.coster.env.shape_at(self.path.steps)
        return UNKNOWN if shape is None else Range(0, shape.size)

    def element_size(self) -> Range:
        """Size of its elements."""
        steps = (*self.path.steps, "@items")
        shape = self.coster.env.shape_at(steps) if self.path.length else None
        return UNKNOWN if shape is None else Range(0, shape.size)

    def computed(self) -> Range | None:
        """Its size, None if nothing is known."""
        return self.known


class Knowledge:
    """Sizes, paths and variables at one point of an estimate."""

    def __init__(self, checked: Checked, env: Environment) -> None:
        self.checked = checked
        self.env = env
        self.paths: dict[int, Path] = {}
        self.sizes: dict[int, Range] = {}
        self.entries: dict[int, Entries] = {}
        self.locals: dict[str, list[Local]] = {}

    def local(self, node: Node) -> Local | None:
        """The variable that a node stands for."""
        if not isinstance(node, Ident):
            return None
        stack = self.locals.get(node.name)
        return stack[-1] if stack else None

    def path(self, node: Node) -> Path:
        """Where in the input a node comes from."""
        local = self.local(node)
        return local.path if local is not None else self.paths.get(node.id, NO_PATH)

    def size(self, node: Node) -> Range | None:
        """Size of a node, None if nothing is known."""
        known = self.sizes.get(node.id)
        if known is None:
            known = _literal_size(node)
        if known is not None:
            return known
        shape = self.env.shape_at(self.path(node).steps)
        if shape is not None:
            self.sizes[node.id] = Range(0, shape.size)
            return self.sizes[node.id]
        if _is_scalar(self.checked.kinds[node.id]):
            return ONE
        local = self.local(node)
        return local.size if local is not None else None

    def size_or_unknown(self, node: Node) -> Range:
        """Size of a node."""
        size = self.size(node)
        return UNKNOWN if size is None else size

    def entry_sizes(self, node: Node) -> Entries | None:
        """Sizes of the entries of a node."""
        known = self.entries.get(node.id)
        if known is None:
            local = self.local(node)
            return local.entries if local is not None else None
        return known

    def push(self, name: str, local: Local) -> None:
        """Bind a variable."""
        self.locals.setdefault(name, []).append(local)


def _literal_size(node: Node) -> Range | None:
    if isinstance(node, Const):
        value = node.value
        return fixed(len(value) if isinstance(value, (str, bytes)) else 1)
    if isinstance(node, ListNode):
        return fixed(len(node.elements))
    if isinstance(node, MapNode):
        return fixed(len(node.entries))
    return None


def _is_scalar(kind: CelType) -> bool:
    if is_optional(kind):
        return _is_scalar(kind.params[0])
    return kind.kind in _SCALARS
