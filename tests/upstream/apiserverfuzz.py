"""Differential fuzz: random request sequences to our server and to a real kube-apiserver.

    KUBEBUILDER_ASSETS=DIR python -m tests.upstream.apiserverfuzz --sequences N --seed S

Draws sequences with Hypothesis, plays each at both servers, and compares the answers as the replay
does: code, reason, causes, object, events. What differs in a new way is made small (``--shrink``:
by Hypothesis, in minutes) and printed as a script of the oracle's language; ``--keep DIR`` writes
it there. Ends with ``N sequences, M requests: A agree, D differ``; exit 1 if D > 0.

A sequence that differs is played again first: what a busy real server's caches answer late counts
as agreement if it then agrees.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any
from typing import Final

import hypothesis
import hypothesis.errors
import yaml
from hypothesis import HealthCheck
from hypothesis import Phase

from pytest_dra.clusters.binaries import find_binaries
from pytest_dra.embedded import ApiServer
from pytest_dra.spec import Json
from tests.upstream.apiserver import ALPHA_SUFFIX
from tests.upstream.apiserver import KNOWN
from tests.upstream.apiserver import PROFILES
from tests.upstream.apiserver import TOKENS
from tests.upstream.apiserver import differences
from tests.upstream.apiserver import known_patterns
from tests.upstream.apiserver import server
from tests.upstream.apiserver_normal import Normalizer
from tests.upstream.apiserver_player import Player
from tests.upstream.apiserver_real import RealServer
from tests.upstream.apiservercore import KINDS
from tests.upstream.apiservergrammar import sequences
from tests.upstream.apiservershrink import shrunk

BATCH: Final = 250
"""Sequences of one run of Hypothesis, which ends early at the first new difference."""

AGAIN: Final = 2
"""Times that a sequence is played anew before a difference counts."""

_SHOWN_MAX: Final = 4
_GENERATED: Final = re.compile(r'"(g-|n|x{58}|kube-api-access-)[bcdfghjklmnpqrstvwxz2456789]{5}"')
_TIME: Final = re.compile(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"')
_INDEX: Final = re.compile(r"\[\d+\]")


class DifferError(AssertionError):
    """Both servers answered something else; the first argument is the signature."""


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """A step of a script that the servers answer differently, and what differs."""

    script: Json
    step: str
    signature: str
    texts: list[str]


@dataclasses.dataclass(slots=True)
class Tally:
    """What has been compared."""

    sequences: int = 0
    requests: int = 0
    differ: int = 0
    known: int = 0
    found: dict[str, Difference] = dataclasses.field(default_factory=dict)

    def line(self) -> str:
        """The closing line."""
        agree = self.sequences - self.differ - self.known
        return (
            f"{self.sequences} sequences, {self.requests} requests: "
            f"{agree} agree, {self.differ} differ"
        )


class Pair:
    """Our server and the real one, on which sequences are played one after another."""

    def __init__(self, ours: ApiServer, real: RealServer) -> None:
        self._ours = ours
        self._real = real
        self._trust = real.trust()
        self._pool = concurrent.futures.ThreadPoolExecutor(2)

    def play(self, script: Json) -> tuple[list[Json], list[Json]]:
        """Normal answers of the real server, and ours."""
        real = self._pool.submit(self._play, self._real.url, script, self._trust)
        ours = self._pool.submit(self._play, self._ours.url, script, None)
        return real.result(), ours.result()

    def _play(self, url: str, script: Json, trust: Any) -> list[Json]:
        player = Player(url, TOKENS, script, trust=trust)
        records = player.play()
        Player(url, TOKENS, _CLEANING, trust=trust).play()
        lines = Normalizer(script, player.namespace).normalized(records)
        # a generated name that only a failure shows
        for line in lines:
            if "events" in line:
                # the bookmark of each minute may fall anywhere
                line["events"] = [event for event in line["events"] if not _is_tick(event)]
        text = _GENERATED.sub(r'"\1S"', json.dumps(lines))
        if player.namespace[0]:
            text = text.replace(*player.namespace)
        given = json.dumps(script)
        text = _TIME.sub(lambda match: match[0] if match[0] in given else '"T"', text)
        found: list[Json] = json.loads(text)
        return found


def _is_tick(event: Json) -> bool:
    return event.get("type") == "BOOKMARK" and "initial-events-end" not in json.dumps(event)


def _cleaning() -> Json:
    """A script that leaves nothing behind that another namespace would see."""
    steps: list[Json] = []
    for kind in KINDS.values():
        if kind.namespaced or kind.path == "nss":
            continue
        query = {"labelSelector": "kubernetes.io/bootstrapping!=rbac-defaults"}
        for name in ("n0", "n1"):
            where = f"{kind.path}/{name}"
            steps.append({"PATCH": where, "body": {"metadata": {"finalizers": None}}})
        steps.append({"DELETE": kind.path, "query": query})
    return {"steps": [{**step, "silent": True} for step in steps]}


_CLEANING: Final = _cleaning()


def difference(pair: Pair, script: Json) -> Difference | None:
    """The first step that differs."""
    real, ours = pair.play(script)
    shown: Difference | None = None
    for want, got in zip(real, ours, strict=True):
        found = list(differences(want, got))
        if found and shown is None:
            shown = Difference(script, want["id"], signature(want, found), found)
        if any("resourceVersion" not in text for text in found):
            # the rank of a version may differ for what a later step shows
            return Difference(script, want["id"], signature(want, found), found)
    return shown


def signature(want: Json, found: list[str]) -> str:
    """What makes two differences the same: verb, kind, and what the first difference is about."""
    asked = want.get("req") or {}
    path = str(asked.get("path", "")).split("/n")[0]
    first = _INDEX.sub("[]", found[0])[:110]
    return f"{asked.get('method', 'EVENTS')} {path} {first}"


class Fuzz:
    """One run: draws, compares, and keeps what differs."""

    def __init__(self, pair: Pair, options: argparse.Namespace) -> None:
        self._pair = pair
        self._options = options
        self._known = known_patterns(options.profile)
        self._target = ""
        self._last: Difference | None = None
        self.tally = Tally()

    def run(self) -> None:
        """All batches."""
        wanted, batch = self._options.sequences, 0
        while self.tally.sequences < wanted:
            self._batch(min(BATCH, wanted - self.tally.sequences), self._options.seed + batch)
            batch += 1

    def _batch(self, count: int, seed: int) -> None:
        self._target = ""
        kinds = tuple(self._options.kinds.split(",")) if self._options.kinds else tuple(KINDS)
        betas = self._options.profile.endswith(ALPHA_SUFFIX)

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate] + ([Phase.shrink] if self._options.shrink else []),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
        )
        @hypothesis.given(sequences(kinds, betas=betas))
        def one(script: Json) -> None:
            self._one(script)

        try:
            one()
        except DifferError:
            self._report()
        except hypothesis.errors.Flaky:
            # it was there three times, and not when Hypothesis looked again
            self._report()

    def _one(self, script: Json) -> None:
        if self._is_new(script):
            # one place for all: Hypothesis takes another line for another failure
            raise DifferError(self._target)

    def _is_new(self, script: Json) -> bool:
        """True for a difference of a new kind, and then for that kind alone: it is shrunk."""
        found = difference(self._pair, script)
        shrinking = bool(self._target)
        if not shrinking:
            self.tally.sequences += 1
            self.tally.requests += len(script["steps"])
            for _ in range(AGAIN):
                found = difference(self._pair, script) if found else found
        if found is None or (shrinking and found.signature != self._target):
            return False
        if not shrinking:
            if any(pattern.search(found.signature) for pattern in self._known):
                self.tally.known += 1
                return False
            self.tally.differ += 1
            if found.signature in self.tally.found:
                return False
        self._target = found.signature
        self.tally.found[self._target] = self._last = found
        return True

    def _report(self) -> None:
        last, number = self._last, len(self.tally.found)
        if last is None:
            return
        if not self._options.shrink:
            last = self._smaller(last)
        text = as_script(last.script)
        _write(f"--- {number}: {last.signature}\n{text}at {last.step}:")
        for line in last.texts[:_SHOWN_MAX]:
            _write(f"    {line}")
        if self._options.keep:
            self._options.keep.mkdir(parents=True, exist_ok=True)
            name = f"{self._options.profile}-{self._options.seed}-{number}"
            (self._options.keep / f"{name}.yaml").write_text(text)
        sys.stdout.flush()

    def _smaller(self, last: Difference) -> Difference:
        def shows(script: Json) -> bool:
            found = difference(self._pair, script)
            return found is not None and found.signature == last.signature

        script = shrunk(last.script, last.step, shows)
        return difference(self._pair, script) or last


def as_script(script: Json) -> str:
    """A script as text; what it does not use is left out."""
    used = json.dumps(script["steps"])
    bodies = {name: body for name, body in script["defs"].items() if f'"{name}"' in used}
    lines = [f"vars: {json.dumps(script['vars'])}", "defs:"]
    lines += [f"  {name}: {json.dumps(body)}" for name, body in bodies.items()]
    lines += [f"keep: {json.dumps(script['keep'])}"] if "keep" in script else []
    text = "\n".join([*lines, "steps:", *(f"- {json.dumps(step)}" for step in script["steps"])])
    assert yaml.safe_load(text)["steps"] == json.loads(json.dumps(script["steps"]))
    return text + "\n"


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")


def main(arguments: list[str]) -> int:
    """The command; 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream.apiserverfuzz")
    parser.add_argument("--sequences", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", choices=PROFILES, default=PROFILES[0])
    parser.add_argument("--kinds", default="", help=f"some of {','.join(KINDS)}")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write shrunk scripts there")
    parser.add_argument("--shrink", action="store_true", help="by Hypothesis: smaller, in minutes")
    options = parser.parse_args(arguments)
    ours = server(options.profile)
    try:
        with RealServer(find_binaries(), options.profile) as real:
            fuzz = Fuzz(Pair(ours, real), options)
            fuzz.run()
    finally:
        ours.stop()
    for name in fuzz.tally.found:
        _write(f"differs: {name}")
    if fuzz.tally.known:
        _write(f"{fuzz.tally.known} differ for a reason listed in {KNOWN.name}")
    _write(fuzz.tally.line())
    return 1 if fuzz.tally.differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
