"""Directories, precedence, conflicts, and what hostile directories may contain."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from pytest_dra import cdi
from pytest_dra.cdi import files
from tests.cdi.conftest import Write
from tests.cdi.conftest import spec

DEVICE = "acme.test/gadget=d0"


def only(registry: cdi.Registry) -> cdi.SpecFile:
    (file,) = registry.files
    return file


def test_a_good_file_gives_its_devices(write: Write) -> None:
    directory = write(spec(containerEdits={"env": ["S=1"]}))

    registry = cdi.load([directory])

    file = only(registry)
    assert file.errors == ()
    assert (file.kind, file.version, file.minimum) == ("acme.test/gadget", "0.5.0", "0.3.0")
    assert file.devices == {"d0": {"env": ["A=1"]}}
    assert file.edits == {"env": ["S=1"]}
    assert file.raw == spec(containerEdits={"env": ["S=1"]})
    assert len(file.digest) == 64
    assert registry.devices == {DEVICE: file}


def test_the_higher_directory_wins(write: Write) -> None:
    low, high = write(at="low"), write(at="high")

    assert cdi.load([low, high]).devices[DEVICE].directory == high
    assert cdi.load([high, low]).devices[DEVICE].directory == low


def test_a_device_twice_in_one_directory_is_lost_even_if_a_higher_one_has_it(write: Write) -> None:
    low, high = write(name="x.json"), write(at="high")
    write(name="y.yaml")

    registry = cdi.load([low, high])

    assert registry.devices == {}
    assert registry.conflicts == {DEVICE: (low / "x.json", low / "y.yaml")}
    assert [file.reasons for file in registry.files] == [("conflict",), ("conflict",), ()]
    with pytest.raises(cdi.UnresolvedError) as caught:
        registry.resolve(["nope", DEVICE])
    assert caught.value.missing == ("nope", DEVICE)


def test_other_extensions_are_reported_and_not_read(write: Write) -> None:
    directory = write(name="x.yml")
    write(name=".json")

    registry = cdi.load([directory])

    assert registry.others == (directory / "x.yml",)
    assert only(registry).path == directory / ".json"


def test_a_missing_directory_is_an_empty_one(tmp_path: Path) -> None:
    registry = cdi.load([tmp_path / "none"])

    assert (registry.files, registry.problems) == ((), ())


def test_a_broken_neighbour_harms_nobody(write: Write) -> None:
    directory = write("{", name="broken.json")
    write()

    registry = cdi.load([directory])

    assert registry.files[0].reasons == ("syntax",)
    assert registry.files[0].raw is None
    assert DEVICE in registry.devices


def test_fifos_sockets_and_devices_are_never_opened(tmp_path: Path, write: Write) -> None:
    directory = write()
    os.mkfifo(directory / "fifo.json")
    (directory / "zero.json").symlink_to("/dev/zero")
    (directory / "masked.json").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listener:
        short = Path(os.path.relpath(directory / "s.json"))
        listener.bind(str(min(short, directory / "s.json", key=lambda path: len(str(path)))))
        registry = cdi.load([directory])

    reasons = {file.path.name: file.reasons for file in registry.files}
    assert reasons == {
        "fifo.json": ("not-a-file",),
        "masked.json": ("empty",),
        "s.json": ("read",),
        "x.json": (),
        "zero.json": ("not-a-file",),
    }
    assert "hang" in registry.files[0].errors[0]


def test_links_are_followed_for_reading_only(tmp_path: Path, write: Write) -> None:
    target = write(at="elsewhere") / "x.json"
    directory = tmp_path / "a"
    directory.mkdir()
    (directory / "link.json").symlink_to(target)
    (directory / "loop.json").symlink_to("loop.json")
    (directory / "dangling.json").symlink_to("nowhere")

    registry = cdi.load([directory])

    reasons = {file.path.name: file.reasons for file in registry.files}
    assert reasons == {"dangling.json": ("not-found",), "link.json": (), "loop.json": ("read",)}


def test_a_linked_directory_is_read_by_the_new_library_only(tmp_path: Path, write: Write) -> None:
    link = tmp_path / "link"
    link.symlink_to(write())

    old = cdi.load([link])
    assert old.files == ()
    assert "symbolic link" in old.problems[0]
    assert DEVICE in cdi.load([link], library="1.1.2").devices


def test_a_file_in_the_place_of_a_directory_stops_the_new_library(
    tmp_path: Path, write: Write
) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    directories = [file, write()]

    assert DEVICE in cdi.load(directories).devices
    new = cdi.load(directories, library="1.1.2")
    assert new.devices == {}
    assert new.problems


def test_large_files_are_refused_with_the_limit(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAXIMUM_FILE_BYTES", 100)
    file = only(cdi.load([write(" " * 101)]))

    assert file.reasons == ("too-large",)
    assert "100 bytes" in file.errors[0]


def test_the_number_of_files_is_bounded(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAXIMUM_FILES", 1)
    directory = write(name="x.json")
    write(name="y.json")

    registry = cdi.load([directory])

    assert [file.path.name for file in registry.files] == ["x.json"]
    assert "more than 1 specs" in registry.problems[0]


@pytest.mark.parametrize("name", ["x\x00y", "x" * 5000])
def test_an_impossible_directory_is_a_problem_and_no_exception(name: str) -> None:
    registry = cdi.load([Path("/") / name])

    assert registry.files == ()
    assert len(registry.problems) == 1


@pytest.mark.parametrize("library", ["1.1.0", "1.1.2"])
@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x]\n" + "".join(f"a{i}: &a{i} [{'*a, ' * 9}]\n" for i in range(9)),
        "&a [*a]",
        "? [a, b]\n: 1\n",
        "<<: 1",
        "<<: [1]",
        "!!int x",
        "!!binary '*'",
        "- " * 20_000,
        "{" * 20_000,
        '"\\ud83d\\ude00"',
        '"\\U7fffffff"',
        "\x7f",
        "a: &a\n  <<: *a\n",
        "[1, .nan, 1e999999999, 0b, 0x, -.inf]",
        "9" * 5000,
        "cdiVersion: " + "9" * 5000,
        "cdiVersion: 1.1.0\nkind: " + "v" * 5000,
        "x" * 500 + ": 1",
        "x" * 5000 + ": 1",
    ],
)
def test_hostile_text_is_an_error_of_its_file(write: Write, text: str, library: str) -> None:
    file = only(cdi.load([write(text)], library=library))

    assert len(file.errors) == 1
    assert len(file.errors[0]) < 1000


@pytest.mark.parametrize("library", ["1.1.0", "1.1.2"])
def test_aliases_of_aliases_end_in_an_error(write: Write, library: str) -> None:
    nine = ", ".join(["*a"] * 9)
    bomb = "annotations: &z {}\ndevices:\n" + "".join(
        f"- containerEdits: &e{i}\n    env: &v{i} [x, x, x, x, x, x, x, x, x, x]\n"
        for i in range(3)
    )
    chain = "".join(f"- &m{i} {{<<: *m{i - 1}}}\n" for i in range(1, 200))
    text = f"{bomb}- &m0 {{name: x}}\n{chain}- &a {{name: y}}\n- [{nine}]\n"

    assert only(cdi.load([write(text)], library=library)).errors


def test_a_wide_alias_expansion_is_bounded(write: Write) -> None:
    hundred = ", ".join(["A=1"] * 1000)
    edits = "\n".join(f"- {{name: d{i}, containerEdits: *e}}" for i in range(1000))
    text = (
        "cdiVersion: 0.5.0\nkind: acme.test/gadget\ndevices:\n"
        f"- {{name: d, containerEdits: &e {{env: [{hundred}]}}}}\n{edits}\n"
    )

    file = only(cdi.load([write(text, name="x.yaml")]))

    assert file.reasons == ("syntax",)
    assert "aliases" in file.errors[0]


def test_file_names_need_not_be_text(write: Write) -> None:
    directory = write()
    raw = os.fsencode(directory) + b"/\xff\n.json"
    with open(raw, "w") as file:  # noqa: PTH123 - the name is bytes
        file.write("{")

    registry = cdi.load([directory])

    assert [file.reasons for file in registry.files] == [(), ("syntax",)]


def test_a_null_device_node_is_called_a_crash(write: Write) -> None:
    broken = spec(devices=[{"name": "d0", "containerEdits": {"deviceNodes": [None]}}])
    file = only(cdi.load([write(broken)]))

    assert file.crashes
    assert file.raw == broken


def test_json_with_an_escaped_slash_is_no_yaml(write: Write) -> None:
    file = only(cdi.load([write('{"kind": "acme.test\\/gadget"}')]))

    assert file.reasons == ("syntax",)
    assert "JSON but not YAML" in file.errors[0]


def test_one_file_is_read_as_among_its_neighbours(write: Write) -> None:
    directory = write(spec(), name="a.json")
    write(spec(cdiVersion="0.1.0"), name="b.json")
    registry = cdi.load([directory])
    alone = [cdi.load_file(directory / name) for name in ("a.json", "b.json")]
    assert tuple(alone) == registry.files
    assert cdi.load_file(directory / "none.json").reasons == ("not-found",)


def test_each_library_names_the_runtime_that_has_it() -> None:
    assert cdi.Library(cdi.containerds_library("1.37")).runtime == (
        "containerd 2.3.7 (CDI library 1.1.0)"
    )
    assert cdi.Library.V1_1_2.runtime == "a container runtime with CDI library 1.1.2"
