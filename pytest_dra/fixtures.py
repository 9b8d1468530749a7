"""Fixtures for a user's own tests: a cluster, a running driver, a bench, a namespace.

They work without any option too: then the driver is the bundled fake driver and the cluster the
embedded one. Nothing heavy is imported before a test asks for one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_dra.attaching import check_alone
from pytest_dra.attaching import teller
from pytest_dra.hookspecs import implemented
from pytest_dra.options import OptionError
from pytest_dra.options import check_platform
from pytest_dra.refusals import check_later_features
from pytest_dra.stash import RUN
from pytest_dra.stash import SETTINGS

if TYPE_CHECKING:
    from pytest_dra.bench import Bench
    from pytest_dra.bench import Instance
    from pytest_dra.bench.allocating import Allocator
    from pytest_dra.bench.matching import Matching
    from pytest_dra.bench.pods import Pods
    from pytest_dra.bench.userclaims import UserClaims
    from pytest_dra.clusters.protocol import Cluster
    from pytest_dra.clusters.whole import WholeCluster
    from pytest_dra.live import LiveBench
    from pytest_dra.live.userpods import UserDriver
    from pytest_dra.live.userpods import UserPods
    from pytest_dra.session import Session

MEETING = "dra_meeting"
"""Where xdist tells a worker where the processes of the run meet that use one whole cluster."""

RANDOM_BYTES = 3
"""Random part of a namespace's name: apart from those of another run on one cluster."""


@pytest.fixture(scope="session")
def dra_existing_cluster() -> object:
    """A whole cluster that the tests have already, for all other fixtures: override it.

    Returns the ``kind_cluster`` of pytest-kind, a cluster of pytest-kubernetes, or the path of a
    kubeconfig; None: the cluster of ``--dra-cluster``. The driver is deployed on it, and removed.
    """
    return None


@pytest.fixture(scope="session")
def dra_session(pytestconfig: pytest.Config, dra_existing_cluster: object) -> Iterator[Session]:
    """The run's session: of the driver under test, or of the fake driver where none is named."""
    if dra_existing_cluster is not None:
        with session_of(pytestconfig, on=dra_existing_cluster) as session:
            yield session
        return
    run = pytestconfig.stash.get(RUN, None)
    if run is not None:
        yield run.session
        return
    with session_of(pytestconfig) as session:
        join(pytestconfig, session)
        yield session


def session_of(pytestconfig: pytest.Config, *, on: object = None) -> Session:
    """A session of the driver that fixtures use where no driver is judged.

    ``on``: a cluster that the tests have already.
    """
    settings = pytestconfig.stash[SETTINGS].for_fixtures()
    try:
        check_platform()
        if on is not None:
            from pytest_dra.handing import session_on

            return session_on(on, settings, calls=implemented(pytestconfig))
        check_later_features(settings)
        check_alone(settings, pytestconfig)
        from pytest_dra.planning import plan_of
        from pytest_dra.session import Session

        tell = teller(pytestconfig, Path(settings["dra_output"]).absolute())
        return Session(plan_of(settings, tell=tell, calls=implemented(pytestconfig))[1])
    except OptionError as error:
        pytest.fail(str(error), pytrace=False)


def join(pytestconfig: pytest.Config, session: Session) -> None:
    """In a worker of xdist use the whole cluster that the controller has made for all of them."""
    folder = getattr(pytestconfig, "workerinput", {}).get(MEETING)
    if folder and session.live_site is not None:
        from pytest_dra.live.meeting import Meeting

        session.live_site.join(Meeting(Path(folder)))


@pytest.fixture(scope="session")
def dra_cluster(dra_session: Session) -> Cluster | WholeCluster:
    """The cluster of the run, started, without a driver: clients and a kubeconfig."""
    return dra_session.whole or dra_session.cluster


@pytest.fixture
def dra_bench(dra_session: Session) -> Iterator[Bench]:
    """The bench round the driver, which is started when the bench is first used.

    The driver runs on from test to test; claims are unprepared and deleted after each, and a
    driver that a test has spoiled is replaced before the next.
    """
    bench = dra_session.bench
    with bench.lent():
        yield bench


