"""What the releases of Kubernetes differ in, and how the package is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_dra.cel import CompileError
from pytest_dra.cel import Environment
from pytest_dra.cel import Selector
from pytest_dra.cel import environment
from pytest_dra.cel import prepare
from pytest_dra.cel.environments import MINORS

INCLUDES = 'device.attributes["d"].a.includes("x")'
LISTS = frozenset({"ListTypeAttributes"})


def compiles(text: str, env: Environment) -> bool:
    try:
        Selector(text, env)
    except CompileError:
        return False
    return True


def test_includes_comes_with_its_release_and_gate() -> None:
    known = [minor for minor in MINORS if compiles(INCLUDES, environment(minor))]
    assert known == [36, 37]
    new = [minor for minor in MINORS if compiles(INCLUDES, environment(minor, stored=False))]
    assert new == []
    gated = [
        minor
        for minor in MINORS
        if compiles(INCLUDES, environment(minor, stored=False, features=LISTS))
    ]
    assert gated == [36, 37]


def test_a_release_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no CEL environment for Kubernetes 1\.33"):
        environment(33)


def test_a_list_is_a_value_where_the_release_has_lists() -> None:
    body = {"attributes": {"a": {"strings": ["x"]}}}
    assert Selector(INCLUDES).matches(prepare([("d", body)])) == [True]
    (fault,) = Selector("true", environment(35)).matches(prepare([("d", body)], lists=False))
    assert fault is not True


def test_the_package_is_imported_without_its_modules() -> None:
    code = (
        "import sys, pytest_dra.cel\n"
        "loaded = [name for name in sys.modules if name.startswith('pytest_dra.cel.')]\n"
        "sys.exit(len(loaded))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_names_of_the_package_are_the_same_after_its_modules_are_loaded() -> None:
    code = (
        "import pytest_dra.cel.environments, pytest_dra.cel.program, pytest_dra.cel.prepared\n"
        "from pytest_dra.cel import environment, prepare, Selector\n"
        "Selector('true', environment(37)).matches(prepare([]))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
