"""The Kubernetes version of a cluster; of one of kind that of its node image, by the tag."""

from __future__ import annotations

import re
from typing import Final

from pytest_dra.api.versions import nearest_version
from pytest_dra.options import DEFAULT
from pytest_dra.options import OptionError
from pytest_dra.options import Settings

OPTION: Final = "--dra-kind-image"

REPOSITORY: Final = "kindest/node"
"""Where kind's project publishes its node images, tagged with the version."""

_RELEASE: Final = re.compile(r"v?(\d+\.\d+\.\d+)")
_TAG: Final = re.compile(r":v?(\d+\.\d+)\.\d+[^/:@]*(@.*)?$")


def node_image(given: str) -> str:
    """The name of the image that is given, or of kind's own for a Kubernetes release."""
    release = _RELEASE.fullmatch(given)
    return f"{REPOSITORY}:v{release[1]}" if release else given


def with_version(settings: Settings) -> Settings:
    """The settings with the Kubernetes version of the node image, as far as its tag says it.

    Raises:
        OptionError: another one was asked for, or it is one that the suite does not know.
    """
    image = node_image(settings["dra_kind_image"])
    tag = _TAG.search(image)
    if tag is None or settings["dra_reuse"]:
        return settings
    given = f"{OPTION}={settings['dra_kind_image']}"
    other = f"{given} is Kubernetes {tag[1]}; leave one of them out"
    return as_version(settings, tag[1], source=given, other=other)


def as_version(settings: Settings, said: str, *, source: str, other: str) -> Settings:
    """The settings with the Kubernetes version that a cluster has.

    Args:
        settings: which may ask for a version.
        said: what the cluster, or its image, says of itself.
        source: the option by which the cluster was given.
        other: what is told where another version was asked for.

    Raises:
        OptionError: another one was asked for, or ``said`` is none.
    """
    try:
        name = nearest_version(said).name
    except ValueError as error:
        raise OptionError(f"{source}: {error}") from error
    asked = settings["dra_kubernetes"]
    if settings.origin("dra_kubernetes") != DEFAULT and asked != name:
        raise OptionError(f"--dra-kubernetes={asked}: {other}")
    return settings.instead("dra_kubernetes", name)