@pytest.fixture(scope="session")
def dra_live(dra_session: Session) -> LiveBench:
    """The driver on a whole cluster (``--dra-cluster=kind``), and what uses it there."""
    return dra_session.live


@pytest.fixture
def dra_driver(
    dra_session: Session, request: pytest.FixtureRequest
) -> Iterator[Instance | UserDriver]:
    """The driver under test: started, registered, its slices published."""
    if dra_session.live_site is not None:
        from pytest_dra.live.userpods import UserDriver

        with dra_session.live_site.using():
            yield UserDriver(dra_session.live.driver)
        return
    bench: Bench = request.getfixturevalue("dra_bench")
    instance = bench.instance
    if instance.plugin() is None:
        pytest.fail(
            f"the driver has not registered within {instance.budgets.start:g} s; "
            f"its output ends:\n{instance.driver.log_tail()}",
            pytrace=False,
        )
    instance.wait_published()
    yield instance


@pytest.fixture
def dra_node(dra_driver: Instance | UserDriver) -> str:
    """Name of a node that has devices of the driver."""
    return dra_driver.node


@pytest.fixture
def dra_select(dra_session: Session, dra_driver: Instance | UserDriver) -> Matching:
    """Called with a CEL selector: the driver's devices that it matches, as a scheduler sees it.

    What evaluates it is chosen by ``--dra-cel-engine``.
    """
    from pytest_dra.bench.matching import Matching

    whole, name = dra_session.whole is not None, dra_session.plan.cel_engine
    version = dra_session.live.version if whole else dra_session.cluster.version
    return Matching(dra_driver, version=version, engine_name=name)


@pytest.fixture
def dra_namespace(dra_session: Session, dra_cluster: Cluster | WholeCluster) -> Iterator[str]:
    """A namespace of its own for one test, deleted at its end."""
    import secrets

    from pytest_dra.api.resources import NAMESPACES

    name = f"dra-test-{secrets.token_hex(RANDOM_BYTES)}"
    marks = dra_session.live.marks if dra_session.whole is not None else {}
    client = dra_cluster.admin()
    client.create(NAMESPACES, {"metadata": {**marks, "name": name}})
    try:
        yield name
    finally:
        client.delete(NAMESPACES, name)


@pytest.fixture
def dra_claim(
    dra_session: Session, dra_driver: Instance | UserDriver, dra_namespace: str
) -> Iterator[UserClaims]:
    """Called: a claim for devices of the driver in the test's namespace; its name."""
    from pytest_dra.bench.userclaims import UserClaims

    whole = dra_session.whole is not None
    with UserClaims(
        dra_session.live.client if whole else dra_session.cluster.admin(),
        dra_namespace,
        driver=dra_driver.driver_name or "",
        metadata=dra_session.live.marks if whole else None,
    ) as claims:
        yield claims


@pytest.fixture
def dra_allocator(dra_session: Session, dra_namespace: str) -> Iterator[Allocator]:
    """What gives devices to the pods of the test's namespace.

    On a cluster without nodes it is the reference allocator; with it run the controllers that make
    claims of templates, give them back and evict pods.
    """
    if dra_session.whole is not None:
        allocator = dra_session.live.allocator
        allocator.serve(dra_namespace)
        yield allocator
        return
    from pytest_dra.allocator import rules_of
    from pytest_dra.bench.allocating import ReferenceAllocator

    cluster = dra_session.cluster
    rules = rules_of(cluster.version.with_known_gates(dra_session.plan.feature_gates))
    with ReferenceAllocator(cluster, rules=rules, namespaces=(dra_namespace,)) as allocator:
        yield allocator


@pytest.fixture
def dra_pod(
    dra_session: Session,
    dra_allocator: Allocator,
    dra_claim: UserClaims,
) -> Iterator[Pods | UserPods]:
    """Called: a pod with a claim for a device of the driver, which the driver has prepared.

    At the end of the test its pods are deleted, and their claims unprepared and given back.
    """
    if dra_session.whole is not None:
        from pytest_dra.live.userpods import UserPods

        live = dra_session.live
        with UserPods(live.client, dra_claim, dra_allocator, image=live.pod_image) as made:
            yield made
        return
    from pytest_dra.bench.pods import Pods

    with Pods(dra_session.bench, dra_allocator, dra_claim) as pods:
        yield pods
