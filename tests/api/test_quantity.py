"""Quantities are returned as kube-apiserver 1.37 was recorded to return them."""

from __future__ import annotations

import pytest

from pytest_dra.api.quantity import Quantity
from pytest_dra.api.quantity import QuantityError
from pytest_dra.api.quantity import canonical

RECORDED = {
    "5": "5",
    "1.5": "1500m",
    "1000": "1k",
    "1024Mi": "1Gi",
    "1.5Gi": "1536Mi",
    "2000m": "2",
    "0.1n": "1n",
    "0.0001Ki": "102400u",
    "1e5": "100e3",
    "12E2": "1200",
    "1e3": "1e3",
    "5.000": "5",
    ".5": "500m",
    "0Gi": "0",
    "8Ei": "9223372036854775807",
    "1e30": "1e30",
    "+5": "+5",
    "0005": "0005",
    "-1": "-1",
}


@pytest.mark.parametrize(("sent", "returned"), RECORDED.items())
def test_a_quantity_comes_back_in_canonical_form(sent: str, returned: str) -> None:
    assert canonical(sent) == returned


@pytest.mark.parametrize("text", ["", "1g", "1Zi", "1 Gi", "true", "1e", "1.1.M", "1e9999999"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        canonical(text)


def test_the_amount_decides_equality_and_order() -> None:
    assert Quantity.parse("1024Mi") == Quantity.parse("1Gi")
    assert Quantity.parse("999m") < Quantity.parse(1) < Quantity.parse("1001m")
    assert Quantity.parse("1001m").whole() == 2
    assert Quantity.parse("-1500m").whole() == -2
    assert not Quantity.parse("1001m").is_whole


@pytest.mark.parametrize("sent", RECORDED)
def test_the_canonical_form_is_stable(sent: str) -> None:
    assert canonical(canonical(sent)) == canonical(sent)
    assert Quantity.parse(canonical(sent)).nanos == Quantity.parse(sent).nanos
