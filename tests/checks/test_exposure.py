"""Judgements of who else gets at a driver's files, of names, of edits and of what is told."""

from __future__ import annotations

import functools
import stat
from collections.abc import Sequence

import pytest

from pytest_dra.checks import escapes
from pytest_dra.checks import exposure
from pytest_dra.checks import reviewing
from pytest_dra.checks import secrecy
from pytest_dra.checks.exposure import Found
from pytest_dra.checks.reviewing import Piece
from pytest_dra.spec import Json
from tests.checks.raising import Judgement
from tests.checks.raising import Said
from tests.checks.raising import said

FOLDER, SOCKET, FILE = stat.S_IFDIR, stat.S_IFSOCK, stat.S_IFREG
CLOSED = "closed to other users, itself or a directory of the driver's above it"
OWN = ("/plug", "/cdi")


def _found(*parts: tuple[str, int]) -> Sequence[Found]:
    return [Found(path, mode) for path, mode in parts]


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(
            _found(("d", FOLDER | 0o755), ("d/s", SOCKET | 0o755), ("d/state", FILE | 0o600)),
            id="each is closed itself",
        ),
        pytest.param(
            _found(("d", FOLDER | 0o750), ("d/s", SOCKET | 0o777), ("d/state", FILE | 0o666)),
            id="a closed directory closes what is in it",
        ),
        pytest.param(
            _found(("d", FOLDER | 0o700), ("d/e", FOLDER | 0o777), ("d/e/state", FILE | 0o644)),
            id="also further down",
        ),
        pytest.param(
            _found(("d", FOLDER | 0o755), ("d/lib", FILE | 0o755)), id="a program is no state"
        ),
    ],
)
def test_what_others_cannot_get_at_is_let_pass(found: Sequence[Found]) -> None:
    assert said(lambda: exposure.must_be_closed(found, state=["d/state", "d/e/state"])) is None


@pytest.mark.parametrize(
    ("found", "where", "problem"),
    [
        pytest.param(
            _found(("d", FOLDER | 0o777)),
            "d with mode 0777",
            "replace what lies in this directory",
            id="directory",
        ),
        pytest.param(
            _found(("d", FOLDER | 0o755), ("d/s", SOCKET | 0o777)),
            "d/s with mode 0777",
            "call this socket",
            id="socket",
        ),
        pytest.param(
            _found(("d", FOLDER | 0o755), ("d/state", FILE | 0o644)),
            "d/state with mode 0644",
            "read or change this file of state",
            id="readable state",
        ),
        pytest.param(
            _found(("d", FOLDER | 0o755), ("d/lib", FILE | 0o666)),
            "d/lib with mode 0666",
            "change this file",
            id="any file that others can write",
        ),
    ],
)
def test_what_is_open_to_others_is_named(found: Sequence[Found], where: str, problem: str) -> None:
    assert said(lambda: exposure.must_be_closed(found, state=["d/state"])) == Said(
        where, f"every user of the node can {problem}", CLOSED
    )


def test_paths_outside_that_a_call_has_touched_are_named() -> None:
    before = {"a": 1, "b": 2}
    wanted = "an error or OK, and nothing touched outside data and CDI directories"
    for after, word, path in (
        ({"a": 1, "b": 2, "c": 3}, "made", "c"),
        ({"a": 1}, "removed", "b"),
        ({"a": 1, "b": 3}, "changed", "b"),
    ):
        got = f"{word} outside the driver's directories: {path}"
        judge = functools.partial(escapes.nothing_outside_may_change, before, after, what="Prepare")
        assert said(judge) == Said("Prepare", got, wanted)
    assert said(lambda: escapes.nothing_outside_may_change(before, dict(before), what="P")) is None


def test_what_was_made_elsewhere_is_told() -> None:
    assert said(lambda: escapes.nothing_may_be_made_outside(())) is None
    assert said(lambda: escapes.nothing_may_be_made_outside(["/etc/b", "/etc/a"])) == Said(
        "the file system of the driver after three claims",
        "made outside its directories: /etc/a, /etc/b",
        "writes only in plugin, registry, CDI and temporary directories, and in launch.writable",
    )


def test_odd_names_are_shown_in_short() -> None:
    names = escapes.odd_names("new", "there")
    assert names[:4] == ("../../new", "../../there", "new/b", "new\n")
    assert len(names[4]) == escapes.LONG
    assert escapes.in_short("x\n") == r"'x\n'"
    assert escapes.in_short(names[4]) == f"'{'a' * escapes.SHOWN}... (300 characters)'"


HOOK: Json = {"hookName": "createContainer", "path": "/bin/true"}


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ({"hooks": [HOOK]}, [Piece("/bin/true", "createContainer")]),
        ({"mounts": [{"hostPath": "/opt/x", "options": ["ro"]}]}, [Piece("/opt/x")]),
        ({"mounts": [{"hostPath": "/opt/x", "type": "bind"}]}, [Piece("/opt/x")]),
        ({"mounts": [{"hostPath": "/opt/x", "type": "rbind"}]}, [Piece("/opt/x")]),
        ({"mounts": [{"hostPath": "/dev/x"}, {"hostPath": "/sys/y"}]}, []),
        ({"mounts": [{"hostPath": "/plug/d/shared"}, {"hostPath": "/cdi"}]}, []),
        ({"mounts": [{"hostPath": "/plug/../etc"}]}, [Piece("/plug/../etc")]),
        ({"mounts": [{"hostPath": "tmpfs", "type": "tmpfs"}]}, []),
    ],
)
def test_hooks_and_mounts_of_the_host_are_found(edits: Json, expected: list[Piece]) -> None:
    assert list(reviewing.pieces(edits, own=OWN)) == expected


def test_what_is_not_declared_is_a_violation() -> None:
    found = [Piece("/bin/true", "createContainer"), Piece("/opt/x/lib")]

    def judge(*declared: str) -> Judgement:
        return lambda: reviewing.all_must_be_declared(found, declared=declared)

    assert said(judge("/bin/true", "/opt/x")) is None
    assert said(judge("/bin", "/opt")) == Said(
        "the container edits of a claim",
        "hook createContainer /bin/true, which the profile does not declare",
        "each hook and each mount of the host listed in injection.review, by its path",
    )


def test_a_text_is_put_into_a_field_by_its_path() -> None:
    sample = {"a": {"b": 1}, "c": "x"}
    assert secrecy.with_text(sample, "a.d", "t") == {"a": {"b": 1, "d": "t"}, "c": "x"}
    assert secrecy.with_text(sample, "e.f", "t")["e"] == {"f": "t"}
    assert sample == {"a": {"b": 1}, "c": "x"}
    with pytest.raises(ValueError, match=r"c of c\.d is no object"):
        secrecy.with_text(sample, "c.d", "t")


def test_a_secret_in_the_output_is_shown_with_its_line_alone() -> None:
    output = "first\nparameters: {label: s3cret, x: 1}\nlast"
    assert said(lambda: secrecy.must_not_be_logged(output, "other", what="A")) is None
    assert said(lambda: secrecy.must_not_be_logged(output, "s3cret", what="A")) == Said(
        "the driver's output after Prepare of A",
        "a line with it: ...parameters: {label: s3cret, x: 1}",
        "no values of opaque parameters, which may be secrets",
    )
