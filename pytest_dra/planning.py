"""From settings to a plan: which processes are the driver, and what its profile says."""

from __future__ import annotations

import dataclasses
import importlib.resources
import math
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dra import nodeimage
from pytest_dra.bench.attached import Attachment
from pytest_dra.bench.attached import Tell
from pytest_dra.bench.invitation import Invitation
from pytest_dra.bench.patience import lifted
from pytest_dra.cdi import containerds_library
from pytest_dra.clusters.binaries import Binaries
from pytest_dra.clusters.binaries import BinariesError
from pytest_dra.clusters.binaries import find_binaries
from pytest_dra.embedded import certificates
from pytest_dra.featuregates import cluster_gates
from pytest_dra.featuregates import feature_gates
from pytest_dra.launch import Component
from pytest_dra.launch import Jail
from pytest_dra.launch import LaunchError
from pytest_dra.launch import parse_command_line
from pytest_dra.manifestplanning import shipped
from pytest_dra.options import ATTACH
from pytest_dra.options import AUTO
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.plan import Plan
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import PLACEHOLDERS
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import Hardware
from pytest_dra.profile import ProfileError
from pytest_dra.profile import load_profile
from pytest_dra.profile.model import Previous
from pytest_dra.profile.plugged import PREVIOUS
from pytest_dra.profile.plugged import Call
from pytest_dra.profile.plugged import with_calls
from pytest_dra.profile.rights import Rights
from pytest_dra.profile.rights import RightsError
from pytest_dra.profile.rights import rights_of
from pytest_dra.program import check_command
from pytest_dra.refusals import APISERVER
from pytest_dra.refusals import KIND
from pytest_dra.refusals import WIRE
from pytest_dra.refusals import at_wire
from pytest_dra.refusals import check_cel_engine
from pytest_dra.refusals import context_of
from pytest_dra.refusals import depths_of
from pytest_dra.refusals import is_image
from pytest_dra.refusals import is_whole
from pytest_dra.soaking import replay_of
from pytest_dra.soaking import soak_of

if TYPE_CHECKING:
    from pytest_dra.imageplanning import Contained

DRIVER_NAME = "driver_name"
FAKE = "fake"
UPGRADES = "UpgradeFrom"
"""Feature of the catalogue: claims of the previous release are kept."""

FAKE_PACKAGE = "pytest_dra.fake_driver"
PROFILE_FILE = "dra-profile.yaml"


BENCHES = 4
"""Benches that keep two cores busy: cases mostly wait for their driver to start."""

ATTACH_LIMIT_S = 86_400
"""Longest wait for a driver that is attached: a day."""


def plan_of(
    settings: Settings, *, tell: Tell | None = None, calls: Mapping[str, Call] | None = None
) -> tuple[Settings, Plan]:
    """The plan of a run, and the settings with what the profile adds to them.

    ``tell`` shows the author of an attached driver what it needs. ``calls`` are functions of pytest
    plugins, by the name of the profile's hook that they stand for.

    Raises:
        OptionError: in one sentence, with the option and the way out.
    """
    profile = _with_previous(settings, _plugged(_profile_of(settings), calls or {}))
    complete = settings.with_profile(_settings_in(profile))
    if context_of(complete["dra_cluster"]) is not None:
        from pytest_dra.livefinding import with_version

        complete = with_version(complete)
    elif complete["dra_cluster"] == KIND:
        complete = nodeimage.with_version(complete)
    if complete["dra_cdi_library"] == AUTO:
        complete = complete.instead(
            "dra_cdi_library", containerds_library(complete["dra_kubernetes"])
        )
    profile = shipped(complete, lifted(profile) if settings.patient else profile)
    return complete, _plan(complete, profile, tell)


def _profile_of(settings: Settings) -> DriverProfile:
    """The profile that the settings name; the bundled one for the fake driver.

    Raises:
        OptionError: the file cannot be used; the text has file, line and path of each problem.
    """
    if settings["dra_profile"]:
        path = Path(settings["dra_profile"])
    elif _is_fake(settings["dra_driver"]):
        path = Path(str(importlib.resources.files(FAKE_PACKAGE).joinpath(PROFILE_FILE)))
    else:
        return DEFAULT_PROFILE
    try:
        return load_profile(path)
    except ProfileError as error:
        raise OptionError(f"--dra-profile: {error}") from error


