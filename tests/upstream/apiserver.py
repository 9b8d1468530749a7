"""Replay the oracle's request scripts against our server, and compare with the real one's answers.

    python -m tests.upstream.apiserver [SCRIPT...] --recordings DIR [--scripts DIR] [--profile P]

``--recordings`` (or ``--recorded``) holds a folder per profile (1.37, 1.37-alpha, 1.36, 1.35, 1.34
and 1.34.4) with ``<script>.jsonl``. 1.37 to 1.34 are one binary that emulates; 1.34.4 is the old
release itself, and wins where both answer a step. A SCRIPT is a file, or a name in ``--scripts``;
without any, all of that folder are played but those that want protobuf answers, which our server
never gives. Each script gets a fresh server.

Differences that are known and explained stand in ``apiserver-known.json`` and are counted apart.
Prints what differs, a line per profile and script, and ends with ``N agree, M differ``.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import Final

import yaml

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.embedded import ApiServer
from pytest_dra.embedded import User
from pytest_dra.embedded.served import VERSIONS
from pytest_dra.embedded.served import serving
from pytest_dra.spec import Json
from pytest_dra.timeline import Timeline
from tests.upstream.apiserver_normal import AGE
from tests.upstream.apiserver_normal import Normalizer
from tests.upstream.apiserver_player import Player

PROFILES: Final = ("1.37", "1.37-alpha", "1.36", "1.35", "1.34")
"""What is played where no profile is named."""

RELEASES: Final = {"1.34": "1.34.4"}
"""Recordings of a real old release that win over the emulation."""

EVERY: Final = (*PROFILES, *RELEASES.values())
"""What can be named: a release itself is 1.34.4, without the emulation's recordings."""

_PLAYED_AS: Final = {release: profile for profile, release in RELEASES.items()}

NOT_OURS: Final = ("protobuf-answers",)
"""Scripts that want protobuf answers: ours answers JSON, which every client takes."""

KNOWN: Final = Path(__file__).with_name("apiserver-known.json")
"""``{profile: {script: {step: reason}}}``; ``*`` stands for every profile."""

FUZZ: Final = "fuzz"
"""In its place of a script :data:`KNOWN` has patterns for the signatures of the fuzz."""

ALPHA_SUFFIX: Final = "-alpha"
"""Ends the names of profiles with all gates and all served versions."""

_SHOWN_MAX: Final = 8
_VALUE_MAX: Final = 160
_EVERYONE: Final = "system:authenticated"

TOKENS: Final = {"admin": "T1", "user": "T2", "kubelet-a": "T3", "kubelet-b": "T4"}
"""Bearer tokens by the identities of the scripts."""

_USERS: Final = {
    "T1": User("admin", ("system:masters", _EVERYONE)),
    "T2": User("plain-user", ("plain-group", _EVERYONE), uid="u-plain"),
    "T3": User("system:node:node-a", ("system:nodes", _EVERYONE)),
    "T4": User("system:node:node-b", ("system:nodes", _EVERYONE)),
}


@dataclasses.dataclass(slots=True)
class Tally:
    """How many steps agree, differ, and differ for a known reason."""

    agree: int = 0
    differ: int = 0
    known: int = 0

    def add(self, other: Tally) -> None:
        """Count what another one counted."""
        self.agree += other.agree
        self.differ += other.differ
        self.known += other.known

    def line(self) -> str:
        """``N agree, M differ``."""
        return f"{self.agree} agree, {self.differ} differ"


def server(profile: str) -> ApiServer:
    """A started server of a profile; ``-alpha`` has all gates and all versions."""
    name = played_as(profile).removesuffix(ALPHA_SUFFIX)
    found = ApiServer(timeline=Timeline(), kubernetes=name, tokens=_USERS, rbac=True)
    found.start()
    if profile.endswith(ALPHA_SUFFIX):
        version = kubernetes_version(name)
        gates = dict.fromkeys(version.gates, True)
        found.become(serving(version.with_gates(gates), VERSIONS))
    return found


def play(profile: str, script: Json) -> list[Json]:
    """The normal form of what our server of that profile answers to a script."""
    running = server(profile)
    try:
        player = Player(running.url, TOKENS, script)
        records = player.play()
    finally:
        running.stop()
    lines = Normalizer(script, player.namespace).normalized(records)
    found: list[Json] = json.loads(json.dumps(lines))
    return found


def recording(folder: Path, profile: str, name: str) -> dict[str, Json]:
    """The recorded steps of a script by id; empty if there is no recording."""
    steps: dict[str, Json] = {}
    for place in (profile, RELEASES.get(profile, "")):
        path = folder / place / f"{name}.jsonl"
        if place and path.exists():
            lines = path.read_text("utf-8").splitlines()
            steps |= {line["id"]: line for line in map(json.loads, lines)}
    return steps


