"""From settings to a driver on a whole cluster: which cluster, what is deployed, which images."""

from __future__ import annotations

import copy
import dataclasses
import shlex
import sys
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import yaml

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.engine import find_engine
from pytest_dra.clusters.kind import NODES_MAX
from pytest_dra.clusters.kind import KindCluster
from pytest_dra.clusters.kind import KindSettings
from pytest_dra.clusters.kindconfig import read_config
from pytest_dra.clusters.kindtool import find_kind
from pytest_dra.clusters.kubeconfig import KubeconfigCluster
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.whole import WholeCluster
from pytest_dra.containers.archives import is_archive
from pytest_dra.containers.archives import loaded
from pytest_dra.featuregates import cluster_gates
from pytest_dra.featuregates import runtime_config
from pytest_dra.launch import Keeper
from pytest_dra.launch.tool import ToolError
from pytest_dra.launch.tool import call
from pytest_dra.live import fakeimage
from pytest_dra.live import generated
from pytest_dra.live.partner import Partner
from pytest_dra.live.plan import LivePlan
from pytest_dra.live.shipment import ShipmentError
from pytest_dra.live.shipment import images_of
from pytest_dra.live.shipment import objects_of
from pytest_dra.live.shipment import ordered
from pytest_dra.live.shipment import plugins_of
from pytest_dra.live.shipment import put_image
from pytest_dra.livefinding import must_be_allowed
from pytest_dra.livefinding import must_have_its_node
from pytest_dra.nodeimage import node_image
from pytest_dra.options import REFERENCE
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.profile import DriverProfile
from pytest_dra.refusals import INSTALLED
from pytest_dra.refusals import context_of
from pytest_dra.refusals import is_image
from pytest_dra.spec import Json

FAKE = "fake"

New = Callable[[Keeper], WholeCluster]
Join = Callable[[Keeper, str], WholeCluster]
Ways = tuple[New, Join]
"""How a cluster is made or found, and how another process of the run finds it."""

PRINT_S = 30.0
"""Longest wait for the fake driver to print its manifests: an interpreter's start."""


def live_plan(settings: Settings, profile: DriverProfile) -> LivePlan:
    """How the driver gets onto the cluster that the settings name.

    Raises:
        OptionError: in one sentence, with the option and the way out.
    """
    if not settings["dra_driver_name"]:
        raise OptionError(
            f"--dra-cluster={settings['dra_cluster']}: the driver's name is needed to find its "
            "slices: --dra-driver-name, or driver.name in the profile"
        )
    context = context_of(settings["dra_cluster"])
    if context is None:
        ways, engine = _kind(settings, profile)
        return _of_node(settings, _plan(settings, profile, ways=ways, engine=engine))
    new = partial(_known, context, settings.environ)
    known: Ways = (new, lambda keeper, _: new(keeper))
    plan = _of_node(settings, _plan(settings, profile, ways=known, engine=None))
    if settings["dra_node"]:
        must_have_its_node(settings)
    if settings["dra_dry_run"] != "true":
        must_be_allowed(settings, [*plan.objects, *partners_of(plan)])
    return dataclasses.replace(plan, shared=settings["dra_disruptive"] != "true")


def _of_node(settings: Settings, plan: LivePlan) -> LivePlan:
    """The plan for the chosen node, if one is: without the second driver, which is of the whole
    cluster and would be deployed by each of the runs on other nodes as well."""
    node = settings["dra_node"]
    return dataclasses.replace(plan, node=node, partner=None) if node else plan


def partners_of(plan: LivePlan) -> list[Json]:
    """What is deployed for the second driver, while a case needs it. Raises OptionError."""
    try:
        return plan.partner.objects() if plan.partner is not None else []
    except (ToolError, ShipmentError) as error:
        raise OptionError(f"the second driver's manifests: {error}") from error


def _known(context: str, environ: Mapping[str, str], keeper: Keeper) -> WholeCluster:
    return KubeconfigCluster(context, keeper=keeper, environ=environ)


def _kind(settings: Settings, profile: DriverProfile) -> tuple[Ways, Engine]:
    try:
        engine = find_engine(settings["dra_engine"])
        tool = find_kind(settings["dra_kind"], engine)
        wanted = _kind_settings(settings, profile)
    except ClusterError as error:
        raise OptionError(f"--dra-cluster=kind: {error}") from error

    def new(keeper: Keeper) -> WholeCluster:
        return KindCluster(wanted, tool=tool, engine=engine, keeper=keeper)

    def join(keeper: Keeper, name: str) -> WholeCluster:
        made = dataclasses.replace(wanted, reuse=name, keep=False)
        return KindCluster(made, tool=tool, engine=engine, keeper=keeper)

    return (new, join), engine


def _plan(
    settings: Settings, profile: DriverProfile, *, ways: Ways, engine: Engine | None
) -> LivePlan:
    """What is deployed; without an engine images are not built."""
    driver = settings["dra_driver"]
    if driver.split()[:1] == [FAKE]:
        return _fake(settings, profile, ways=ways, engine=engine)
    without = comes_alone(settings, profile)
    objects = [] if driver == INSTALLED else _objects(settings, profile, without=without)
    previous: list[Json] = []
    try:
        if driver and driver != INSTALLED:
            image, *arguments = shlex.split(driver)
            previous = _previous(objects, profile, engine, arguments)
            put_image(objects, _named(image, engine), arguments=arguments)
            if without:
                generated.fill_arguments([*objects, *previous], settings["dra_driver_name"])
    except (ClusterError, ShipmentError, ValueError) as error:
        raise OptionError(f"--dra-driver={driver}: {error}") from error
    return LivePlan(
        new=ways[0],
        join=ways[1],
        objects=tuple(objects),
        previous=tuple(previous),
        images=tuple(images_of([*objects, *previous])),
        pod_image=settings["dra_pod_image"],
        own_allocator=settings["dra_allocator"] == REFERENCE,
        partner=_partner(settings, engine),
    )


