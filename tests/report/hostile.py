"""Texts that mean no good, for everything that shows a driver's words."""

from __future__ import annotations

import dataclasses
import html.parser
from typing import Final

from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile.model import IdentityBlock
from pytest_dra.report.results import Finding
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.steps import Party
from pytest_dra.report.steps import Step
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import SHOULD_ID
from tests.report.running import result
from tests.report.running import run_of

EVIL: Final = (
    "</pre></title><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
    "<svg/onload=alert(3)>{{7*7}}{% raw %}&lt;b&gt; | `x` [a](javascript:alert(4)) ![b](http://e.x)"
    " ]]> <!-- \x1b]0;owned\x07\x1b[2J \u202e\u2066 \x00\x9b31m http://evil.example @kubernetes"
)

CONTROLS: Final = frozenset("\x1b\x07\x00\x9b\u202e\u2066\r")

ALLOWED: Final = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "a",
        "svg",
        "defs",
        "symbol",
        "path",
        "circle",
        "header",
        "main",
        "section",
        "nav",
        "ul",
        "li",
        "ol",
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
        "div",
        "strong",
        "span",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "dl",
        "dt",
        "dd",
        "pre",
        "code",
        "rect",
        "text",
        "line",
        "figure",
        "figcaption",
        "footer",
        "br",
        "use",
        "abbr",
    ]
)
"""Elements of our own templates."""


def run() -> RunResult:
    """A run in which every text that a driver or its author chooses is :data:`EVIL`."""
    step = Step(at=1, serial=2, source=Party.DRIVER, target=Party.CDI, text=EVIL, decides=True)
    results = (
        result(
            MUST_ID,
            State.FAILED,
            finding=Finding(where=EVIL, got=EVIL, want=EVIL, source=EVIL),
            steps=(step,),
            excerpt=(EVIL,),
            notes=(EVIL,),
            parameter=EVIL,
        ),
        result(OTHER_MUST_ID, State.WAIVED, reason=EVIL, remedy=EVIL),
        result(SHOULD_ID, State.ERRORED, error=EVIL),
        result("HLTH-003", State.FAILED, provisional=True),
    )
    identity = IdentityBlock(
        organization=EVIL, project=EVIL, url="javascript:alert(5)", version=EVIL
    )
    profile = dataclasses.replace(
        DEFAULT_PROFILE, identity=identity, data={"driver": {EVIL: [EVIL]}}
    )
    made = run_of(results=results, profile=profile)
    return dataclasses.replace(made, driver=EVIL, launched=EVIL, versions={"pytest-dra": EVIL})


class Elements(html.parser.HTMLParser):
    """The elements of a page with their attributes, and the texts outside of styles."""

    VOID: Final = frozenset(["meta", "br"])

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)

    def values(self, name: str) -> list[str]:
        """Values of an attribute, of all elements."""
        return [attrs[name] or "" for _, attrs in self.found if name in attrs]


def must_be_harmless(text: str) -> Elements:
    """A page has only elements of our own, no handlers, and leads nowhere that is not wanted."""
    found = Elements(text)
    assert {tag for tag, _ in found.found} <= ALLOWED
    assert found.wrong == []
    assert found.open == []
    for _, attrs in found.found:
        assert not [name for name in attrs if name.startswith("on")]
    for address in [*found.values("href"), *found.values("src"), *found.values("xlink:href")]:
        assert address.startswith(("#", "https://"))
    assert not CONTROLS & set(text)
    return found
