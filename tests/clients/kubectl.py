"""kubectl's answers: the steps of ``kubectl.yaml`` on one server, and what of them is compared."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import Final

import yaml

from pytest_dra.clusters.binaries import VARIABLE
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

STEPS: Final = Path(__file__).with_name("kubectl.yaml")

COMMAND_S: Final = 60.0
"""Longest command: most take 0.1 s, a busy machine takes some times that."""

RETRY_S: Final = 20.0
"""How long a kind that has just been defined may take to be served."""

EVERY_S: Final = 0.2

EDITOR: Final = "sed -i s/owner:.me$/&too/"
"""What ``kubectl edit`` starts."""

_CHANGING: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} [0-9:]{8} [-+]\d{4}"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [-+]\d{4}"), "TIME"),
    (re.compile(r"(Resource Version: +)\d+"), r"\1N"),
    (re.compile(r'((?:resourceVersion|generation)"?: ?)"?\d+"?'), r"\1N"),
    (re.compile(r"(?<![\w.-])(?:\d+[dhms])+(?![\w.-])"), "AGE"),
    (re.compile(r"https?://127\.0\.0\.1:\d+(/as/[0-9a-f]+)?"), "URL"),
    (re.compile(r"/\S*/files/"), "FILES/"),
    (re.compile(r"\S+/(LIVE|MERGED)-\d+/"), r"\1/"),
    (re.compile(r"(memcache\.go|\w+\.go):\d+\]"), "GO]"),
    (re.compile(r"^[EWI]\d{4} [0-9:.]+ +\d+ ", re.MULTILINE), ""),
    (re.compile(r"pytest-dra-?\w*"), "ADMIN"),
)
"""What is another one in each run."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command ended with."""

    code: int
    out: str
    error: str

    @property
    def said(self) -> str:
        """Both outputs."""
        return self.out + self.error


def find(environ: Mapping[str, str] = os.environ) -> str | None:
    """kubectl in the directory that KUBEBUILDER_ASSETS names, or on the path."""
    folder = environ.get(VARIABLE, "")
    return (shutil.which("kubectl", path=folder) if folder else None) or shutil.which("kubectl")


def load() -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The files and the steps."""
    found = yaml.safe_load(STEPS.read_text("utf-8"))
    return found["files"], found["steps"]


class Kubectl:
    """kubectl with one kubeconfig, in a directory of its own."""

    def __init__(self, program: str, kubeconfig: Path, directory: Path) -> None:
        self._program = program
        self._home = directory
        self._env = {
            "PATH": os.defpath,
            "HOME": str(directory),
            "KUBECONFIG": str(kubeconfig),
            "TMPDIR": str(directory),
            "KUBE_EDITOR": EDITOR,
        }
        self._files: dict[str, str] = {}
        self._background: dict[str, tuple[subprocess.Popen[bytes], Path]] = {}

    def write(self, files: Mapping[str, str]) -> None:
        """Make the files that steps name in braces."""
        folder = self._home / "files"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = folder / f"{name}.yaml"
            path.write_text(text, "utf-8")
            self._files[name] = str(path)

    def __call__(self, words: str) -> Answer:
        """Run one command."""
        done = subprocess.run(
            self._argv(words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=self._env,
            timeout=COMMAND_S,
            check=False,
        )
        return Answer(code=done.returncode, out=_text(done.stdout), error=_text(done.stderr))

    def play(self, steps: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Answer]]:
        """Run steps in order; what runs in the background answers where it is collected."""
        nameless = bool(self("get --raw /api").code)
        for step in steps:
            if step.get("known") and nameless:
                continue
            if name := step.get("start"):
                self._start(name, step["run"])
            elif name := step.get("await"):
                self._lines(name, step["lines"])
            elif name := step.get("collect"):
                yield {"name": name, **step}, self._collect(name, step["lines"])
            else:
                yield step, self._patiently(step)

    def close(self) -> None:
        """End what still runs in the background."""
        for process, _ in self._background.values():
            process.kill()
            process.wait(COMMAND_S)
        self._background.clear()

    def _patiently(self, step: dict[str, Any]) -> Answer:
        answers = [self(step["run"])]
        if step.get("retry"):

            def worked() -> bool:
                if answers[-1].code:
                    answers.append(self(step["run"]))
                return not answers[-1].code

            poll(worked, Deadline.after(RETRY_S), every_s=EVERY_S)
        return answers[-1]

    def _argv(self, words: str) -> list[str]:
        return [self._program, *(self._filled(each) for each in shlex.split(words))]

    def _filled(self, word: str) -> str:
        return self._files.get(word[1:-1], word) if word[:1] == "{" else word

    def _start(self, name: str, words: str) -> None:
        out = self._home / f"{name}.out"
        with out.open("wb") as file:
            process = subprocess.Popen(
                self._argv(words),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=self._env,
            )
        self._background[name] = (process, out)

    def _lines(self, name: str, number: int) -> None:
        process, out = self._background[name]

        def enough() -> bool:
            return process.poll() is not None or out.read_bytes().count(b"\n") >= number

        poll(enough, Deadline.after(COMMAND_S), every_s=EVERY_S)

    def _collect(self, name: str, lines: int) -> Answer:
        self._lines(name, lines)
        process, out = self._background.pop(name)
        process.kill()
        process.wait(COMMAND_S)
        return Answer(code=0, out=_text(out.read_bytes()), error="")


def comparable(step: Mapping[str, Any], answer: Answer) -> list[str]:
    """The lines of an answer that two servers have to agree on."""
    text = answer.said
    for pattern, instead in _CHANGING:
        text = pattern.sub(instead, text)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    if step.get("causes"):
        return sorted(line.partition(": ")[0] for line in lines if line.startswith("* "))
    if step.get("shape"):
        lines = [line for line in lines if line != "<empty>"]
        return [line for line in lines if re.search(r"(^|\s)<\S+>( -required-)?$|^[A-Z]+:", line)]
    return lines


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")
