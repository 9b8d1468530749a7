"""The fenced blocks of a document, and what is to be done with each.

A ``console`` block is a dialogue: commands after ``$``, and what they write. All others say in a
comment above them what they are::

    <!-- file: NAME -->     written to a file of this name, for the commands that follow
    <!-- from: PATH -->     stands in this file of the project, word for word
    <!-- shown: REASON -->  neither; REASON says why not, or where else it is tried

The first and the last one go with dialogues, too. So does ``<!-- exit: CODE -->``, the status of
the last command, and ``<!-- needs: PROGRAM -->``, without which it is left out.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

DOCUMENTS: Final = tuple(
    sorted(each.name for each in ROOT.glob("*.md") if each.name not in ("CHANGELOG.md",))
)
"""All documents but the one whose lines were true once."""

FENCE: Final = "```"
CONSOLE: Final = "console"
PROMPT: Final = "$ "
FILE, FROM, SHOWN, EXIT, NEEDS = "file", "from", "shown", "exit", "needs"
_DIRECTIVE: Final = re.compile(r"<!-- (file|from|shown|exit|needs): (.+) -->")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block; ``line`` is that of its first fence, ``directives`` are the comments above it."""

    document: str
    line: int
    language: str
    text: str
    directives: dict[str, str]

    @property
    def place(self) -> str:
        """Document and line."""
        return f"{self.document}:{self.line}"


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """A command, and the lines that it is said to write; a line of ``...`` stands for any."""

    text: str
    output: tuple[str, ...]


def blocks(document: str) -> list[Block]:
    """The blocks of a document below the project's root."""
    return list(blocks_of((ROOT / document).read_text("utf-8"), document))


def blocks_of(text: str, document: str) -> Iterator[Block]:
    """The blocks of a text; a fence inside a list is not looked for."""
    directives: dict[str, str] = {}
    lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        found = _DIRECTIVE.fullmatch(line)
        if found:
            directives[found[1]] = found[2]
        elif line.startswith(FENCE):
            inside = []
            for _, each in lines:
                if each == FENCE:
                    break
                inside.append(each)
            yield Block(
                document=document,
                line=number,
                language=line.removeprefix(FENCE),
                text="".join(f"{each}\n" for each in inside),
                directives=directives,
            )
            directives = {}
        elif line.strip():
            directives = {}


def commands(block: Block) -> list[Command]:
    """The commands of a dialogue.

    Raises:
        ValueError: it does not begin with one.
    """
    found: list[tuple[list[str], list[str]]] = []
    going_on = False
    for line in block.text.splitlines():
        if line.startswith(PROMPT):
            found.append(([line.removeprefix(PROMPT)], []))
        elif not found:
            raise ValueError(f"{block.place}: {line!r} stands before the first command")
        elif going_on:
            found[-1][0].append(line)
        else:
            found[-1][1].append(line)
        going_on = not found[-1][1] and _unfinished("\n".join(found[-1][0]))
    return [Command("\n".join(command), tuple(output)) for command, output in found]


def _unfinished(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return True
    return command.endswith("\\")


def same(wanted: tuple[str, ...], got: str) -> bool:
    """Whether what a command has written is what the document shows.

    ``...`` stands for anything in a line, alone on a line for any lines. No line at all asks for
    nothing.
    """
    if not wanted:
        return True
    parts = [r"(?:.*\n)*?" if line == "..." else rf"{_line(line)}[ ]*\n" for line in wanted]
    return re.fullmatch("".join(parts), f"{got.rstrip()}\n") is not None


def _line(text: str) -> str:
    return ".*?".join(re.escape(part) for part in text.split("..."))


_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")


def links(document: str) -> list[str]:
    """Where the links of a document lead, those to other sites left out."""
    text = (ROOT / document).read_text("utf-8")
    return [link for link in _LINK.findall(text) if "://" not in link]


def leads_somewhere(link: str, document: str) -> bool:
    """Whether the file of a link is there, and has a heading of that anchor."""
    name, _, anchor = link.partition("#")
    file = ROOT / (name or document)
    if not file.exists():
        return False
    return not anchor or anchor in anchors(file.read_text("utf-8"))


def anchors(text: str) -> set[str]:
    """The anchors that a web page makes of the headings of a Markdown text."""
    heads = [line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#")]
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
