"""Objects out of YAML and JSON, with the lines where they stand."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_dra.objects.fields import line_of
from pytest_dra.objects.fields import value_at
from pytest_dra.objects.reading import Given
from pytest_dra.objects.reading import ReadingError
from pytest_dra.objects.reading import parse
from pytest_dra.objects.reading import read_files
from pytest_dra.objects.tree import DEPTH_MAX

TWO = b"""\
# a comment
apiVersion: v1
kind: List
items:
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {name: first}
  spec:
    extendedResourceName: a/b
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata:
    name: second
---
apiVersion: v1
kind: Node
metadata:
  name: third
"""


def value_of(text: str) -> Any:
    (one,) = parse(f"apiVersion: v1\nkind: X\nspec: {text}\n".encode(), "f")
    return one.body["spec"]


def failure(data: bytes) -> str:
    with pytest.raises(ReadingError) as caught:
        parse(data, "f")
    return str(caught.value)


def test_documents_and_lists_are_taken_apart_with_their_lines() -> None:
    found = parse(TWO, "f")
    assert [(one.name, one.kind, one.line) for one in found] == [
        ("first", "DeviceClass", 5),
        ("second", "DeviceClass", 10),
        ("third", "Node", 15),
    ]
    assert line_of(found[0], "spec.extendedResourceName") == 9
    assert line_of(found[1], "metadata.name") == 13
    assert line_of(found[1], "spec.selectors[3].cel") == 10


def test_a_typed_list_names_kind_and_version_of_its_items() -> None:
    text = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSliceList", "items": [{}, {}]}
    for data in (json.dumps(text), yaml.safe_dump(text)):
        found = parse(data.encode(), "f")
        assert [(one.api_version, one.kind) for one in found] == [
            ("resource.k8s.io/v1", "ResourceSlice")
        ] * 2


def test_json_has_lines_too_and_may_follow_json() -> None:
    one = json.dumps({"apiVersion": "v1", "kind": "X", "a": {"b": [1, {"c": 2.50}]}}, indent=1)
    first, second = parse(f"{one}\n{one}".encode(), "f")
    assert (first.line, second.line) == (1, 13)
    assert line_of(first, "a.b[1].c") == 8
    assert line_of(second, "a.b[1].c") == 20
    assert value_at(first, "a.b[1].c").text == "2.5"


def test_keys_of_mappings_may_hold_dots_and_brackets() -> None:
    body = {"m": {"a.b/c": {"x": 1}, "a": 2, "q]r": 3}}
    one = Given(file="f", line=1, api_version="v1", kind="X", body=body)
    assert value_at(one, "m[a.b/c].x") == 1
    assert value_at(one, "m.a.b/c.x") == 1
    assert value_at(one, "m[q]r]") == 3
    assert value_at(one, "m[a]") == 2
    assert value_at(one, "m[b]") is None
    assert value_at(one, "m.a.x") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("'yes'", "yes"),
        ("~", None),
        ("010", 8),
        ("0x1f", 31),
        ("1_000", 1000),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("12:30:45", "12:30:45"),
        ("2026-11-29T00:00:00Z", "2026-11-29T00:00:00Z"),
        ("!!str 5", "5"),
        ("!!binary YQ==", "a"),
        ("1Gi", "1Gi"),
        ("<<", "<<"),
        ("{1: a, true: b}", {"1": "a", "true": "b"}),
    ],
)
def test_scalars_are_read_as_kubernetes_reads_them(text: str, value: object) -> None:
    assert value_of(text) == value


def test_anchors_and_merge_keys_are_resolved() -> None:
    text = "\n  a: &a {x: 1, y: 2}\n  b: {<<: *a, y: 3}\n  c: [*a, *a]"
    found = value_of(text)
    assert found["b"] == {"x": 1, "y": 3}
    assert found["c"] == [found["a"], found["a"]]


def test_a_field_that_is_there_twice_is_noted_with_its_line() -> None:
    for data in (
        b"apiVersion: v1\nkind: X\na: 1\na: 2",
        b'{"apiVersion":"v1","kind":"X",\n\n"a":1,"a":2}',
    ):
        (one,) = parse(data, "f")
        assert one.body["a"] == 2
        assert [name for _, name in one.repeated] == ["a"]
        assert one.repeated[0][0] in (3, 4)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a: 1\nb: [", "f:2: no YAML: while parsing a flow"),
        (b"a:\n\tb: 1\n", "f:2: no YAML"),
        (b'{"a": 1,}', "f:1: no JSON: '}' is not expected here"),
        (b'{"a": \n nope}', "f:2: no JSON: 'nope}'"),
        (b'{"a": 1', "f:1: no JSON: the text ends within a value"),
        (b"kind: X\n\xff\n", "f:2: the text is no UTF-8"),
        (b"- 1\n- 2\n", "f:1: want an object of the Kubernetes API, got a list"),
        (b"just text", "f:1: want an object of the Kubernetes API, got a scalar"),
        (b"kind: X\n", "f:1: an object without apiVersion"),
        (b"apiVersion: v1\nkind: 3\n", "f:2: an object without kind"),
        (b"apiVersion: v1\nkind: X\na: *b\n", "f:3: "),
        (b"apiVersion: v1\nkind: X\na: &a [*a]\n", "f:3: alias 'a' without a complete anchor"),
        (b"a: !!python/object:os.system x\n", "f:1: tag 'tag:yaml.org,2002:python/object:os.sys"),
        (b"a: .nan\n", "f:1: .nan cannot be said in JSON"),
        (b"? [a]\n: b\n", "f:1: a mapping or a list as the name of a field"),
        (b"a: {<<: 3}\n", "f:1: <<: wants a mapping"),
        (b"a: \x00b\n", "f:1: no YAML"),
    ],
)
def test_what_cannot_be_read_is_told_with_file_and_line(data: bytes, said: str) -> None:
    assert said in failure(data)


def test_deep_nesting_ends_with_an_error() -> None:
    deep = 100_000
    for data in (b"[" * deep, b'{"a":' * deep, b"x: " + b"{a: " * deep, b"- " * deep):
        assert "nest" in failure(data)


def test_aliases_that_explode_end_with_an_error() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for number in range(1, 13):
        lines.append(f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]")
    assert "values, aliases unfolded" in failure("\n".join(lines).encode())
    nested = ["a0: &a0 [x]"]
    nested += [f"a{number}: &a{number} [*a{number - 1}]" for number in range(1, DEPTH_MAX + 5)]
    assert "levels deep, by an alias" in failure("\n".join(nested).encode())


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ReadingError, match="No such file"):
        read_files([str(tmp_path / "none")])
    with pytest.raises(ReadingError, match="Is a directory"):
        read_files([str(tmp_path)])
    with pytest.raises(ReadingError, match="null"):
        read_files(["a\0b"])


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**63)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_json_is_read_as_the_standard_library_reads_it(value: Any) -> None:
    body = {"apiVersion": "v1", "kind": "X", "spec": value}
    for indent in (None, 1):
        (one,) = parse(json.dumps(body, indent=indent).encode(), "f")
        assert one.body == body


@given(
    st.binary(max_size=60) | st.text("{}[]:,-&*!|>'\"#%@ \n\tab01<", max_size=40).map(str.encode)
)
def test_any_bytes_give_objects_or_a_reading_error(data: bytes) -> None:
    with contextlib.suppress(ReadingError):
        parse(data, "f")
