"""Record what a real kube-apiserver answers to scripts, in the normal form of the replay.

    python -m tests.upstream.apiserver_record SCRIPT... --out DIR [--profile P]

``KUBEBUILDER_ASSETS`` names the folder of its programs. Writes ``DIR/P/<script>.jsonl``. Texts of
messages are left out: they are nobody's to repeat, and no replay compares them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from pytest_dra.clusters.binaries import find_binaries
from pytest_dra.spec import Json
from tests.upstream.apiserver import EVERY
from tests.upstream.apiserver import PROFILES
from tests.upstream.apiserver import TOKENS
from tests.upstream.apiserver import played_as
from tests.upstream.apiserver_normal import Normalizer
from tests.upstream.apiserver_player import Player
from tests.upstream.apiserver_real import RealServer


def recorded(real: RealServer, script: Json) -> list[Json]:
    """The lines of a recording; what the script leaves behind is removed by its ``cleanup``."""
    player = Player(real.url, TOKENS, script, trust=real.trust())
    lines = Normalizer(script, player.namespace).normalized(player.play())
    cleaning = {"steps": [{**step, "silent": True} for step in script.get("cleanup") or []]}
    Player(real.url, TOKENS, cleaning, trust=real.trust()).play()
    return [without_messages(line) for line in lines]


def without_messages(value: Any) -> Any:
    """The same without the texts of failures and their causes."""
    if isinstance(value, list):
        return [without_messages(part) for part in value]
    if not isinstance(value, dict):
        return value
    told = "reason" in value or value.get("kind") == "Status"
    return {
        name: without_messages(part)
        for name, part in value.items()
        if not (told and name == "message")
    }


def main(arguments: list[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream.apiserver_record")
    parser.add_argument("script", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--profile", choices=EVERY, default=PROFILES[0])
    chosen = parser.parse_args(arguments)
    folder = chosen.out / chosen.profile
    folder.mkdir(parents=True, exist_ok=True)
    with RealServer(find_binaries(), played_as(chosen.profile)) as real:
        for path in chosen.script:
            lines = recorded(real, yaml.safe_load(path.read_text("utf-8")))
            text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)
            (folder / f"{path.stem}.jsonl").write_text(text, "utf-8")
            sys.stdout.write(f"{path.stem}: {len(lines)} steps\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
