"""Judgements of how spec files come into their directories."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pytest_dra.cdi import Library
from pytest_dra.checks import arrivals
from pytest_dra.timeline import Entry
from pytest_dra.timeline import FileEvent
from tests.checks.raising import Said
from tests.checks.raising import said

CDI = Path("/node/cdi")
STATIC = Path("/node/etc-cdi")
SPEC = CDI / "a.json"
OLD, NEW = Library.V1_1_0, Library.V1_1_2
RENAME = 7
EMPTY = "empty"


def events(*told: str | tuple[str, str]) -> list[Entry[FileEvent]]:
    """Events of ``a.json`` (or another file) by action; a problem stands behind a colon.

    ``moved-from`` and ``moved-to`` share a cookie, ``renamed-to`` is a half alone.
    """
    made = []
    for serial, each in enumerate(told, start=10):
        name, text = each if isinstance(each, tuple) else ("a.json", each)
        action, _, problem = text.partition(":")
        cookie = {"moved-from": RENAME, "moved-to": RENAME, "renamed-to": 9}.get(action, 0)
        event = FileEvent(
            instance="a",
            directory=str(CDI),
            name=name,
            action=action.replace("renamed-to", "moved-to"),
            cookie=cookie,
            digest=_digest(action, problem),
            problem=problem,
        )
        made.append(Entry(serial, serial / 10, False, event))
    return made


def _digest(action: str, problem: str) -> str:
    if action not in ("written", "moved-to", "renamed-to"):
        return ""
    return hashlib.sha256(b"").hexdigest() if problem == EMPTY else "d"


class TestWhole:
    @pytest.mark.parametrize(
        "told",
        [
            pytest.param((), id="nothing"),
            pytest.param((("x", "moved-from"), "moved-to"), id="rename"),
            pytest.param(("created", "modified", "written"), id="in place"),
            pytest.param(("created", "written:half"), id="never right"),
            pytest.param(("written:half", "written:half"), id="never right, twice"),
            pytest.param(("written:half", "deleted", "written"), id="another file"),
            pytest.param(("written:half", "moved-from", "moved-to"), id="moved away"),
            pytest.param(("written:half", ("b.json", "written")), id="another name"),
            pytest.param(("created", "modified"), id="not looked at"),
            pytest.param(
                ("created", "modified", f"written:{EMPTY}", "modified", "written"),
                id="overtaken by its next writing",
            ),
        ],
    )
    def test_good_arrivals_are_let_pass(self, told: tuple[str, ...]) -> None:
        assert said(lambda: arrivals.specs_must_be_whole(events(*told))) is None

    @pytest.mark.parametrize(
        ("told", "how", "proof"),
        [
            (("created", "written:half", "modified", "written"), "written", (11, 13)),
            (("written", "written:half", "written:half", "written"), "written", (11, 13)),
            (("moved-to:half", "written"), "moved-to", (10, 11)),
            (("created", f"written:{EMPTY}", "modified", "written"), "written", (11, 13)),
        ],
    )
    def test_a_spec_that_was_not_whole_at_first_is_told(
        self, told: tuple[str, ...], how: str, proof: tuple[int, ...]
    ) -> None:
        after_s = (proof[1] - proof[0]) / 10
        assert said(lambda: arrivals.specs_must_be_whole(events(*told))) == Said(
            f"CDI spec a.json as it was first {how}",
            f"{EMPTY if EMPTY in told[1] else 'half'}; complete {after_s:.3f} s later",
            "a file that is complete under its final name: written under another one (without "
            ".json or .yaml) and renamed, or at once",
            proof,
        )


class TestNoticed:
    @pytest.mark.parametrize(
        "told",
        [
            pytest.param((), id="nothing seen"),
            pytest.param(("created", "modified", "written"), id="in place"),
            pytest.param(("modified", "written"), id="again in place"),
            pytest.param((("x", "moved-from"), "moved-to"), id="rename in the directory"),
            pytest.param(("renamed-to", ("b.json", "modified")), id="another spec after it"),
            pytest.param(("renamed-to", ("x", "deleted")), id="something removed after it"),
            pytest.param(("created", ("x", "moved-from")), id="link, something renamed after it"),
            pytest.param(("renamed-to", ("", "appeared")), id="directory appears"),
            pytest.param(("renamed-to", "modified"), id="written afterwards"),
        ],
    )
    def test_what_a_runtime_notices_is_let_pass(self, told: tuple[str, ...]) -> None:
        judged = said(lambda: arrivals.specs_must_be_noticed(events(*told), [SPEC], library=OLD))
        assert judged is None

    @pytest.mark.parametrize(
        ("told", "how", "serial"),
        [
            (("renamed-to",), "renamed from another directory", 10),
            ((("b.json", "modified"), "renamed-to"), "renamed from another directory", 11),
            (("created",), "made as a link", 10),
            (("created", "modified", "renamed-to"), "renamed from another directory", 12),
            (("renamed-to", ("b.json", "created")), "renamed from another directory", 10),
        ],
    )
    def test_what_it_does_not_notice_is_told_with_its_version(
        self, told: tuple[str, ...], how: str, serial: int
    ) -> None:
        record = events(*told)
        judged = said(
            lambda: arrivals.specs_must_be_noticed(record, [SPEC], library=OLD, proof=[99])
        )
        assert judged == Said(
            "CDI spec a.json",
            how,
            "written in place, or renamed from a name in the same directory: containerd 2.3.7 "
            "(CDI library 1.1.0) does not notice it otherwise until another spec is written",
            (serial, 99),
        )
        assert said(lambda: arrivals.specs_must_be_noticed(record, [SPEC], library=NEW)) is None
        assert said(lambda: arrivals.specs_must_be_noticed(record, [], library=OLD)) is None


class TestUnseen:
    @pytest.mark.parametrize(
        ("told", "before", "after"),
        [
            pytest.param((), {SPEC: "1"}, {SPEC: "1"}, id="the same"),
            pytest.param((), {}, {SPEC: "1"}, id="new"),
            pytest.param((), {SPEC: "1"}, {}, id="gone"),
            pytest.param((), {SPEC: ""}, {SPEC: "1"}, id="not read before"),
            pytest.param((), {SPEC: "1"}, {SPEC: ""}, id="not read now"),
            pytest.param(("modified",), {SPEC: "1"}, {SPEC: "2"}, id="written"),
            pytest.param((("", "appeared"),), {SPEC: "1"}, {SPEC: "2"}, id="directory appears"),
        ],
    )
    def test_what_is_seen_or_unchanged_is_let_pass(
        self, told: tuple[str, ...], before: dict[Path, str], after: dict[Path, str]
    ) -> None:
        judged = said(
            lambda: arrivals.texts_must_not_change_unseen(
                events(*told), before=before, after=after, library=NEW
            )
        )
        assert judged is None

    def test_another_text_without_an_event_is_told(self) -> None:
        judged = said(
            lambda: arrivals.texts_must_not_change_unseen(
                events(("b.json", "modified")),
                before={SPEC: "1"},
                after={SPEC: "2"},
                library=NEW,
                proof=[4],
            )
        )
        assert judged == Said(
            "CDI spec a.json",
            "another text than before, without an event in its directory (the target of a link was "
            "written?)",
            "written in place, or renamed from a name in the same directory: a container runtime "
            "with CDI library 1.1.2 keeps the old text otherwise",
            (4,),
        )


class TestStatic:
    @staticmethod
    def judged(
        static: Path, *removed: Path, action: str = "created", uid: str = "u"
    ) -> Said | None:
        return said(
            lambda: arrivals.claims_specs_must_not_be_static(
                events(action), static=static, removed=removed, uids=[uid], proof=[4]
            )
        )

    def test_the_run_time_directory_is_let_pass(self) -> None:
        assert self.judged(STATIC, SPEC) is None

    def test_what_stays_there_and_is_not_named_after_the_claim_is_let_pass(self) -> None:
        assert self.judged(CDI) is None
        assert self.judged(CDI, SPEC, action="modified") is None

    @pytest.mark.parametrize("action", ["created", "moved-to"])
    @pytest.mark.parametrize(
        ("removed", "uid"),
        [pytest.param((SPEC,), "u", id="gone later"), pytest.param((), "a", id="named")],
    )
    def test_a_claims_spec_is_told(self, action: str, removed: tuple[Path, ...], uid: str) -> None:
        assert self.judged(CDI, *removed, action=action, uid=uid) == Said(
            "CDI spec a.json of a claim",
            "made in the static directory (/etc/cdi)",
            "made in the run-time directory (/var/run/cdi), which a reboot empties",
            (10, 4),
        )


def test_files_are_removed_by_the_driver_and_not_by_the_suite() -> None:
    record = events(("a.json", "deleted"), ("b.json", "moved-from"), ("c.json", "created"))
    assert arrivals.removed(record) == {SPEC, CDI / "b.json"}
    disturbed = [Entry(entry.serial, entry.at, True, entry.event) for entry in record]
    assert arrivals.removed(disturbed) == set()
