"""META: metadata of devices in containers."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import Device
from pytest_dra.bench.metadata import UPDATE_S
from pytest_dra.bench.metadata import Reader
from pytest_dra.bench.metadata import published
from pytest_dra.bench.metadata import shown
from pytest_dra.bench.metadata import update
from pytest_dra.cases import case
from pytest_dra.checks import metadata
from pytest_dra.spec import Level

BOTH = 2

FROM_TEMPLATE = "accelerator"
"""The name that a pod has for a claim that was made for it."""


@case("META-001", Level.MUST)
def test_meta_001_found(dra_bench: Bench) -> None:
    """containers find the metadata file of each request"""
    reader = Reader(dra_bench)
    for pod_claim in ("", FROM_TEMPLATE):
        with shown(dra_bench, _some(dra_bench), pod_claim=pod_claim) as found:
            for request, place in reader.places(found):
                metadata.must_be_of_the_claim(
                    reader.document(found, place),
                    place,
                    namespace=found.claim.namespace,
                    uid=found.claim.uid,
                    devices={(each.pool, each.name) for each in found.devices[request]},
                )


@case("META-002", Level.MUST)
def test_meta_002_its_own(dra_bench: Bench) -> None:
    """a container sees metadata of its own requests only"""
    reader = Reader(dra_bench)
    with shown(dra_bench, dra_bench.devices(BOTH, in_one_claim=True)) as found:
        files = {
            request: str(metadata.mount_at(found.edits[request], place)["hostPath"])
            for request, place in reader.places(found)
        }
        for request, place in reader.places(found):
            others = {name: path for name, path in files.items() if name != request}
            metadata.only_its_own_may_be_mounted(found.edits[request], place, others=others)


@case("META-003", Level.MUST)
def test_meta_003_read_only(dra_bench: Bench) -> None:
    """metadata is mounted read-only"""
    with shown(dra_bench, _some(dra_bench)) as found:
        for request, place in Reader(dra_bench).places(found):
            metadata.must_be_read_only(metadata.mount_at(found.edits[request], place), place)


@case("META-004", Level.SHOULD)
def test_meta_004_generation(dra_bench: Bench) -> None:
    """metadata updates raise the generation"""
    reader = Reader(dra_bench)
    with shown(dra_bench, dra_bench.devices(1)) as found:
        _, place = reader.places(found)[0]
        before = reader.document(found, place)
        update(dra_bench, found)
        now = reader.after_update(found, place, before)
        metadata.generation_must_rise(before, now, place, within_s=UPDATE_S)


@case("META-005", Level.MUST)
def test_meta_005_gone(dra_bench: Bench) -> None:
    """metadata files disappear on Unprepare"""
    reader = Reader(dra_bench)
    with shown(dra_bench, _some(dra_bench)) as found:
        places = [place for _, place in reader.places(found)]
        files = [reader.host_path(found, place) for place in places]
    for place, file in zip(places, files, strict=True):
        metadata.must_be_gone(reader.left(found, place, file), place)


@case("META-006", Level.SHOULD)
def test_meta_006_agrees(dra_bench: Bench) -> None:
    """metadata agrees with the slices"""
    reader = Reader(dra_bench)
    with shown(dra_bench, _some(dra_bench)) as found:
        for request, place in reader.places(found):
            metadata.attributes_must_agree(
                reader.document(found, place),
                place,
                published=published(dra_bench, found.devices[request]),
            )


def _some(bench: Bench) -> list[Device]:
    """Two devices, or the only one, for the requests of one claim."""
    every = bench.every_device()
    return every[:BOTH]
