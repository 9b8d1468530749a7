"""Judgements of CDI directories, on files as a driver could write them."""

from __future__ import annotations

import json
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
