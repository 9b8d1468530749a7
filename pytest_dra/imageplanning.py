"""From settings to a driver in containers on the bench: which engine and image, how it is run."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.engine import find_engine
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.containers.fleet import Fleet
from pytest_dra.containers.fleet import user_of
from pytest_dra.containers.images import Image
from pytest_dra.containers.images import provided
from pytest_dra.containers.podspecs import Pod
from pytest_dra.containers.podspecs import literal
from pytest_dra.containers.references import PodSpecError
from pytest_dra.embedded import certificates
from pytest_dra.launch import Component
from pytest_dra.launch.containerspec import ContainerSpec
from pytest_dra.launch.tool import ToolError
from pytest_dra.live.shipment import ShipmentError
from pytest_dra.live.shipment import name_of
from pytest_dra.live.shipment import objects_of
from pytest_dra.live.shipment import plugins_of
from pytest_dra.live.shipment import put_image
from pytest_dra.live.shipment import runs
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.profile import DriverProfile
from pytest_dra.profile.rights import RightsError
from pytest_dra.profile.rights import rights_of

FAKE = "fake"
PREVIOUS = "--dra-driver-previous"

DRIVER = "driver"
"""Name of the component where no manifest gives one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Contained:
    """Whose containers run, and what is run in them, of the previous release, too (nothing if there
    is none); ``profile`` names the account of the pods, where the manifests give it rights."""

    fleet: Fleet
    components: tuple[Component, ...]
    previous: tuple[Component, ...]
    profile: DriverProfile


def contained(settings: Settings, profile: DriverProfile) -> Contained:
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
        engine = find_engine(settings["dra_engine"])
        engine.must_answer()
        image, arguments = _image(engine, driver)
        fleet = Fleet(engine, user=user_of(engine))
    except (ClusterError, ToolError) as error:
        raise OptionError(f"--dra-driver={driver}: {error}") from error
    try:
        pod = _pod(profile, image, wanted=bool(settings["dra_manifests"]))
        components = pod.components(image.name) if pod is not None else (_alone(image),)
    except (ShipmentError, PodSpecError) as error:
        raise OptionError(f"--dra-manifests: {error}") from error
    completed = tuple(_completed(each, image, arguments) for each in components)
    previous = _other(components, image, profile, engine, arguments)
    return Contained(
        fleet=fleet,
        components=completed,
        previous=previous or _as_command(completed, profile),
        profile=_with_account(profile, pod),
    )


def _image(engine: Engine, given: str) -> tuple[Image, list[str]]:
    """The image of an option, and the arguments behind it. Raises ClusterError."""
    try:
        name, *arguments = shlex.split(given)
    except ValueError as error:
        raise ClusterError(str(error)) from error
    return provided(engine, name), arguments


def _other(
    components: Sequence[Component],
    image: Image,
    profile: DriverProfile,
    engine: Engine,
    arguments: list[str],
) -> tuple[Component, ...]:
    """The components with the image of the previous release in the place of this one's."""
    given = profile.launch.previous.image if profile.launch.previous else ""
    if not given:
        return ()
    try:
        other, own = _image(engine, given)
    except ClusterError as error:
        raise OptionError(f"{PREVIOUS}={given}: {error}") from error
    return tuple(
        _completed(_with_image(each, other), other, own or arguments)
        if each.container and each.container.image == image.name
        else each
        for each in components
    )


def _with_image(component: Component, image: Image) -> Component:
    if component.container is None:
        return component
    container = dataclasses.replace(component.container, image=image.name)
    return dataclasses.replace(component, container=container)


def _as_command(components: tuple[Component, ...], profile: DriverProfile) -> tuple[Component, ...]:
    """The bundled driver plays its own previous release; other commands are no containers."""
    command = profile.launch.previous.command if profile.launch.previous else ()
    if command[:1] != (FAKE,):
        return ()
    more = (*command[1:], "--fault=")
    return tuple(
        dataclasses.replace(each, command=(*each.command, *more)) if each.registers else each
        for each in components
    )


def _pod(profile: DriverProfile, image: Image, *, wanted: bool) -> Pod | None:
    """The plugin's pod in the manifests; None where those of the profile have none.

    Raises:
        ShipmentError: there is none, or more than one, in manifests that were given for it.
    """
    objects = objects_of(profile.manifests)
    found = plugins_of(objects)
    if not found and not wanted:
        return None
    if len(found) > 1:
        found = [each for each in found if runs(each, image.name)] or found
    if len(found) > 1:
        names = ", ".join(each.name for each in found)
        raise ShipmentError(
            f"which one is run, {names}? Give manifests with one DaemonSet, or with one that runs "
            f"an image of the name {name_of(image.name)!r}"
        )
    put_image(objects, image.name)
    return Pod(found[0], objects)


def _with_account(profile: DriverProfile, pod: Pod | None) -> DriverProfile:
    """The rights of the manifests are those of the pod's account, where they give it any."""
    if pod is None or profile.launch.service_account:
        return profile
    launch = dataclasses.replace(profile.launch, service_account=pod.account)
    named = dataclasses.replace(profile, launch=launch)
    try:
        rights_of(named)
    except RightsError:
        return profile
    return named


def _alone(image: Image) -> Component:
    """The image as it is run of itself."""
    return Component(name=DRIVER, command=(), container=ContainerSpec(image=image.name))


def _completed(component: Component, image: Image, arguments: Sequence[str]) -> Component:
    """With the arguments of the option behind those of the manifest; with the image's own, where
    nothing else is given: more may come behind them."""
    command = (*component.command, *(arguments if component.registers else ()))
    if not command and not (component.container and component.container.entrypoint):
        command = tuple(map(literal, image.command))
    return dataclasses.replace(component, command=command)
