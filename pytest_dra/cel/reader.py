"""What the parser stands on: tokens one by one, problems, and the bounds of nesting."""

from __future__ import annotations

from typing import Final

from pytest_dra.cel.errors import Problem
from pytest_dra.cel.lexer import Token
from pytest_dra.cel.lexer import tokens
from pytest_dra.cel.tree import Ident
from pytest_dra.cel.tree import Node

DEPTH_MAX: Final = 250
"""Nesting that the reference parser allows, per rule of its grammar."""


class Stop(Exception):
    """No way on after a syntax error or a limit."""


class Reader:
    """Tokens of an expression and what was found wrong with it."""

    def __init__(self, text: str) -> None:
        self.tokens, faults = tokens(text)
        self.problems = [
            Problem(kind="syntax", message=f"unexpected text {part[:20]!r}", offset=offset)
            for offset, part in faults
        ]
        self.position = 0
        self.token = self.tokens[0]
        self.ids = 0
        self.depths = {"expr": 0, "relation": 0, "calc": 0}
        self.heights: dict[int, int] = {}

    def next_id(self) -> int:
        """An unused id for a node."""
        self.ids += 1
        return self.ids

    def advance(self) -> Token:
        """The current token; the next one becomes current."""
        token = self.token
        if token.kind != "end":
            self.position += 1
            self.token = self.tokens[self.position]
        return token

    def take(self, kind: str) -> Token:
        """The current token, which must be of a kind."""
        if self.token.kind != kind:
            raise self.unexpected(f"want {kind!r}")
        return self.advance()

    def unexpected(self, want: str, token: Token | None = None) -> Stop:
        """Note that a token does not fit."""
        token = token or self.token
        if token.kind == "end":
            self.report("syntax", f"the expression ends too early, {want}", token.offset)
        else:
            self.report("syntax", f"unexpected {token.text[:20]!r}, {want}", token.offset)
        return Stop()

    def report(self, kind: str, message: str, offset: int) -> Node:
        """Note a problem; the node stands in for what is missing."""
        self.problems.append(Problem(kind=kind, message=message, offset=offset))
        return Ident(self.next_id(), offset, "")

    def enter(self, rule: str) -> None:
        """Go into a rule of the grammar."""
        self.depths[rule] += 1
        if self.depths[rule] > DEPTH_MAX:
            self.report("limit", f"nested deeper than {DEPTH_MAX} levels", -1)
            raise Stop

    def leave(self, rule: str) -> None:
        """Come out of a rule of the grammar."""
        self.depths[rule] -= 1

    def raised(self, node: Node, *parts: Node, by: int) -> Node:
        """``node`` with its height above ``parts`` noted: the reference bounds that, too."""
        heights = self.heights
        height = by + max([heights.get(part.id, 0) for part in parts], default=0)
        if height > DEPTH_MAX:
            self.report("limit", f"nested deeper than {DEPTH_MAX} levels", -1)
            raise Stop
        if height:
            heights[node.id] = height
        return node
