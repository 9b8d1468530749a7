"""Judgements of CDI directories, on files as a driver could write them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_dra import cdi
from pytest_dra.checks import cdi_specs
from pytest_dra.spec import Json
from tests.checks.answers import UID
from tests.checks.answers import answered
from tests.checks.answers import device
from tests.checks.raising import Said
from tests.checks.raising import said

KIND = "vendor.test/gpu"


def spec(*names: str, edits: Json | None = None, version: str = "0.5.0") -> str:
    """A spec with these devices."""
    inner = {"env": ["A=1"]} if edits is None else edits
    devices = [{"name": name, "containerEdits": inner} for name in names]
    return json.dumps({"cdiVersion": version, "kind": KIND, "devices": devices})


def registry(directory: Path, **files: str) -> cdi.Registry:
    """Write files (``name`` for ``name.json``) and load the directory."""
    for name, text in files.items():
        (directory / f"{name}.json").write_text(text, encoding="utf-8")
    return cdi.load([directory])


def test_all_ids_of_a_claim_come_in_the_order_of_the_answer() -> None:
    reply = answered(device("b", ids=("z=1", "y=1")), device("a", ids=("x=1",)))
    assert cdi_specs.ids_of(reply, UID) == ["z=1", "y=1", "x=1"]
    assert cdi_specs.ids_of(reply, "another uid") == []


class TestFiles:
    def test_good_files_and_an_empty_directory_are_let_pass(self, tmp_path: Path) -> None:
        assert said(lambda: cdi_specs.files_must_load(registry(tmp_path), before=())) is None
        found = registry(tmp_path, good=spec("g0"))
        assert said(lambda: cdi_specs.files_must_load(found, before=())) is None

    def test_a_file_that_does_not_load_is_told_with_the_reason(self, tmp_path: Path) -> None:
        found = registry(tmp_path, good=spec("g0"), zbad=spec("g1", edits={}))
        (bad,) = (file for file in found.files if file.errors)
        assert said(lambda: cdi_specs.files_must_load(found, before=(), proof=[4])) == Said(
            "CDI spec zbad.json", "; ".join(bad.errors), "a file that the CDI library loads", (4,)
        )
        assert "containerEdits" in bad.errors[0] or "edits" in bad.errors[0]

    def test_a_file_that_was_there_before_the_driver_is_not_its_fault(self, tmp_path: Path) -> None:
        found = registry(tmp_path, bad="{")
        assert said(lambda: cdi_specs.files_must_load(found, before=())) is not None
        before = {tmp_path / "bad.json"}
        assert said(lambda: cdi_specs.files_must_load(found, before=before)) is None

    @pytest.mark.parametrize("reason", sorted(cdi_specs.OTHERS_REASONS))
    def test_what_another_case_judges_is_left_to_it(self, reason: str, tmp_path: Path) -> None:
        file = cdi.SpecFile(
            path=tmp_path / "x.json",
            directory=tmp_path,
            priority=0,
            errors=("wrong", "worse"),
            reasons=(reason, reason),
        )
        found = cdi.Registry((tmp_path,), (file,), (), {}, {})
        assert said(lambda: cdi_specs.files_must_load(found, before=())) is None

    def test_a_second_reason_beside_another_cases_one_is_told_alone(self, tmp_path: Path) -> None:
        file = cdi.SpecFile(
            path=tmp_path / "x.json",
            directory=tmp_path,
            priority=0,
            errors=("double", "no kind"),
            reasons=("conflict", "kind"),
        )
        found = cdi.Registry((tmp_path,), (file,), (), {}, {})
        judged = said(lambda: cdi_specs.files_must_load(found, before=()))
        assert judged == Said("CDI spec x.json", "no kind", "a file that the CDI library loads")


class TestIds:
    def test_ids_that_name_one_device_each_are_let_pass(self, tmp_path: Path) -> None:
        found = registry(tmp_path, a=spec("g0", "g1"))
        ids = [f"{KIND}=g1", f"{KIND}=g0", f"{KIND}=g1"]
        assert said(lambda: cdi_specs.ids_must_resolve(found, ids, what="A")) is None
        assert said(lambda: cdi_specs.ids_must_resolve(found, [], what="A")) is None

    def test_an_id_without_the_form_is_told_with_the_rule(self, tmp_path: Path) -> None:
        judged = said(
            lambda: cdi_specs.ids_must_resolve(registry(tmp_path), ["gpu0"], what="A", proof=[3])
        )
        assert judged is not None
        assert (judged.where, judged.got, judged.proof) == ("CDI id of A", "gpu0", (3,))
        assert judged.want.startswith("vendor/class=name: ")

    @pytest.mark.parametrize(
        ("files", "reason"),
        [
            pytest.param({}, "not in the empty directory", id="nothing is there"),
            pytest.param({"a": spec("g0")}, "not in ['a.json']", id="another device"),
            pytest.param(
                {"a": spec("g9"), "b": spec("g9")}, "defined by a.json, b.json", id="defined twice"
            ),
        ],
    )
    def test_an_id_that_does_not_resolve_is_told_with_what_is_there(
        self, files: dict[str, str], reason: str, tmp_path: Path
    ) -> None:
        found = registry(tmp_path, **files)
        judged = said(lambda: cdi_specs.ids_must_resolve(found, [f"{KIND}=g9"], what="A"))
        assert judged == Said(
            "CDI id of A",
            f"{KIND}=g9: {reason}",
            "exactly one device in the CDI directories when the answer arrives",
        )


class TestDoubleDevices:
    def test_the_same_device_in_another_directory_is_legal(self, tmp_path: Path) -> None:
        for name in ("low", "high"):
            (tmp_path / name).mkdir()
            registry(tmp_path / name, a=spec("g0"))
        found = cdi.load([tmp_path / "low", tmp_path / "high"])
        assert said(lambda: cdi_specs.no_device_may_be_double(found)) is None

    def test_two_files_of_one_directory_are_both_named(self, tmp_path: Path) -> None:
        found = registry(tmp_path, b=spec("g0", "g1"), a=spec("g1"))
        assert said(lambda: cdi_specs.no_device_may_be_double(found, proof=[8])) == Said(
            f"CDI device {KIND}=g1",
            "defined in a.json, b.json",
            "one definition in a directory (the runtime drops both)",
            (8,),
        )


class TestEdits:
    def test_the_edits_of_ids_are_merged_and_those_of_unknown_ids_are_none(
        self, tmp_path: Path
    ) -> None:
        found = registry(tmp_path, a=spec("g0"))
        assert cdi_specs.edits_of(found, [f"{KIND}=g0"]) == {"env": ["A=1"]}
        assert cdi_specs.edits_of(found, [f"{KIND}=g0", f"{KIND}=g1"]) is None

    @pytest.mark.parametrize("edits", [None, {}, {"env": ["A=1"]}])
    def test_unchanged_edits_are_let_pass(self, edits: Json | None) -> None:
        assert said(lambda: cdi_specs.edits_must_be_the_same(edits, edits, what="A")) is None

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            pytest.param({"env": ["A=1"]}, {"env": ["A=1", "A=1"]}, id="more"),
            pytest.param({"env": ["A=1"]}, None, id="gone"),
        ],
    )
    def test_changed_edits_are_told_with_both(self, before: Json, after: Json | None) -> None:
        assert said(lambda: cdi_specs.edits_must_be_the_same(before, after, what="A")) == Said(
            "container edits of A", after, "unchanged: {'env': ['A=1']}"
        )


OLD, NEW = cdi.Library.V1_1_0, cdi.Library.V1_1_2
DIES = f"{OLD.runtime} dies of the file, and again at each start until it is gone"


class TestCrashes:
    @pytest.mark.parametrize("library", [OLD, NEW])
    def test_good_and_merely_wrong_files_are_let_pass(
        self, library: cdi.Library, tmp_path: Path
    ) -> None:
        found = registry(tmp_path, good=spec("g0"), bad=spec("g1", edits={}), text="{")
        assert said(lambda: cdi_specs.no_file_may_crash(found, library=library)) is None

    @pytest.mark.parametrize("field", ["deviceNodes", "mounts", "hooks", "netDevices"])
    def test_a_null_entry_is_told_where_the_library_crashes_of_it(
        self, field: str, tmp_path: Path
    ) -> None:
        text = spec("g0", edits={"env": ["A=1"], field: [None]}, version="9.9.9")
        found = registry(tmp_path, bad=text)
        assert said(lambda: cdi_specs.no_file_may_crash(found, library=OLD, proof=[4])) == Said(
            "CDI spec bad.json", f"a null entry in {field}", f"none: {DIES}", (4,)
        )
        newer = said(lambda: cdi_specs.no_file_may_crash(found, library=NEW))
        assert (newer is not None) == (field in ("deviceNodes", "mounts"))

    def test_a_null_entry_of_the_global_edits_is_told(self, tmp_path: Path) -> None:
        text = json.loads(spec("g0")) | {"containerEdits": {"mounts": [None]}}
        found = registry(tmp_path, bad=json.dumps(text))
        judged = said(lambda: cdi_specs.no_file_may_crash(found, library=OLD))
        assert judged is not None
        assert judged.got == "a null entry in mounts"

    @pytest.mark.parametrize("kind", ["v/gpu", "vendor.test/g"])
    def test_one_letter_is_told_where_the_library_crashes_of_it(
        self, kind: str, tmp_path: Path
    ) -> None:
        found = registry(tmp_path, bad=spec("g0").replace(KIND, kind))
        assert said(lambda: cdi_specs.no_file_may_crash(found, library=OLD)) == Said(
            "CDI spec bad.json",
            f"kind {kind!r}",
            f"vendor and class of two letters or more: {DIES}",
        )
        assert said(lambda: cdi_specs.no_file_may_crash(found, library=NEW)) is None

    @pytest.mark.parametrize("library", [OLD, NEW])
    def test_a_fifo_is_told_and_is_no_other_cases_matter(
        self, library: cdi.Library, tmp_path: Path
    ) -> None:
        os.mkfifo(tmp_path / "x.json")
        found = cdi.load([tmp_path], library=library.value)
        assert said(lambda: cdi_specs.no_file_may_crash(found, library=library)) == Said(
            "CDI spec x.json",
            "a FIFO or device",
            f"a regular file: {library.runtime} hangs when it reads this",
        )
        assert said(lambda: cdi_specs.files_must_load(found, before=())) is None


class TestVersions:
    def test_a_high_enough_version_is_let_pass(self, tmp_path: Path) -> None:
        found = registry(tmp_path, a=spec("1"), b=spec("g0", version="1.0.0"), c="{")
        judged = said(lambda: cdi_specs.versions_must_cover_the_fields(found, library=OLD))
        assert judged is None

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            pytest.param(spec("1", version="0.4.0"), "0.5.0", id="digit"),
            pytest.param(spec("g0", edits={"additionalGids": [7]}), "0.7.0", id="group"),
            pytest.param(spec("g0").replace(KIND, "vendor.test/a.b"), "0.6.0", id="dot"),
        ],
    )
    def test_a_too_low_one_is_told(self, text: str, wanted: str, tmp_path: Path) -> None:
        found = registry(tmp_path, bad=text)
        judged = said(
            lambda: cdi_specs.versions_must_cover_the_fields(found, library=OLD, proof=[4])
        )
        assert judged == Said(
            "cdiVersion of CDI spec bad.json",
            found.files[0].version,
            f"{wanted} or higher for the fields and names in use: {OLD.runtime} refuses the file",
            (4,),
        )


class TestLowestVersions:
    def test_one_version_for_a_kind_of_which_one_spec_needs_it_is_let_pass(
        self, tmp_path: Path
    ) -> None:
        found = registry(tmp_path, a=spec("1"), b=spec("g0"))
        assert said(lambda: cdi_specs.versions_must_be_the_lowest([found])) is None

    def test_what_one_look_shows_counts_for_the_specs_of_another(self, tmp_path: Path) -> None:
        looks = [registry(tmp_path, a=spec("1"))]
        (tmp_path / "a.json").unlink()
        looks.append(registry(tmp_path, b=spec("g0"), broken="{"))
        assert said(lambda: cdi_specs.versions_must_be_the_lowest(looks)) is None

    def test_versions_are_compared_as_numbers_and_without_their_letter(
        self, tmp_path: Path
    ) -> None:
        found = registry(tmp_path, a=spec("g0", version="v0.3.0"))
        assert said(lambda: cdi_specs.versions_must_be_the_lowest([found])) is None

    def test_a_newer_one_than_any_spec_of_the_kind_needs_is_told(self, tmp_path: Path) -> None:
        found = registry(tmp_path, a=spec("1", version="0.6.0"), b=spec("g0", version="0.5.0"))
        assert said(lambda: cdi_specs.versions_must_be_the_lowest([found])) == Said(
            "cdiVersion of CDI spec a.json",
            "0.6.0",
            "0.5.0: no field or name of a spec of vendor vendor.test needs a newer one, which "
            "older runtimes refuse",
        )


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o400])
def test_modes_that_let_only_the_owner_write_are_let_pass(mode: int) -> None:
    judged = said(lambda: cdi_specs.only_the_owner_may_write({Path("/c/x.json"): mode}))
    assert judged is None


@pytest.mark.parametrize("mode", [0o666, 0o664, 0o646, 0o777])
def test_other_modes_are_told(mode: int) -> None:
    modes = {Path("/c/x.json"): mode}
    assert said(lambda: cdi_specs.only_the_owner_may_write(modes, proof=[4])) == Said(
        "mode of x.json",
        f"0{mode:o}",
        "not writable for group and others: a runtime executes specs as root",
        (4,),
    )


def named(claim: str, value: str, *, id: str = "v.t/c=1", serial: int = 1) -> cdi_specs.NamedEdits:
    """One id as it was returned for a claim."""
    return cdi_specs.NamedEdits(id=id, claim=claim, edits={"env": [value]}, serial=serial)


class TestNames:
    @pytest.mark.parametrize(
        "seen",
        [
            pytest.param((), id="none"),
            pytest.param((named("A", "A=1"), named("B", "A=1")), id="shared"),
            pytest.param((named("A", "A=1"), named("A", "A=2")), id="allocated anew"),
            pytest.param((named("A", "A=1"), named("B", "A=2", id="v.t/c=2")), id="other names"),
        ],
    )
    def test_names_that_keep_their_edits_are_let_pass(
        self, seen: tuple[cdi_specs.NamedEdits, ...]
    ) -> None:
        assert said(lambda: cdi_specs.names_must_keep_their_edits(seen)) is None

    def test_another_claims_edits_under_the_same_name_are_told(self) -> None:
        seen = (named("A", "A=1"), named("B", "A=2", serial=8))
        assert said(lambda: cdi_specs.names_must_keep_their_edits(seen)) == Said(
            "CDI id v.t/c=1 of B",
            {"env": ["A=2"]},
            "another id, or the edits that it stood for before, for A (a runtime may still have "
            "those): {'env': ['A=1']}",
            (1, 8),
        )
