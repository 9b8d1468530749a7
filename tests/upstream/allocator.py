"""Compare our allocator with answers of Kubernetes' own.

    python -m tests.upstream.allocator SCENARIOS GOLDENS

Both are files or folders: YAML, JSON, or JSON lines, as the oracle reads and writes them. Prints
what differs and ends with ``N agree, M differ``; the exit status is 1 if anything differs. Share
ids and the spelling of quantities do not count, nor do the texts of errors. Where Kubernetes ran
out of time any answer agrees.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from pytest_dra.allocator.rules import LATEST
from tests.upstream.scenario import Json
from tests.upstream.scenario import answer

SUFFIXES = (".yaml", ".yml", ".json", ".jsonl")
"""Names of the files that are read from a folder."""

_SHOWN = 1500
"""Characters of a difference that are shown."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads ``y`` and ``n`` as the oracle does: as truth values, whose text they become."""


_Loader.add_implicit_resolver("!truth", re.compile("^[yYnN]$"), list("yYnN"))
_Loader.add_constructor("!truth", lambda _, node: str(node.value in "yY").lower())


def documents(path: Path) -> Iterator[Json]:
    """All documents of a file, or of the files of a folder."""
    if path.is_dir():
        for one in sorted(path.rglob("*")):
            if one.suffix in SUFFIXES:
                yield from documents(one)
        return
    text = path.read_text()
    if path.suffix in (".yaml", ".yml"):
        found: Any = yaml.load_all(text, _Loader)
    elif path.suffix == ".jsonl":
        found = (json.loads(line) for line in text.splitlines() if line.strip())
    else:
        found = _json(text)
    for one in found:
        yield from one if isinstance(one, list) else [one] if one else []


def _json(text: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        value, at = decoder.raw_decode(text, at)
        yield value


def normal(answers: list[Json]) -> list[Json]:
    """Answers for nodes without what does not count."""
    made = []
    for one in answers:
        kept = {key: one[key] for key in ("node", "class", "nofit", "empty") if one.get(key)}
        if one.get("unavailable"):
            kept["unavailable"] = one["unavailable"]
        if one.get("result"):
            number = iter(range(10**6))
            kept["result"] = [_claim(result, number) for result in one["result"]]
        made.append(kept)
    return made


def _claim(result: Json, number: Iterator[int]) -> Any:
    result = json.loads(json.dumps(result))
    for one in result.get("devices", {}).get("results") or ():
        if one.get("shareID"):
            one["shareID"] = f"share-{next(number)}"
    return _filled(result)


def _filled(value: Any) -> Any:
    """A value without empty parts."""
    if isinstance(value, dict):
        kept = {key: _filled(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one not in (None, {}, [], "")}
    return [_filled(one) for one in value] if isinstance(value, list) else value


def difference(want: Json, got: Json) -> str:
    """What differs, "" if nothing does."""
    if str(want.get("setupError") or "").startswith("panic"):
        # Where the Go allocator breaks down, ours only has to refuse.
        return "" if _refuses(got) else f"does not refuse what breaks down: {got}"[:_SHOWN]
    if want.get("setupError") and got.get("setupError"):
        return ""
    for key in ("variant", "setupError"):
        if bool(want.get(key)) != bool(got.get(key)) or (
            key == "variant" and want.get(key) != got.get(key)
        ):
            return f"{key}: want {want.get(key)}, got {got.get(key)}"
    if want.get("pods"):
        wanted: Any = [_pod(one) for one in want["pods"]]
        given: Any = [_pod(one) for one in got.get("pods") or ()]
    else:
        wanted, given = normal(want.get("nodes") or []), normal(got.get("nodes") or [])
    if wanted == given or _proved(wanted, given) == given:
        return ""
    return f"want {json.dumps(wanted)[:_SHOWN]}\n   got {json.dumps(given)[:_SHOWN]}"


def node_answers(found: Json) -> list[Json]:
    """The answers for nodes, those of each pod among them."""
    nodes = [*(found.get("nodes") or ())]
    for pod in found.get("pods") or ():
        nodes += pod.get("nodes") or ()
    return nodes


def _refuses(got: Json) -> bool:
    fatal = any(one.get("class") == "fatal" for one in node_answers(got))
    return bool(got.get("setupError")) or fatal


def _proved(wanted: list[Json], given: list[Json]) -> list[Json]:
    """What is wanted, with our answers for nodes on which Kubernetes ran out of time."""
    made = []
    for want, got in zip(wanted, given, strict=False):
        if "nodes" in want:
            made.append({**want, "nodes": _proved(want["nodes"], got["nodes"])})
        else:
            made.append(got if want.get("class") == "timeout" else want)
    return made + wanted[len(made) :]


def _pod(pod: Json) -> Json:
    return {"pod": pod["pod"], "chosen": pod.get("chosen"), "nodes": normal(pod.get("nodes") or [])}


def release(want: Json) -> int:
    """Minor version of the Kubernetes that gave an answer."""
    text = str(want.get("kubernetes") or f"1.{LATEST}")
    return int(text.split(".")[1])


def compare(scenarios: Path, goldens: Path) -> tuple[int, int]:
    """Numbers of scenarios that agree and that differ; differences are printed."""
    wanted = {one["id"]: one for one in documents(goldens)}
    agree = differ = 0
    for scenario in documents(scenarios):
        want = wanted.get(scenario.get("id"))
        text = (
            "no stored answer"
            if want is None
            else difference(want, answer(scenario, minor=release(want)))
        )
        if text:
            differ += 1
            sys.stdout.write(f"{scenario.get('id')}: {text}\n")
        else:
            agree += 1
    return agree, differ


def main() -> int:
    """The command; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", type=Path)
    parser.add_argument("goldens", type=Path)
    arguments = parser.parse_args()
    start = time.process_time()
    agree, differ = compare(arguments.scenarios, arguments.goldens)
    sys.stdout.write(f"{time.process_time() - start:.1f} s of processor time\n")
    sys.stdout.write(f"{agree} agree, {differ} differ\n")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