def differences(want: Any, got: Any, path: str = "") -> Iterator[str]:
    """What differs, a line each; the texts of messages do not count."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key in sorted({*want, *got} - {"message"}):
            there, ours = want.get(key, "<absent>"), got.get(key, "<absent>")
            if key == "causes":
                there, ours = _by_field(there), _by_field(ours)
            elif key.endswith("managedFields"):
                there, ours = _by_manager(there), _by_manager(ours)
            yield from differences(there, ours, f"{path}.{key}")
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for index, (there, ours) in enumerate(zip(want, got, strict=True)):
            yield from differences(there, ours, f"{path}[{index}]")
    elif _plain(want) != _plain(got) and not (".cells[" in path and _is_age(want) and _is_age(got)):
        yield f"{path}: want {json.dumps(want)[:_VALUE_MAX]}, got {json.dumps(got)[:_VALUE_MAX]}"


def _plain(value: Any) -> Any:
    """The same without the ending of a volume's name that the server has made up."""
    return _VOLUME.sub(r"\1", value) if isinstance(value, str) else value


_VOLUME: Final = re.compile(r"^(kube-api-access-).{5}$")


def _is_age(cell: Any) -> bool:
    return isinstance(cell, str) and AGE.fullmatch(cell) is not None


def _by_field(causes: Any) -> Any:
    """Causes in an order that does not depend on their messages."""
    if not isinstance(causes, list):
        return causes
    return sorted(causes, key=lambda cause: (cause.get("field", ""), cause.get("reason", "")))


def _by_manager(entries: Any) -> Any:
    """Owners in an order that does not depend on the second in which each of them wrote."""
    if not isinstance(entries, list):
        return entries
    return sorted(entries, key=lambda entry: json.dumps(entry, sort_keys=True))


def compare(profile: str, name: str, script: Json, folder: Path) -> Tally:
    """Play one script and print what differs from its recording."""
    golden, known, tally = recording(folder, profile, name), _known(profile, name), Tally()
    try:
        lines = play(profile, script)
    except Exception as error:  # one broken script shall not hide the others
        _write(f"{profile} {name}: broken off: {type(error).__name__}: {error}")
        return Tally(differ=max(1, len(golden)))
    for line in lines:
        want = golden.pop(line["id"], None)
        found = ["not recorded"] if want is None else list(differences(want, line))
        if line.get("flaky") or not found:
            tally.agree += 1
        elif line["id"] in known:
            tally.known += 1
        else:
            tally.differ += 1
            _write(f"{profile} {name} {line['id']}")
            for text in found[:_SHOWN_MAX]:
                _write(f"    {text}")
    for missing in golden:
        tally.differ += 1
        _write(f"{profile} {name} {missing}: recorded, but not played")
    return tally


def played_as(profile: str) -> str:
    """The profile whose scripts are played: 1.34 for 1.34.4, itself for all others."""
    return _PLAYED_AS.get(profile, profile)


def _known(profile: str, name: str) -> Json:
    listed: Json = json.loads(KNOWN.read_text("utf-8"))
    found: Json = {}
    for place in ("*", played_as(profile), profile):
        found |= (listed.get(place) or {}).get(name) or {}
    return found


def known_patterns(profile: str) -> list[re.Pattern[str]]:
    """What the fuzz may find: signatures of differences that stay, for a reason."""
    listed: Json = json.loads(KNOWN.read_text("utf-8"))
    found: list[re.Pattern[str]] = []
    for place in ("*", profile):
        found += [re.compile(text) for text in (listed.get(place) or {}).get(FUZZ) or {}]
    return found


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")


def _scripts(named: list[str], folder: Path | None) -> list[Path]:
    if not named:
        every = sorted(folder.glob("*.yaml")) if folder else []
        return [path for path in every if path.stem not in NOT_OURS]
    found = []
    for name in named:
        path = Path(name)
        if folder and not path.exists():
            path = folder / f"{name.removesuffix('.yaml')}.yaml"
        found.append(path)
    return found


def main(arguments: list[str]) -> int:
    """Play, compare, print; 1 if a step differs for no known reason, or nothing was played."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream.apiserver")
    parser.add_argument("script", nargs="*", help="a YAML file, or a name in --scripts")
    parser.add_argument("--recordings", "--recorded", type=Path, required=True, metavar="DIR")
    parser.add_argument("--scripts", type=Path, metavar="DIR")
    parser.add_argument("--profile", action="append", choices=EVERY)
    chosen = parser.parse_args(arguments)
    total = Tally()
    for profile in chosen.profile or PROFILES:
        for path in _scripts(chosen.script, chosen.scripts):
            script: Json = yaml.safe_load(path.read_text("utf-8"))
            if played_as(profile) not in script.get("profiles", [played_as(profile)]):
                continue
            tally = compare(profile, path.stem, script, chosen.recordings)
            known = f" ({tally.known} more for a known reason)" if tally.known else ""
            _write(f"{profile} {path.stem}: {tally.line()}{known}")
            total.add(tally)
    if total.known:
        _write(f"{total.known} differ for a reason listed in {KNOWN.name}")
    _write(total.line())
    return 0 if total.agree and not total.differ else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
