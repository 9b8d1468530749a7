"""Qualified names."""

from __future__ import annotations

import pytest

from pytest_dra.cdi import CdiError
from pytest_dra.cdi import annotation_key
from pytest_dra.cdi import parse_annotations
from pytest_dra.cdi import parse_qualified_name


def test_a_qualified_name_is_taken_apart_and_written_again() -> None:
    name = parse_qualified_name("k8s.acme.test/claim=9f2c:gpu-0")

    assert (name.vendor, name.cls, name.name) == ("k8s.acme.test", "claim", "9f2c:gpu-0")
    assert str(name) == "k8s.acme.test/claim=9f2c:gpu-0"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "unqualified"),
        ("/dev/null=x", "unqualified"),
        ("acme.test/gadget", "unqualified"),
        ("1acme/gadget=d0", "vendor"),
        ("acme.test/gad get=d0", "class"),
        ("acme.test/gadget=d0_", "device-name"),
        ("acmé.test/gadget=d0", "vendor"),
    ],
)
def test_a_bad_name_says_which_part_is_bad(text: str, reason: str) -> None:
    with pytest.raises(CdiError) as caught:
        parse_qualified_name(text)

    assert caught.value.reason == reason
    assert "want" in caught.value.message


def test_a_vendor_of_one_letter_crashes_the_old_library_only() -> None:
    assert str(parse_qualified_name("a/gadget=d0", library="1.1.2")) == "a/gadget=d0"
    with pytest.raises(CdiError, match=r"crashes library 1\.1\.0"):
        parse_qualified_name("a/gadget=d0")


def test_an_unknown_library_is_the_caller_s_mistake() -> None:
    with pytest.raises(ValueError, match=r"want one of 1\.1\.0, 1\.1\.2"):
        parse_qualified_name("acme.test/gadget=d0", library="2.0.0")


def test_annotations_give_keys_and_names_or_nothing() -> None:
    key = annotation_key("acme.test", "a/b")
    assert key == "cdi.k8s.io/acme.test_a_b"
    request = {key: "acme.test/gadget=d0,acme.test/gadget=d1", "other": "x"}

    assert parse_annotations(request) == ((key,), ("acme.test/gadget=d0", "acme.test/gadget=d1"))
    with pytest.raises(CdiError):
        parse_annotations({key: "acme.test/gadget=d0, acme.test/gadget=d1"})


def test_an_annotation_key_that_is_too_long_is_refused() -> None:
    with pytest.raises(CdiError):
        annotation_key("acme.test", "x" * 60)
