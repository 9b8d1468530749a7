"""The pages in a real browser: nothing serious for axe-core, no scrolling sideways on a phone.

Skipped without Chromium, and without axe-core: ``AXE_CORE`` names its ``axe.min.js`` (``npm install
axe-core``).
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.report import html as page
from pytest_dra.report import matrix
from pytest_dra.report.document import document
from pytest_dra.report.merging import merged
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from tests.bench.report import run_with
from tests.report import hostile
from tests.report.running import run_of
from tests.report.sharded import BAD
from tests.report.sharded import shard
from tests.report.test_matrix import put

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
AXE = Path(os.environ.get("AXE_CORE", "axe-core"))

LIMIT_S = 240.0
"""Longest look of the browser; on an idle machine it takes three seconds."""

PHONE = 390
DESKTOP = 1280
"""Widths of a phone's and a desk's screen in pixels."""

TURNS = (("light", PHONE), ("light", DESKTOP), ("dark", DESKTOP))
"""Colours and width of each look: contrast is a matter of the one, what fits of the other."""

SERIOUS = frozenset({"serious", "critical"})

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")

REPORT = """<script>
axe.run(document, {resultTypes: ["violations"]}).then(found => {
  const told = found.violations.map(each => [each.impact, each.id, each.nodes.length,
    each.nodes[0].target.join(" ")]);
  document.documentElement.innerHTML = "<pre id=found></pre>";
  document.getElementById("found").textContent = JSON.stringify(told);
});
</script>"""

AWAITED = """<!DOCTYPE html><html lang="en"><title>frame</title>
<iframe title="page" src="%s" style="width:%dpx;height:800px;border:0"></iframe><script>
const look = setInterval(() => {
  const found = document.querySelector("iframe").contentDocument.getElementById("found");
  if (!found) return;
  clearInterval(look);
  document.body.innerHTML = "<pre id=found></pre>";
  document.getElementById("found").textContent = found.textContent;
}, 50);
</script>"""
"""A page that is as wide as it is told, and says what the one in it has found."""

FRAME = """<!DOCTYPE html><iframe src="page.html" style="width:%dpx;height:800px;border:0"
onload="document.body.innerHTML = '<pre id=found>'
  + this.contentDocument.documentElement.scrollWidth + '</pre>'"></iframe>"""


def _every_state() -> str:
    states = dict(zip(sorted(catalogue().cases), list(State) * 40, strict=False))
    run = run_of(states)
    return page.render(document(run, summarise(run)))


def _long() -> str:
    run = run_with(200)
    return page.render(document(run, summarise(run)))


def _hostile() -> str:
    return page.render(document(hostile.run(), summarise(hostile.run())))


def _nodes() -> str:
    run = merged([shard("good"), shard("bad", BAD)], expected=["gone"])
    return page.render(document(run, summarise(run)))


PAGES = {
    "every state": _every_state,
    "200 failures": _long,
    "hostile": _hostile,
    "nodes": _nodes,
}


def rendered(file: Path) -> str:
    """A page as it is when its scripts have run."""
    done = subprocess.run(
        [
            str(CHROMIUM),
            *(
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--dump-dom",
            ),
            *("--allow-file-access-from-files", "--virtual-time-budget=60000"),
            f"--user-data-dir={file.parent / 'browser'}",
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert "</html>" in done.stdout, done.stderr[-2000:]
    return done.stdout


def look(file: Path) -> Any:
    """What a page has put into the element ``found``."""
    text = rendered(file)
    found = re.search(r'<pre id="found">(.*?)</pre>', text, re.DOTALL)
    assert found is not None, text[-2000:]
    return json.loads(html.unescape(found.group(1)))


def examined(text: str, directory: Path, width: int = DESKTOP) -> list[list[Any]]:
    """What axe-core finds serious on a page so wide; its own policy is lifted for that."""
    if not AXE.is_file():
        pytest.skip("AXE_CORE names no axe.min.js")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    script = f"<script>{AXE.read_text(encoding='utf-8')}</script>"
    file = directory / "axe.html"
    file.write_text(text.replace("</body>", f"{script}{REPORT}</body>"), encoding="utf-8")
    frame = directory / "frame.html"
    frame.write_text(AWAITED % (file.name, width), encoding="utf-8")
    return [each for each in look(frame) if each[0] in SERIOUS]


@pytest.mark.parametrize(("theme", "width"), TURNS)
@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES.keys())
def test_nothing_serious_is_wrong_for_people_with_a_disability(
    make: Callable[[], str], theme: str, width: int, tmp_path: Path
) -> None:
    text = make()
    if theme == "dark":
        text = text.replace("@media (prefers-color-scheme:dark)", "@media all")
    assert examined(text, tmp_path, width) == []


def test_what_is_seriously_wrong_would_be_found(tmp_path: Path) -> None:
    wrong = _every_state().replace("<main", '<img src="x.png"><main', 1)
    assert [each[1] for each in examined(wrong, tmp_path, PHONE)] == ["image-alt"]


def test_nor_of_a_matrix(tmp_path: Path) -> None:
    found, problems = matrix.rows([put(tmp_path, "report.yaml")], below=tmp_path)
    assert examined(matrix.render(found, problems), tmp_path) == []


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES.keys())
def test_a_phone_need_not_scroll_sideways(make: Callable[[], str], tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(make(), encoding="utf-8")
    (tmp_path / "frame.html").write_text(FRAME % PHONE, encoding="utf-8")
    assert look(tmp_path / "frame.html") <= PHONE


def test_a_script_that_got_past_the_escaping_would_not_run(tmp_path: Path) -> None:
    planted = "<script>document.body.innerHTML = '<pre id=found>1</pre>'</script>"
    file = tmp_path / "page.html"
    file.write_text(_every_state().replace("<main", f"{planted}<main"), encoding="utf-8")
    text = rendered(file)
    assert 'id="verdict"' in text
    assert '<pre id="found">' not in text
