"""One judge: a run of pytest in a process that is forked and not started.

Importing pytest, the suite and the fake driver takes longer than most runs of a few cases do
anything; here it is done once, by the process that forks. The judge, the keeper of its drivers and
each fake driver are processes of their own, as in any other run.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from pytest_dra.report import html
from tests.sweep import keeping

MODULES = (
    "jinja2",
    "jsonschema",
    "kubernetes.client",
    "kubernetes.config",
    "kubernetes.stream",
    "yaml",
    "pytest_dra.fake_driver.__main__",
    "pytest_dra.fake_driver.faults",
    "pytest_dra.fake_driver.variants",
    "pytest_dra.objects.sarif",
    "pytest_dra.report.writing",
    "pytest_dra.runner",
)
"""What a run imports in its course."""

PAGE = "report.html"
"""A template that each run would compile."""

COLLECTS = ("-q", "-p", "no:cacheprovider", "--dra-driver=fake", "--collect-only")
"""A run that imports plugins and cases, and starts nothing."""

OUTPUT = "output"
"""The file with what a judge has printed."""

OUTPUT_MODE = 0o600


def import_all() -> None:
    """Import what the judges need.

    Raises:
        RuntimeError: the cases cannot be collected; the text is pytest's output.
    """
    for name in MODULES:
        importlib.import_module(name)
    html.templates().get_template(PAGE)
    text = io.StringIO()
    with tempfile.TemporaryDirectory(prefix="dra-sweep-") as empty, _within(empty):
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            code = pytest.main([f"--rootdir={empty}", *COLLECTS])
    if code:
        raise RuntimeError(text.getvalue())
    # What is there is there for good: a collection in a judge would copy the pages that it touches.
    gc.collect()
    gc.freeze()


@contextlib.contextmanager
def _within(directory: str) -> Iterator[None]:
    """Be in a directory for a while."""
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


def fork(arguments: Sequence[str], directory: Path, env: Mapping[str, str]) -> int:
    """Run pytest in a new process; its pid.

    Args:
        arguments: of pytest.
        directory: where it runs; what it prints is in the file :data:`OUTPUT` there.
        env: variables beside those of this process.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        try:
            _become(directory, env)
            keeping.keep_ready()
            sys.argv[1:] = arguments
            _end(pytest.main(list(arguments)))
        except BaseException:
            sys.excepthook(*sys.exc_info())
            _end(pytest.ExitCode.INTERNAL_ERROR)
    return pid


def _become(directory: Path, env: Mapping[str, str]) -> None:
    """Be a process as pytest is used to it."""
    keeping.end_with_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(directory)
    os.environ.update(env)
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND, OUTPUT_MODE)
    for standard, descriptor in enumerate((nothing, output, output)):
        os.dup2(descriptor, standard)
    os.close(nothing)
    os.close(output)


def _end(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
