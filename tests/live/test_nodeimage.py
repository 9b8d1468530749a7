"""Node images of kind, and the Kubernetes version that follows from them."""

from __future__ import annotations

import pytest

from pytest_dra.nodeimage import node_image
from pytest_dra.nodeimage import with_version
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.options import resolve


def settings(**given: str) -> Settings:
    return resolve(flag=given.get, ini=lambda _: None, environ={})


@pytest.mark.parametrize(
    ("given", "image"),
    [
        ("1.34.4", "kindest/node:v1.34.4"),
        ("v1.36.0", "kindest/node:v1.36.0"),
        ("kindest/node:v1.35.1", "kindest/node:v1.35.1"),
        ("mine", "mine"),
        ("", ""),
    ],
)
def test_a_release_stands_for_kinds_own_image(given: str, image: str) -> None:
    assert node_image(given) == image


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("1.34.4", "1.34"),
        ("kindest/node:v1.35.1", "1.35"),
        ("registry.example:5000/node:v1.36.2-rc.1", "1.36"),
        ("local/node:v1.34.0@sha256:00", "1.34"),
        ("registry.example:1.35.1/node", "1.37"),
        ("mine:latest", "1.37"),
        ("kindest/node@sha256:00", "1.37"),
        ("", "1.37"),
    ],
)
def test_the_version_follows_from_the_tag(image: str, version: str) -> None:
    assert with_version(settings(dra_kind_image=image))["dra_kubernetes"] == version


def test_a_cluster_that_exists_has_its_own_version() -> None:
    given = settings(dra_kind_image="1.34.4", dra_reuse="there")
    assert with_version(given)["dra_kubernetes"] == "1.37"


def test_a_version_that_was_asked_for_has_to_be_the_images() -> None:
    same = settings(dra_kind_image="1.34.4", dra_kubernetes="1.34")
    assert with_version(same)["dra_kubernetes"] == "1.34"
    other = settings(dra_kind_image="node:v1.34.4", dra_kubernetes="1.37")
    with pytest.raises(OptionError) as caught:
        with_version(other)
    assert str(caught.value) == (
        "--dra-kubernetes=1.37: --dra-kind-image=node:v1.34.4 is Kubernetes 1.34; leave one of "
        "them out"
    )


def test_an_image_of_no_kubernetes_is_refused() -> None:
    with pytest.raises(OptionError, match=r"^--dra-kind-image=node:v2.0.0: Kubernetes version"):
        with_version(settings(dra_kind_image="node:v2.0.0"))
