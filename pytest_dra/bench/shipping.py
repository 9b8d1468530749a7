"""The static cases that look at what the vendor ships in manifests."""

from __future__ import annotations

from pytest_dra.bench.bench import Bench
from pytest_dra.objects.reading import ReadingError
from pytest_dra.objects.shipped import Shipped
from pytest_dra.objects.shipped import read_shipped
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation


def manifests_must_pass(bench: Bench, case: str) -> None:
    """Judge the manifests of the profile.

    Raises:
        Violation: the first flaw.
        NotApplicable: they have nothing that the case judges.
        UnsupportedEnvironment: they cannot be read.
    """
    try:
        given = read_shipped(bench.profile.manifests)
    except ReadingError as error:
        raise UnsupportedEnvironment(
            f"manifests: {error}", way_out="name readable YAML files in manifests of the profile"
        ) from error
    flaw = Shipped(given, bench.profile, driver=bench.driver).flaw(case)
    if flaw is not None:
        raise Violation(flaw.where, got=flaw.got, want=flaw.want)
