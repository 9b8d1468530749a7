"""The first YAML document of a spec file, as a tree of nodes.

The library reads ``.json`` and ``.yaml`` with the same YAML parser. PyYAML's parser is a sister
of it; what it is more generous about is refused here, so that the answer does not depend on
whether PyYAML was built with libyaml.
"""

from __future__ import annotations

import codecs
import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import yaml

from pytest_dra.cdi.errors import CdiError
from pytest_dra.cdi.errors import shown

MAXIMUM_NODES = 400_000
"""Nodes of one document, and nodes visited with aliases expanded: the library's own ceiling."""

MAXIMUM_DEPTH = 2_100
"""Nesting of one document: hundreds of times that of a spec. The library stops at 10000, but
PyYAML's own parser takes time in the square of it."""

MAXIMUM_SLOW_TEXT = 5_000
"""Characters that the parser without libyaml is asked about a second time: about a second."""

_LIBYAML_DEPTH = "maximum nesting depth"
"""libyaml gives up at 1000 levels; its message says so."""


class _SlowLoader(yaml.SafeLoader):
    """PyYAML's own parser, with the tabs that libyaml and the library take as blanks.

    Go's JSON writers indent with tabs, so that refusing them would refuse good files.
    """

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()


_LOADER: Any = getattr(yaml, "CSafeLoader", _SlowLoader)

_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_REFUSED_CHARACTER = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_REFUSED_SHORT_ESCAPE = "/"
_SURROGATES = range(0xD800, 0xE000)
_YAML_VERSION = (1, 1)


@dataclasses.dataclass(slots=True, eq=False)
class Scalar:
    """One scalar; ``plain`` means neither quoted nor tagged."""

    text: str
    tag: str | None
    plain: bool


@dataclasses.dataclass(slots=True, eq=False)
class Sequence:
    """A list of nodes; a node that occurs twice came from an alias."""

    items: list[Node] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True, eq=False)
class Mapping:
    """Keys and values in the order of the text, merge keys included."""

    pairs: list[tuple[Node, Node]] = dataclasses.field(default_factory=list)


Node = Scalar | Sequence | Mapping


@dataclasses.dataclass(slots=True)
class Document:
    """The root node (None for an empty text) and all mappings, innermost first."""

    root: Node | None
    mappings: list[Mapping]


class Budget:
    """Counts visited nodes, so that aliases of aliases end in an error and not in a bomb."""

    def __init__(self) -> None:
        self._left = MAXIMUM_NODES

    def spend(self) -> None:
        """Count one node; raises :class:`CdiError` beyond ``MAXIMUM_NODES``."""
        self._left -= 1
        if self._left < 0:
            raise CdiError(
                f"got more than {MAXIMUM_NODES} YAML nodes with aliases expanded,"
                " want a file without excessive aliases",
                reason="syntax",
            )


def read_document(data: bytes) -> Document:
    """Parse the first document of ``data``; raises :class:`CdiError` with reason ``syntax``."""
    text = _decode(data)
    try:
        try:
            return _Composer(text, _LOADER).compose()
        except yaml.YAMLError as error:
            if _LIBYAML_DEPTH not in str(error) or len(text) > MAXIMUM_SLOW_TEXT:
                raise
            return _Composer(text, _SlowLoader).compose()
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, CdiError):
            raise
        raise CdiError(f"YAML: {_one_line(error)}", reason="syntax") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _decode(data: bytes) -> str:
    mark, encoding = b"", "utf-8"
    for candidate, name in _ENCODINGS:
        if data.startswith(candidate):
            mark, encoding = candidate, name
            break
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise CdiError(f"byte {error.start}: no {encoding} text", reason="syntax") from None
    refused = _REFUSED_CHARACTER.search(text)
    if refused:
        raise CdiError(
            f"character {refused.start()}: control character {refused[0]!r} is refused,"
            " want it escaped in double quotes",
            reason="syntax",
        )
    return text


class _Composer:
    """Turns parser events into nodes without recursion."""

    def __init__(self, text: str, loader: Any) -> None:
        self._text = text
        self._loader = loader
        self._escapes = "\\" in text
        self._anchors: dict[str, Node] = {}
        self._open: list[tuple[Node, list[Node]]] = []
        self._open_ids: set[int] = set()
        self._root: Node | None = None
        self._mappings: list[Mapping] = []
        self._budget = Budget()

    def compose(self) -> Document:
        for event in self._events():
            if isinstance(event, yaml.DocumentEndEvent):
                break
            if isinstance(event, yaml.DocumentStartEvent):
                self._check_version(event)
            else:
                self._take(event)
        return Document(self._root, self._mappings)

    def _events(self) -> Iterator[Any]:
        loader = self._loader(self._text)
        try:
            while loader.check_event():
                yield loader.get_event()
        finally:
            loader.dispose()

    @staticmethod
    def _check_version(event: Any) -> None:
        if event.version and tuple(event.version) != _YAML_VERSION:
            raise CdiError(
                f"%YAML {event.version[0]}.{event.version[1]}: want 1.1 or no directive",
                reason="syntax",
            )

    def _take(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._budget.spend()
            self._add(self._aliased(event.anchor))
        elif isinstance(event, yaml.ScalarEvent):
            self._budget.spend()
            plain = event.tag is None and not event.style
            self._check_escapes(event)
            self._add(self._anchored(event, Scalar(event.value, event.tag, plain)))
        elif isinstance(event, yaml.SequenceStartEvent):
            self._enter(self._anchored(event, Sequence()))
        elif isinstance(event, yaml.MappingStartEvent):
            self._enter(self._anchored(event, Mapping()))
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            self._leave()

    def _anchored(self, event: Any, node: Node) -> Node:
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _aliased(self, anchor: str | None) -> Node:
        node = self._anchors.get(anchor or "")
        if node is None:
            raise CdiError(f"alias {shown(str(anchor))}: no such anchor before it", reason="syntax")
        if id(node) in self._open_ids:
            raise CdiError(
                f"alias {shown(str(anchor))}: its anchor contains itself", reason="syntax"
            )
        return node

    def _enter(self, node: Node) -> None:
        self._budget.spend()
        if len(self._open) >= MAXIMUM_DEPTH:
            raise CdiError(f"nested deeper than {MAXIMUM_DEPTH} levels", reason="syntax")
        self._open.append((node, []))
        self._open_ids.add(id(node))

    def _leave(self) -> None:
        node, children = self._open.pop()
        self._open_ids.discard(id(node))
        if isinstance(node, Sequence):
            node.items = children
        elif isinstance(node, Mapping):
            node.pairs = list(zip(children[::2], children[1::2], strict=True))
            self._mappings.append(node)
        self._add(node)

    def _add(self, node: Node) -> None:
        if self._open:
            self._open[-1][1].append(node)
        else:
            self._root = node

    def _check_escapes(self, event: Any) -> None:
        """Refuse what the library refuses: an escaped slash and halves of surrogate pairs."""
        if not self._escapes or event.style != '"':
            return
        source = self._text[event.start_mark.index : event.end_mark.index]
        for match in _ESCAPE.finditer(source):
            code = match[1]
            number = int(code[1:], 16) if len(code) > 1 else 0
            if code == _REFUSED_SHORT_ESCAPE or number in _SURROGATES:
                raise CdiError(
                    f"escape \\{code} is refused: it is JSON but not YAML 1.1;"
                    " want the character itself",
                    reason="syntax",
                )
