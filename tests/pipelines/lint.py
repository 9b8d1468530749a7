"""Lints the pipeline templates with each system's own linter.

``python -m tests.pipelines.lint [--tools DIR]``; what is neither in a folder of ``--tools`` nor on
PATH is left out, and said. The linters are named, with their versions, in ``.ci/linters``. The
program ``knock`` beside this module is Tekton's own code, which is sent deliveries of a webhook.
Exits 1 where one of them finds something.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.documents.blocks import FILE
from tests.documents.blocks import blocks
from tests.pipelines import steps

LINTERS: Final = steps.ROOT / ".ci/linters"
DOCUMENT: Final = "PIPELINES.md"

LIMIT_S: Final = 600.0
"""Longest linter: the one of Groovy starts a Java machine."""


@dataclasses.dataclass(frozen=True, slots=True)
class Linter:
    """A program with what it is called with, and the programs that it needs besides."""

    program: str
    arguments: tuple[str, ...]
    needs: tuple[str, ...] = ()


def linters(callers: tuple[str, ...]) -> list[Linter]:
    """All of them.

    Args:
        callers: workflows that a driver's repository has, from the documents.
    """
    workflows = (str(steps.WORKFLOW), *callers)
    schema = "check-jsonschema"
    listeners = (str(steps.TEKTON_NIGHTLY), str(steps.TEKTON_PULL_REQUEST))
    return [
        Linter("actionlint", workflows),
        Linter(schema, ("--builtin-schema", "vendor.github-workflows", *workflows)),
        Linter(schema, ("--builtin-schema", "vendor.github-actions", str(steps.ACTION))),
        Linter(schema, ("--builtin-schema", "vendor.gitlab-ci", str(steps.GITLAB))),
        Linter(
            "checkconfig",
            (
                f"--config-path={LINTERS / 'prow-config.yaml'}",
                f"--job-config-path={steps.PROW}",
                "--strict",
                "--include-default-warnings",
                # Without it a misspelled field is nothing.
                "--warnings=unknown-fields-all",
            ),
        ),
        Linter("tekton-lint", (str(steps.TEKTON), *listeners), ("node",)),
        # Ours: the linter overlooks a misspelled field, and with it that nothing is checked.
        Linter("knock", listeners),
        Linter(
            "npm-groovy-lint",
            (
                "--noserver",
                "--failon",
                "error",
                "--path",
                str(steps.TEMPLATES),
                "--files",
                "Jenkinsfile",
            ),
            ("node", "java"),
        ),
    ]


def callers_in(folder: Path) -> tuple[str, ...]:
    """The workflows that the document shows, as files."""
    found = []
    for block in blocks(DOCUMENT):
        name = block.directives.get(FILE, "")
        if name.startswith(".github/workflows/"):
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, "utf-8")
            found.append(str(file))
    return tuple(found)


def lint(linter: Linter, path: str) -> bool:
    """Run one; True if it finds nothing, or is not there."""
    missing = [
        each for each in (linter.program, *linter.needs) if not shutil.which(each, path=path)
    ]
    if missing:
        sys.stdout.write(f"{linter.program}: left out, without {' and '.join(missing)}\n")
        return True
    program = shutil.which(linter.program, path=path) or linter.program
    done = subprocess.run(
        [program, *linter.arguments],
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    told = (
        "nothing found" if done.returncode == 0 else f"exit code {done.returncode}\n{done.stdout}"
    )
    sys.stdout.write(f"{linter.program}: {told}\n")
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    """Run them all."""
    parser = argparse.ArgumentParser(prog="tests.pipelines.lint")
    parser.add_argument("--tools", type=Path, action="append", default=[])
    given = parser.parse_args(arguments)
    path = os.pathsep.join([*(str(each.absolute()) for each in given.tools), os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as folder:
        clean = [lint(each, path) for each in linters(callers_in(Path(folder)))]
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
