"""From settings to a driver in containers on the bench: which engine and image, how it is run."""

from __future__ import annotations

import dataclasses
import shlex

from pytest_dra.clusters.engine import find_engine
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.containers.fleet import Fleet
from pytest_dra.containers.images import Image
from pytest_dra.containers.images import provided
from pytest_dra.embedded import certificates
from pytest_dra.launch import Component
from pytest_dra.launch.containerspec import ContainerSpec
from pytest_dra.options import OptionError
from pytest_dra.options import Settings

DRIVER = "driver"
"""Name of the component where no manifest gives one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Contained:
    """Whose containers run, and what is run in them."""

    fleet: Fleet
    components: tuple[Component, ...]


def contained(settings: Settings) -> Contained:
    """The image of ``--dra-driver``, ready to be run.

    Raises:
        OptionError: in one sentence, with the option and the way out.
    """
    driver = settings["dra_driver"]
    if settings.jailed:
        raise OptionError("--dra-jail: an image runs in a container; leave it out")
    if not certificates.available():
        raise OptionError(f"--dra-driver={driver}: {certificates.MISSING}")
    try:
        name, *arguments = shlex.split(driver)
        engine = find_engine(settings["dra_engine"])
        engine.must_answer()
        image = provided(engine, name)
    except (ClusterError, ValueError) as error:
        raise OptionError(f"--dra-driver={driver}: {error}") from error
    return Contained(fleet=Fleet(engine), components=(_alone(image, arguments),))


def _alone(image: Image, arguments: list[str]) -> Component:
    """The image as ``docker run IMAGE ARGUMENTS`` runs it."""
    return Component(
        name=DRIVER,
        command=tuple(arguments) or tuple(map(literal, image.command)),
        container=ContainerSpec(image=image.name),
    )


def literal(text: str) -> str:
    """Text in which nothing is a placeholder."""
    return text.replace("{", "{{").replace("}", "}}")
