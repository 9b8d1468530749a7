"""What is on disk before and after a claim."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dra.bench import residue
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.cycle import residue_of
from pytest_dra.bench.residue import Tree
from pytest_dra.bench.residue import normalised

UID = "3f8a8f0e-1111-4222-8333-444455556666"


def tree(root: Path) -> Tree:
    """The tree below one root, called ``plugins``."""
    return Tree.of({"plugins": root})


def test_paths_are_listed_below_the_name_of_their_root_with_their_sizes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "sub").mkdir(parents=True)
    (tmp_path / "a" / "sub" / "f.json").write_bytes(b"12345")
    found = Tree.of({"plugins": tmp_path / "a", "cdi": tmp_path / "b"})
    assert found.sizes == {"plugins/sub": 0, "plugins/sub/f.json": 5, "cdi/sub": 0}


def test_a_root_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert tree(tmp_path / "nothing").sizes == {}


def test_links_are_listed_and_never_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret").write_bytes(b"x" * 1000)
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "secret")
    (root / "loop").symlink_to(root)
    (root / "broken").symlink_to(tmp_path / "nowhere")
    found = tree(root)
    assert set(found.sizes) == {
        "plugins/folder",
        "plugins/file",
        "plugins/loop",
        "plugins/broken",
    }
    assert max(found.sizes.values()) < 1000


def test_no_more_entries_are_listed_than_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residue, "ENTRY_LIMIT", 10)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for number in range(8):
            (tmp_path / folder / f"f{number}").touch()
    assert len(tree(tmp_path).sizes) == 10


def test_no_deeper_folder_is_looked_into_than_the_limit(tmp_path: Path) -> None:
    (tmp_path / "1" / "2" / "3" / "4").mkdir(parents=True)
    found = Tree.of({"plugins": tmp_path}, depth=2)
    assert set(found.sizes) == {"plugins/1", "plugins/1/2", "plugins/1/2/3"}


def test_what_was_added_is_told_and_what_is_gone_is_not(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    (tmp_path / "gone").touch()
    before = tree(tmp_path)
    (tmp_path / "gone").unlink()
    (tmp_path / "kept").write_bytes(b"grown")
    (tmp_path / "new").touch()
    assert tree(tmp_path).added_since(before) == {"plugins/new"}


def test_paths_that_name_a_claim_are_found_in_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / f"claim-{UID}").mkdir()
    (tmp_path / f"claim-{UID}" / "state").touch()
    (tmp_path / "another").touch()
    found = tree(tmp_path)
    assert found.naming([UID]) == {f"plugins/claim-{UID}", f"plugins/claim-{UID}/state"}
    assert found.naming([]) == set()


def test_paths_of_two_claims_are_the_same_once_their_names_are_taken_out() -> None:
    made = normalised(
        [f"cdi/{UID}.json", "cdi/x-claim-1.json", "cdi/base.json"],
        {UID: "{uid}", "claim-1": "{name}"},
    )
    assert made == {"cdi/{uid}.json", "cdi/x-{name}.json", "cdi/base.json"}


def test_residue_is_what_was_added_and_whatever_names_the_claim() -> None:
    claim = Claim(namespace="ns", name="claim-1", uid=UID, requests=())
    before = Tree({f"cdi/{UID}.json": 1, "cdi/base.json": 1})
    now = Tree({f"cdi/{UID}.json": 1, "cdi/base.json": 9, "plugins/claim-1": 0, "plugins/lock": 0})
    assert residue_of(claim, now, before) == {
        "cdi/{uid}.json",
        "plugins/{name}",
        "plugins/lock",
    }
