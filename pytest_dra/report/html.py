"""``report.html``: one self-contained page from a report's data, for people.

No scripts: the page forbids them itself, should anything of a driver ever get past the escaping.
Imports Jinja2 inside of its functions: a run that writes no report pays nothing.
"""

from __future__ import annotations

import shlex
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_dra.report import plots
from pytest_dra.report.nodes import named
from pytest_dra.report.page import LANES
from pytest_dra.report.page import OPEN_FAILURES
from pytest_dra.report.page import STATE_SIGNS
from pytest_dra.report.page import VERDICT_SIGNS
from pytest_dra.report.page import Page
from pytest_dra.report.page import known_case
from pytest_dra.report.page import linked
from pytest_dra.report.page import web_address
from pytest_dra.report.plain import plain_data
from pytest_dra.report.plain import spelled_ids
from pytest_dra.spec import Json
from pytest_dra.spec import Level

TEMPLATES = Path(__file__).with_name("templates")


def render(data: Json) -> str:
    """The page of a report that has the form of the schema; its texts may be hostile."""
    return page("report.html", page=Page(plain_data(data)))


def page(template: str, **context: object) -> str:
    """One of the templates, filled; everything is escaped."""
    return str(templates().get_template(template).render(**context))


@lru_cache(maxsize=1)
def templates() -> Any:
    """The environment of Jinja2 that has compiled what was used before."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(
        known_case=known_case,
        linked=linked,
        web_address=web_address,
        plots=plots,
        spelled_ids=spelled_ids,
        named=named,
        quoted=shlex.quote,
        signs={state.value: sign for state, sign in STATE_SIGNS.items()},
        verdict_signs=VERDICT_SIGNS,
        lanes=LANES,
        levels=[level.value for level in Level],
        open_failures=OPEN_FAILURES,
        style=(TEMPLATES / "style.css").read_text(encoding="utf-8"),
    )
    return environment