def _previous(
    objects: Sequence[Json], profile: DriverProfile, engine: Engine | None, arguments: list[str]
) -> list[Json]:
    """The plugin's DaemonSets with the image of the previous release; none where none is given.

    Raises:
        ClusterError, ShipmentError, ValueError: the image, or the manifests, cannot be used.
    """
    given = profile.launch.previous.image if profile.launch.previous else ""
    if not given:
        return []
    image, *own = shlex.split(given)
    return _plugins_with(objects, _named(image, engine), own or arguments)


def _plugins_with(objects: Sequence[Json], image: str, arguments: Sequence[str]) -> list[Json]:
    """Copies of the plugin's DaemonSets that run an image. Raises ShipmentError."""
    found = [copy.deepcopy(each.item) for each in plugins_of(objects)]
    put_image(found, image, arguments=arguments)
    return found


def _named(image: str, engine: Engine | None) -> str:
    """The image's name; one in a file is given to the engine. Raises ClusterError."""
    if not is_archive(image):
        return image
    if engine is None:
        raise ClusterError("the nodes of this cluster pull their images: give a name, not a file")
    return loaded(engine, Path(image))


def _partner(settings: Settings, engine: Engine | None) -> Partner:
    """Where there is no engine the nodes have to have its image, or get it from somewhere."""
    base = settings["dra_base_image"]
    build = partial(fakeimage.build, engine, base=base) if engine else None
    return Partner(image=fakeimage.image_name(base), build=build)


def _kind_settings(settings: Settings, profile: DriverProfile) -> KindSettings:
    config = Path(settings["dra_kind_config"]) if settings["dra_kind_config"] else None
    if config is not None:
        read_config(config)
    gates = cluster_gates(settings, profile)
    return KindSettings(
        image=node_image(settings["dra_kind_image"]),
        nodes=_nodes(settings["dra_kind_nodes"]),
        config=config,
        reuse=settings["dra_reuse"],
        keep=settings["dra_keep"] == "true",
        feature_gates=gates,
        runtime_config=runtime_config(settings["dra_kubernetes"], gates),
    )


def _nodes(given: str) -> int | None:
    if not given:
        return None
    if not given.isdecimal() or not 1 <= int(given) <= NODES_MAX:
        raise OptionError(f"--dra-kind-nodes: got {given!r}, want a number from 1 to {NODES_MAX}")
    return int(given)


def comes_alone(settings: Settings, profile: DriverProfile) -> bool:
    """True for an image without manifests: it is deployed by ours."""
    return is_image(settings["dra_driver"]) and not profile.manifests


def with_class(settings: Settings, profile: DriverProfile) -> DriverProfile:
    """The profile with the DeviceClass of our manifests, where they are used and it names none."""
    if not comes_alone(settings, profile) or profile.driver.device_classes:
        return profile
    driver = dataclasses.replace(profile.driver, device_classes=(settings["dra_driver_name"],))
    return dataclasses.replace(profile, driver=driver)


def _objects(settings: Settings, profile: DriverProfile, *, without: bool) -> list[Json]:
    if without:
        return generated.objects_for(settings["dra_driver_name"])
    if not profile.manifests:
        raise OptionError(
            f"--dra-driver={settings['dra_driver']}: what is deployed for it on the cluster? Give "
            "--dra-manifests=FILE, DIR or CHART, or manifests in the profile"
        )
    try:
        return objects_of(profile.manifests)
    except ShipmentError as error:
        raise OptionError(f"--dra-manifests: {error}") from error


def _fake(
    settings: Settings, profile: DriverProfile, *, ways: Ways, engine: Engine | None
) -> LivePlan:
    """The bundled driver: its image is built, and its manifests are those of its fault.

    It plays its own previous release, which has no fault. Where there is no engine the nodes have
    to have the image, or get it from somewhere.
    """
    driver = settings["dra_driver"]
    command = profile.launch.previous.command if profile.launch.previous else ()
    previous: list[Json] = []
    try:
        arguments = shlex.split(driver)[1:]
        program = [sys.executable, "-m", fakeimage.MODULE]
        text = call([*program, "--print-manifests", *arguments], timeout_s=PRINT_S)
        objects = ordered(yaml.safe_load_all(text))
        partner = _partner(settings, engine)
        image = partner.image
        if command[:1] == (FAKE,):
            more = [*arguments, *command[1:], "--fault="]
            previous = _plugins_with(objects, image, more)
        put_image(objects, image, arguments=arguments)
    except (ToolError, ShipmentError, ValueError) as error:
        raise OptionError(f"--dra-driver={driver}: {error}") from error
    return LivePlan(
        new=ways[0],
        join=ways[1],
        objects=tuple(objects),
        previous=tuple(previous),
        images=(image,),
        pod_image=settings["dra_pod_image"],
        own_allocator=settings["dra_allocator"] == REFERENCE,
        build=partner.build,
        partner=partner,
    )
