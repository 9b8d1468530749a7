"""Which part of a selector decided its result for a device."""

from __future__ import annotations

from typing import Final

from pytest_dra.cel.lexer import tokens
from pytest_dra.cel.parts import Parts
from pytest_dra.cel.prepared import Prepared
from pytest_dra.cel.program import Program
from pytest_dra.cel.tree import Call
from pytest_dra.cel.tree import Node
from pytest_dra.cel.tree import walk

_LOGIC: Final = frozenset({"_&&_", "_||_"})
_OPENING: Final = frozenset({"(", "[", "{"})
_CLOSING: Final = frozenset({")", "]", "}"})
_BETWEEN: Final = frozenset({"&&", "||", "?", ":", ","})
"""Operators that bind less than a part of a condition, and separators."""


def span(expression: str, node: Node) -> str:
    """The text of a sub-expression, on one line."""
    offsets = [part.offset for part in walk(node)]
    first, last = min(offsets), max(offsets)
    found = tokens(expression)[0]
    start = next(at for at, token in enumerate(found) if token.offset >= first)
    if found[start].kind == "(":
        # A macro is known by its parenthesis; its name stands before.
        while start and found[start - 1].kind in ("ident", "."):
            start -= 1
    depth = 0
    stop = start
    for stop in range(start, len(found)):
        token = found[stop]
        if token.kind in _OPENING:
            depth += 1
        elif token.kind in _CLOSING:
            depth -= 1
        past = token.offset > last and depth == 0 and token.kind in _BETWEEN
        if depth < 0 or past or token.kind == "end":
            break
    end = found[max(stop - 1, start)]
    return " ".join(expression[found[start].offset : end.offset + len(end.text)].split())


class Deciding:
    """Finds the deciding part of one program, for any number of devices."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._parts = Parts(program)

    def node(self, device: Prepared) -> Node:
        """The sub-expression that made the result what it is, the whole if all took part."""
        node = self._program.checked.root
        while isinstance(node, Call) and node.function in _LOGIC:
            stop = node.function == "_||_"
            results = [(part, self._parts.value(part, device)) for part in node.args]
            decided = [part for part, value in results if value is stop]
            if not decided:
                decided = [part for part, value in results if value.__class__ is not bool]
            if not decided:
                break
            node = decided[0]
        return node

    def value(self, node: Node, device: Prepared) -> object:
        """The value of a sub-expression."""
        return self._parts.value(node, device)

    def part(self, device: Prepared) -> str:
        """The text of :meth:`node`."""
        return span(self._program.expression, self.node(device))
