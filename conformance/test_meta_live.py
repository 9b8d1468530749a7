"""META on a cluster: metadata of devices as containers find it."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.checks import metadata
from pytest_dra.checks.metadata import Place
from pytest_dra.live import LiveBench
from pytest_dra.live.asking import CLAIM
from pytest_dra.live.asking import CONTAINER
from pytest_dra.live.asking import REQUEST
from pytest_dra.live.asking import Use
from pytest_dra.live.metadata import Reader
from pytest_dra.spec import Level

NAMES = ("a", "b")
"""Requests of a claim, and the containers that name them."""


@case("META-001", Level.MUST, live=True)
def test_meta_001_found(dra_live: LiveBench) -> None:
    """containers find the metadata file of each request"""
    direct = dra_live.claim()
    for of_template in (False, True):
        if of_template:
            pod = dra_live.pod(templates={CLAIM: dra_live.template()})
        else:
            pod = dra_live.pod_with(direct)
        state = dra_live.pods.must_run(pod)
        claim = (
            state["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
            if of_template
            else direct
        )
        place = Place(
            driver=dra_live.driver.name,
            claim=claim,
            request=REQUEST,
            pod_claim=CLAIM if of_template else "",
        )
        metadata.must_be_of_the_claim(
            Reader(dra_live, pod, CONTAINER).document(place),
            place,
            namespace=dra_live.namespace,
            uid=dra_live.claims.uid(claim),
            devices={(pool, device) for _, pool, device in dra_live.claims.devices(claim)},
        )


@case("META-002", Level.MUST, live=True)
def test_meta_002_its_own(dra_live: LiveBench) -> None:
    """a container sees metadata of its own requests only"""
    dra_live.need_devices(len(NAMES))
    claim = dra_live.claim(*map(dra_live.ask, NAMES))
    uses = [Use(name=name, claims=((CLAIM, name),)) for name in NAMES]
    pod = dra_live.pod(claims={CLAIM: claim}, uses=uses)
    dra_live.pods.must_run(pod)
    for name in NAMES:
        place = Place(driver=dra_live.driver.name, claim=claim, request=name)
        Reader(dra_live, pod, name).must_have_no_other(place)


@case("META-003", Level.MUST, live=True)
def test_meta_003_read_only(dra_live: LiveBench) -> None:
    """metadata is mounted read-only"""
    claim = dra_live.claim()
    pod = dra_live.pod_with(claim)
    dra_live.pods.must_run(pod)
    place = Place(driver=dra_live.driver.name, claim=claim, request=REQUEST)
    Reader(dra_live, pod, CONTAINER).must_be_read_only(place)