def _plugged(profile: DriverProfile, calls: Mapping[str, Call]) -> DriverProfile:
    """The profile with what functions of plugins stand for.

    Raises:
        OptionError: the one that names the previous release returns something else.
    """
    found = with_calls(profile, {name: call for name, call in calls.items() if name != PREVIOUS})
    command = calls[PREVIOUS]() if PREVIOUS in calls else None
    if command is None:
        return found
    words = tuple(command) if isinstance(command, (list, tuple)) else ()
    if not words or not all(isinstance(word, str) for word in words):
        raise OptionError(
            f"pytest_dra_{PREVIOUS}: got {command!r:.100}, want a command as a list of words"
        )
    release = Previous(command=words)
    return dataclasses.replace(found, launch=dataclasses.replace(found.launch, previous=release))


def _with_previous(settings: Settings, profile: DriverProfile) -> DriverProfile:
    """The profile with the option's image as its previous release, which cases then look at."""
    image = settings["dra_driver_previous"]
    if not image:
        return profile
    features = {UPGRADES: True, **profile.features}
    launch = dataclasses.replace(profile.launch, previous=Previous(image=image))
    return dataclasses.replace(profile, launch=launch, features=features)


def _settings_in(profile: DriverProfile) -> dict[str, str]:
    """What a profile says that is an option as well."""
    return {"dra_driver_name": profile.driver.name}


def _is_fake(driver: str) -> bool:
    """True for the bundled driver, with or without arguments."""
    return driver.split()[:1] == [FAKE]


def _plan(settings: Settings, profile: DriverProfile, tell: Tell | None) -> Plan:
    """Decide what is started, and check what can be checked before the start.

    Raises:
        OptionError: there is no driver, or its program cannot be run.
    """
    check_cel_engine(settings)
    if is_whole(settings["dra_cluster"]):
        found = _on_cluster(settings, profile)
        if WIRE not in depths_of(settings):
            return found
        return dataclasses.replace(found, wire=_plan(at_wire(settings), profile, tell))
    image = _contained(settings, profile)
    components = image.components if image else _components(settings, profile)
    previous = image.previous if image else _previous(settings, profile, components)
    option = "--dra-driver" if settings["dra_driver"] else "launch.components"
    for component in (*components, *previous):
        try:
            component.filled(dict.fromkeys(PLACEHOLDERS, "x"))
        except LaunchError as error:
            raise OptionError(f"{option}: {error}") from error
        if not settings["dra_driver_name"] and component.uses(DRIVER_NAME):
            raise OptionError(f"{option}: {{{DRIVER_NAME}}} is used; name it: --dra-driver-name")
        if not settings.attached and component.container is None:
            check_command(component.command, option=option)
    if settings.jailed:
        _check_jail(profile)
    if image is None:
        _check_account(settings, profile)
    return Plan(
        components=components,
        driver_name=settings["dra_driver_name"] or None,
        profile=profile,
        kubernetes=settings["dra_kubernetes"],
        feature_gates=feature_gates(settings),
        binaries=_binaries(settings),
        cdi_library=settings["dra_cdi_library"],
        cel_engine=settings["dra_cel_engine"],
        jailed=settings.jailed,
        previous=previous,
        rights=_rights(image.profile if image else profile),
        soak=soak_of(settings),
        replay=replay_of(settings),
        attachment=_attachment(settings, tell) if settings.attached else None,
        patient=settings.patient,
        in_memory=_is_fake(settings["dra_driver"]),
        benches=_benches(settings, profile),
        fleet=image.fleet if image else None,
    )


def _contained(settings: Settings, profile: DriverProfile) -> Contained | None:
    """The driver's image, where one is to be run in the local engine."""
    if not is_image(settings["dra_driver"]):
        return None
    from pytest_dra.imageplanning import contained

    return contained(settings, profile)


def _on_cluster(settings: Settings, profile: DriverProfile) -> Plan:
    """A driver that runs on a whole cluster."""
    if settings.jailed and WIRE not in depths_of(settings):
        raise OptionError("--dra-jail: on a cluster the driver runs in a pod; leave it out")
    from pytest_dra.liveplanning import live_plan
    from pytest_dra.liveplanning import with_class

    profile = with_class(settings, profile)
    return Plan(
        components=(),
        driver_name=settings["dra_driver_name"] or None,
        profile=profile,
        kubernetes=settings["dra_kubernetes"],
        feature_gates=_gates(settings, profile),
        cdi_library=settings["dra_cdi_library"],
        cel_engine=settings["dra_cel_engine"],
        live=live_plan(settings, profile),
        benches=_benches(settings, profile),
    )


def _gates(settings: Settings, profile: DriverProfile) -> dict[str, bool]:
    """A cluster of others has the gates that are told; one that is made gets them."""
    if settings["dra_cluster"] != KIND:
        return feature_gates(settings)
    return cluster_gates(settings, profile)


