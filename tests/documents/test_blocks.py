"""How the documents are read."""

from __future__ import annotations

import pytest

from tests.documents.blocks import Command
from tests.documents.blocks import blocks_of
from tests.documents.blocks import commands
from tests.documents.blocks import same

TEXT = """\
# A document

<!-- file: a.yaml -->
```yaml
a: 1
```

<!-- exit: 1 -->

```console
$ first \\
    --more
$ second
one line
```
"""


def test_blocks_have_the_comments_above_them() -> None:
    file, dialogue = blocks_of(TEXT, "A.md")
    assert (file.text, file.directives, file.place) == ("a: 1\n", {"file": "a.yaml"}, "A.md:4")
    assert (dialogue.language, dialogue.directives) == ("console", {"exit": "1"})


def test_a_command_goes_on_after_a_backslash() -> None:
    (_, dialogue) = blocks_of(TEXT, "A.md")
    assert commands(dialogue) == [
        Command("first \\\n    --more", ()),
        Command("second", ("one line",)),
    ]


def test_a_command_goes_on_while_a_quotation_is_open() -> None:
    (block,) = blocks_of("```console\n$ say 'one\n  two'\none\n```\n", "A.md")
    assert commands(block) == [Command("say 'one\n  two'", ("one",))]


def test_a_dialogue_begins_with_a_command() -> None:
    (block,) = blocks_of("```console\nout\n```\n", "A.md")
    with pytest.raises(ValueError, match="before the first command"):
        commands(block)


WRITTEN = "one \ntwo\nthree\n\n"


@pytest.mark.parametrize(
    "wanted",
    [
        (),
        ("one", "two", "three"),
        ("one", "...", "three"),
        ("...", "th..."),
        ("one", "..."),
    ],
)
def test_dots_stand_for_what_is_not_shown(wanted: tuple[str, ...]) -> None:
    assert same(wanted, WRITTEN)


@pytest.mark.parametrize("wanted", [("one", "three"), ("two", "..."), ("o.e", "...")])
def test_everything_else_is_taken_at_its_word(wanted: tuple[str, ...]) -> None:
    assert not same(wanted, WRITTEN)
