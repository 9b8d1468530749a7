"""A session on a cluster that the tests have already: fixture ``dra_existing_cluster``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.engine import find_engine
from pytest_dra.clusters.handed import HandedCluster
from pytest_dra.clusters.handed import environment_of
from pytest_dra.clusters.handed import loader_of
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.whole import WholeCluster
from pytest_dra.launch import Keeper
from pytest_dra.live import fakeimage
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.planning import plan_of
from pytest_dra.profile.plugged import Call
from pytest_dra.refusals import KUBECONFIG
from pytest_dra.refusals import check_later_features
from pytest_dra.session import Session


def session_on(given: object, settings: Settings, *, calls: Mapping[str, Call]) -> Session:
    """The session of a driver that is deployed there.

    Args:
        given: what the fixture has returned.
        settings: name the driver; of another cluster nothing counts.
        calls: functions of pytest plugins that stand for hooks of the profile, by name.

    Raises:
        OptionError: it cannot be used; in one sentence, with the way out.
    """
    settings = settings.instead("dra_cluster", KUBECONFIG).instead("dra_depth", "")
    check_later_features(settings)
    try:
        # Its own kubeconfig, and not that of the user, who may have another cluster in mind.
        plan = plan_of(settings.within(environment_of(given)), calls=calls)[1]
        engine = _engine(settings, given)
    except ClusterError as error:
        raise OptionError(str(error)) from error
    if plan.live is None:
        raise RuntimeError("a whole cluster without its plan")

    def new(keeper: Keeper) -> WholeCluster:
        return HandedCluster(given, engine=engine, keeper=keeper)

    live = dataclasses.replace(plan.live, new=new)
    if engine is not None and live.partner is not None:
        build = partial(fakeimage.build, engine, base=settings["dra_base_image"])
        fake = live.partner.image in live.images
        partner = dataclasses.replace(live.partner, build=build)
        live = dataclasses.replace(live, build=build if fake else None, partner=partner)
    return Session(dataclasses.replace(plan, live=live))


def _engine(settings: Settings, given: object) -> Engine | None:
    """What has the images that are given to the nodes; None where nobody can give them."""
    return find_engine(settings["dra_engine"]) if loader_of(given) is not None else None