def _binaries(settings: Settings) -> Binaries | None:
    """The programs of a real API server, where one is wanted."""
    if settings["dra_cluster"] != APISERVER:
        return None
    try:
        found = find_binaries()
        found.must_serve(settings["dra_kubernetes"])
    except BinariesError as error:
        raise OptionError(f"--dra-cluster={APISERVER}: {error}") from error
    return found


def _rights(profile: DriverProfile) -> Rights | None:
    """What the driver may do on the API server, where its profile names its account."""
    try:
        return rights_of(profile)
    except RightsError as error:
        raise OptionError(f"--dra-profile: {error}") from error


def _attachment(settings: Settings, tell: Tell | None) -> Attachment:
    """How an attached driver is waited for."""
    if settings.jailed:
        raise OptionError(
            "--dra-jail: a driver that you start yourself cannot be put into a jail; leave the "
            "option out, or let the suite start it: --dra-driver='exec:COMMAND LINE'"
        )
    text = settings["dra_attach_wait"]
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= ATTACH_LIMIT_S:
        raise OptionError(
            f"--dra-attach-wait: got {text!r}, want seconds above 0, at most {ATTACH_LIMIT_S}"
        )
    return Attachment(tell=tell or _nobody, within_s=seconds)


def _nobody(invitation: Invitation) -> None:
    """There is nobody to tell."""


def _benches(settings: Settings, profile: DriverProfile) -> int:
    """How many benches may be used: the same hardware is not given to several of them unasked,
    nor is a real API server started for each."""
    given = settings["dra_benches"]
    if settings.attached:
        return 1
    if given != AUTO:
        return int(given)
    shared = profile.launch.hardware is Hardware.REAL or settings["dra_cluster"] == APISERVER
    return 1 if shared else BENCHES


def _check_account(settings: Settings, profile: DriverProfile) -> None:
    if not profile.launch.in_cluster:
        return
    if not settings.jailed:
        raise OptionError(
            "launch.in_cluster: the files of a pod lie at a fixed path, which only --dra-jail gives"
        )
    if not certificates.available():
        raise OptionError(f"launch.in_cluster: {certificates.MISSING}")


def _check_jail(profile: DriverProfile) -> None:
    # Any directory will do: what is tried is whether it can be shown at these paths.
    anything = Path(tempfile.gettempdir())
    writable = dict.fromkeys(profile.launch.writable, anything)
    problem = Jail.check({**writable, **profile.launch.trees})
    if problem:
        raise OptionError(problem)


def _components(settings: Settings, profile: DriverProfile) -> tuple[Component, ...]:
    driver = settings["dra_driver"]
    if _is_fake(driver):
        return (Component(name=FAKE, command=_fake_command(driver, settings)),)
    if driver and not settings.attached:
        if driver.split()[:1] == [ATTACH]:
            raise OptionError(f"--dra-driver={driver}: attach takes no arguments")
        try:
            command = parse_command_line(driver.removeprefix("exec:"))
        except LaunchError as error:
            raise OptionError(f"--dra-driver: {error}") from error
        if not command:
            raise OptionError("--dra-driver=exec: needs a command line behind the colon")
        return (Component(name="driver", command=command),)
    if profile.launch.components:
        return tuple(
            Component(
                name=each.name,
                command=each.command,
                env=dict(each.env),
                registers=each.registers,
            )
            for each in profile.launch.components
        )
    if settings.attached:
        return ()
    raise OptionError(
        "--dra-driver: no driver is given: name one, or list its processes in the profile "
        "under launch.components"
    )


def _previous(
    settings: Settings, profile: DriverProfile, components: tuple[Component, ...]
) -> tuple[Component, ...]:
    """The components with the command of ``launch.previous`` for the first one that registers.

    Nothing if the profile gives none, or an image, which cannot be run as a process.
    """
    given = profile.launch.previous
    if given is None or not given.command or settings.attached:
        return ()
    command = given.command
    if command[0] == FAKE:
        command = _fake_command(shlex.join([*command, "--fault="]), settings)
    number = next((n for n, each in enumerate(components) if each.registers), 0)
    release = dataclasses.replace(components[number], command=command)
    return (*components[:number], release, *components[number + 1 :])


def _fake_command(driver: str, settings: Settings) -> tuple[str, ...]:
    """The fake driver as it would be deployed; what is given for it comes last and wins."""
    try:
        arguments = shlex.split(driver)[1:]
    except ValueError as error:
        raise OptionError(f"--dra-driver={driver}: {error}") from error
    usual = ["--instance-uid={pod_uid}"]
    if settings["dra_driver_name"]:
        usual.append("--driver-name={driver_name}")
    return (sys.executable, "-m", FAKE_PACKAGE, *usual, *arguments)
