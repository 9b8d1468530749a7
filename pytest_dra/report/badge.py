"""The badge of a report: JSON for a shields endpoint, and the picture itself.

It says what passed and never that anything is certified.
"""

from __future__ import annotations

import html
import json

from pytest_dra.report.page import musts_of
from pytest_dra.report.plain import one_line
from pytest_dra.report.verdict import Verdict
from pytest_dra.spec import Json

LABEL = "pytest-dra"

COLOURS = {
    Verdict.CONFORMANT: ("brightgreen", "#0f6b32"),
    Verdict.PARTIAL: ("yellow", "#7a4a00"),
    Verdict.NON_CONFORMANT: ("red", "#a8141c"),
    Verdict.INCONCLUSIVE: ("lightgrey", "#4d5663"),
}
"""By verdict: the name that shields knows, and what the picture has; white can be read on it."""

SCHEMA_VERSION = 1
"""Of shields' endpoint."""

HEIGHT = 20
PADDING = 6
CORNER = 3
NARROW = frozenset("iljtfr.,:;'|! ()[]/-1I")
NARROW_WIDTH = 4.6
WIDE_WIDTH = 7.4
"""Units of characters at 11 pixels; the text is fitted to what they add up to."""


def message(data: Json) -> str:
    """``NODE-CORE 104/104 MUST, 1.37``; a verdict that is not conformant is named as well."""
    of, verdict = data["verdictOf"], Verdict(data["verdict"])
    passed, applicable = musts_of(data)
    text = f"{of['profile']} {passed}/{applicable} MUST, {of['kubernetes']}"
    return text if verdict is Verdict.CONFORMANT else f"{text}, {verdict.value}"


def endpoint(data: Json) -> str:
    """``badge.json``, for https://shields.io/badges/endpoint-badge."""
    badge = {
        "schemaVersion": SCHEMA_VERSION,
        "label": LABEL,
        "message": message(data),
        "color": COLOURS[Verdict(data["verdict"])][0],
    }
    return json.dumps(badge, indent=2) + "\n"


def picture(data: Json) -> str:
    """``badge.svg``: the same, to be shown without any service."""
    texts = (LABEL, one_line(message(data)))
    left, right = (round(_width(each) + 2 * PADDING, 1) for each in texts)
    colour = COLOURS[Verdict(data["verdict"])][1]
    told = html.escape(": ".join(texts))
    said = [html.escape(each) for each in texts]
    rest = right - CORNER
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:g}" height="{HEIGHT}" '
        f'role="img" aria-label="{told}"><title>{told}</title>'
        f'<rect width="{left + right:g}" height="{HEIGHT}" rx="{CORNER}" fill="#333a44"/>'
        f'<path d="M{left:g} 0h{rest:g}a3 3 0 0 1 3 3v{HEIGHT - 2 * CORNER}'
        f'a3 3 0 0 1-3 3h-{rest:g}z" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{_text(said[0], PADDING, left)}{_text(said[1], left + PADDING, right)}</g></svg>\n"
    )


def _text(text: str, x: float, room: float) -> str:
    return f'<text x="{x:g}" y="14" textLength="{room - 2 * PADDING:g}">{text}</text>'


def _width(text: str) -> float:
    return sum(NARROW_WIDTH if each in NARROW else WIDE_WIDTH for each in text)
