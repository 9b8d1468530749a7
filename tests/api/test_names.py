"""Name formats, each with a value just legal and one just illegal."""

from __future__ import annotations

import pytest

from pytest_dra.api import names


def test_labels_end_at_63_characters() -> None:
    assert names.is_dns_label("a" * 63)
    assert not names.is_dns_label("a" * 64)
    assert not names.is_dns_label("a-")
    assert not names.is_dns_label("")
    assert not names.is_dns_label("a\n")


def test_upper_case_driver_names_pass_up_to_63_characters() -> None:
    assert names.is_driver_name("GPU.example.com")
    assert names.is_driver_name("a" * 63)
    assert not names.is_driver_name("a" * 64)
    assert not names.is_driver_name("gpu_example")
    assert not names.is_driver_name("")


@pytest.mark.parametrize("text", ["node-1", "a/b/c", "a.b/c"])
def test_pool_names_are_subdomains_between_slashes(text: str) -> None:
    assert names.is_pool_name(text)


@pytest.mark.parametrize("text", ["", "/a", "a/", "a//b", "A", "a" * 254])
def test_pool_names_with_empty_or_bad_parts_are_refused(text: str) -> None:
    assert not names.is_pool_name(text)


@pytest.mark.parametrize("text", ["model", "_x", "gpu.example.com/model", "a/b/c"])
def test_qualified_names_pass(text: str) -> None:
    assert names.is_qualified_name(text)


@pytest.mark.parametrize("text", ["", "1x", "a-b", "/x", "a/", "x" * 33, "b" * 64 + "/x"])
def test_bad_qualified_names_are_refused(text: str) -> None:
    assert not names.is_qualified_name(text)


def test_a_fully_qualified_name_needs_its_domain() -> None:
    assert names.qualified_name_error("model", domain_required=True)
    assert not names.qualified_name_error("a.b/model", domain_required=True)


def test_versions_are_strictly_semantic() -> None:
    assert not names.semver_error("1.0.0-rc.1+build.5")
    assert names.semver_error("1.0")
    assert names.semver_error("01.0.0")


def test_label_keys_and_values() -> None:
    assert not names.label_key_error("example.com/health")
    assert names.label_key_error("/health")
    assert names.label_key_error("a" * 64)
    assert not names.label_value_error("")
    assert names.label_value_error("-")
