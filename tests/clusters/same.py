"""The same suite on the embedded API server and on a real one: the same states.

``python -m tests.clusters.same [--output DIR]``. Judges the fake driver on both, and Kubernetes'
``dra-test-driver`` (where it has been built) on the real one against its reviewed states. Exits 1
if a case differs, 2 without the programs (``KUBEBUILDER_ASSETS``).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_dra.clusters.binaries import BinariesError
from pytest_dra.clusters.binaries import find_binaries
from tests.drivers import upstream
from tests.drivers.expecting import Seen
from tests.drivers.expecting import run
from tests.drivers.expecting import say

PASSED: Final = "passed"
REAL: Final = "--dra-cluster=apiserver"


def differences(real: Mapping[str, str], embedded: Mapping[str, str]) -> list[str]:
    """Cases, by id, that ended otherwise on the real server."""
    return [
        f"{id} {real.get(id, 'not reported')}, want {state}"
        for id, state in sorted(embedded.items())
        if real.get(id) != state
    ]


def main(arguments: Sequence[str]) -> int:
    """Judge, and compare."""
    parser = argparse.ArgumentParser(prog="tests.clusters.same")
    parser.add_argument("--output", type=Path, default=None)
    options = parser.parse_args(arguments)
    try:
        say(f"kube-apiserver {find_binaries().version}")
    except BinariesError as error:
        say(str(error))
        return 2
    with tempfile.TemporaryDirectory(prefix="dra-same-") as temporary:
        output = options.output or Path(temporary)
        embedded = run(["--dra-driver=fake"], output / "embedded")
        real = run(["--dra-driver=fake", REAL], output / "apiserver")
        wrong = _told("fake driver", real, embedded.states)
        program = upstream.find()
        if program is None:
            say(f"{upstream.PROGRAM}: not built here, left out")
        else:
            expected = json.loads(upstream.EXPECTED.read_text("utf-8"))["cases"]
            states = {id: expected.get(id, {}).get("state", PASSED) for id in real.states}
            driver = upstream.options_of(program)
            real = run([*driver, REAL], output / "upstream")
            wrong += _told(upstream.PROGRAM, real, states)
    say("the same" if not wrong else f"{wrong} differ")
    return 1 if wrong else 0


def _told(name: str, real: Seen, embedded: Mapping[str, str]) -> int:
    found = differences(real.states, embedded)
    say(f"{name} on kube-apiserver: {real.verdict} in {real.seconds:.1f} s ({real.counts})")
    for line in found:
        say(f"  {line}: {real.texts.get(line.partition(' ')[0], '')}")
    return len(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
