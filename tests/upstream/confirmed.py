"""The table of what is confirmed on a real kube-apiserver: ``CONFIRMED.md``, made of data.

    python -m tests.upstream.confirmed [--scripts DIR --recorded DIR]

With the oracle's scripts and recordings they are replayed first, and the numbers of
``confirmed.json`` are made anew; without, the document alone is.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

import yaml

from pytest_dra.spec import Json
from tests.upstream.apiserver import EVERY
from tests.upstream.apiserver import FUZZ
from tests.upstream.apiserver import KNOWN
from tests.upstream.apiserver import NOT_OURS
from tests.upstream.apiserver import compare
from tests.upstream.apiserver import played_as

DATA: Final = Path(__file__).with_name("confirmed.json")
"""``{"scripts": {name: about}, "replay": {profile: {script: [agree, known, differ]}}}``"""

DOCUMENT: Final = Path(__file__).parents[2] / "CONFIRMED.md"

MORE: Final = Path(__file__).with_name("more")
"""Scripts of our own, with the real server's answers beside them."""


def replayed(scripts: Path, recorded: Path) -> Json:
    """The numbers of a replay of all scripts there and of our own."""
    found: Json = {"scripts": {}, "replay": {profile: {} for profile in EVERY}}
    places = [(path, recorded) for path in sorted(scripts.glob("*.yaml"))]
    places += [(path, MORE / "recorded") for path in sorted((MORE / "scripts").glob("*.yaml"))]
    for path, answers in places:
        if path.stem in NOT_OURS:
            continue
        script: Json = yaml.safe_load(path.read_text("utf-8"))
        found["scripts"][path.stem] = str(script.get("about", ""))
        for profile in EVERY:
            base = played_as(profile)
            has = (answers / profile / f"{path.stem}.jsonl").exists()
            if has and base in script.get("profiles", [base]):
                tally = compare(profile, path.stem, script, answers)
                counts = [tally.agree, tally.known, tally.differ]
                found["replay"][profile][path.stem] = counts
    return found


def document(data: Json, known: Json) -> str:
    """The whole of ``CONFIRMED.md``."""
    return "\n".join([*_HEAD, *_confirmed(data), "", *_differs(known), "", *_fuzz(known), ""])


_HEAD: Final = (
    "# What a real kube-apiserver confirms of the embedded server",
    "",
    "Made by `python -m tests.upstream.confirmed` of the replay's numbers and of the list of known",
    "differences; do not edit. Requests were recorded with kube-apiserver 1.37.2 (1.34 to 1.36 by",
    "emulation, `-alpha` with all of DRA's gates and versions) and with the release 1.34.4 itself.",
    "",
    "## Confirmed",
    "",
    "Steps whose answer (code, reason, causes, object, events) is the recorded one; `+n` differ",
    "for a reason below.",
    "",
)


def _confirmed(data: Json) -> list[str]:
    replay = data["replay"]
    lines = [f"| script | {' | '.join(EVERY)} | about |", "|---" * (len(EVERY) + 2) + "|"]
    for name, about in data["scripts"].items():
        cells = [_cell(replay[profile].get(name)) for profile in EVERY]
        lines.append(f"| {name} | {' | '.join(cells)} | {about} |")
    sums = [_sum(list(replay[profile].values())) for profile in EVERY]
    lines.append(f"| all | {' | '.join(_cell(each) for each in sums)} | |")
    return lines


def _sum(rows: list[list[int]]) -> list[int]:
    return [sum(row[part] for row in rows) for part in range(3)]


def _cell(counts: list[int] | None) -> str:
    if counts is None:
        return ""
    agree, known, differ = counts
    return f"{agree}{f' +{known}' if known else ''}{f' (differ: {differ})' if differ else ''}"


def _differs(known: Json) -> list[str]:
    lines = ["## Differs", "", "| version | request | why |", "|---|---|---|"]
    for profile, scripts in known.items():
        for name, steps in scripts.items():
            if name != FUZZ:
                shown = "all" if profile == "*" else profile
                lines += [f"| {shown} | {name}/{step} | {why} |" for step, why in steps.items()]
    return lines


def _fuzz(known: Json) -> list[str]:
    lines = [
        "## Found by the fuzz, and left",
        "",
        "`python -m tests.upstream.apiserverfuzz` sends random request sequences to both servers.",
        "",
        "| version | what | why |",
        "|---|---|---|",
    ]
    for profile, scripts in known.items():
        shown = "all" if profile == "*" else profile
        for pattern, why in scripts.get(FUZZ, {}).items():
            text = pattern.replace("|", "\\|")
            lines.append(f"| {shown} | `{text}` | {why} |")
    return lines


def main(arguments: list[str]) -> int:
    """Replay if asked to, and write the document; 1 if a step differs for no known reason."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream.confirmed")
    parser.add_argument("--scripts", type=Path, metavar="DIR")
    parser.add_argument("--recorded", "--recordings", type=Path, metavar="DIR")
    chosen = parser.parse_args(arguments)
    if chosen.scripts and chosen.recorded:
        found = replayed(chosen.scripts, chosen.recorded)
        DATA.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    data: Json = json.loads(DATA.read_text("utf-8"))
    DOCUMENT.write_text(document(data, json.loads(KNOWN.read_text("utf-8"))), "utf-8")
    counts = [row for rows in data["replay"].values() for row in rows.values()]
    agree, known, differ = _sum(counts)
    sys.stdout.write(f"{agree} agree, {known} differ for a known reason, {differ} differ\n")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
