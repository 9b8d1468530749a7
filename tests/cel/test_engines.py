"""A second engine gives the same answers where both can."""

from __future__ import annotations

import importlib.util

import pytest

from pytest_dra.cel import CelError
from pytest_dra.cel import CompileError
from pytest_dra.cel import environment
from pytest_dra.cel import prepare
from pytest_dra.cel.engines import CEL_PYTHON
from pytest_dra.cel.engines import NAMES
from pytest_dra.cel.engines import OWN
from pytest_dra.cel.engines import EngineMissing
from pytest_dra.cel.engines import engine
from pytest_dra.cel.values import CelMap

GPU = 'device.attributes["gpu.example.com"]'
MEMORY = 'device.capacity["gpu.example.com"].memory'
COMMON = (
    'device.driver == "gpu.example.com"',
    f'{GPU}.model == "A100"',
    f'{GPU}.model != "A100" && device.driver == "gpu.example.com"',
    f"{GPU}.numa >= 1",
    f"{GPU}.numa in [0, 2]",
    f"!{GPU}.healthy || {GPU}.numa == 1",
    f"has({GPU}.model) && has({GPU}.numa)",
    'has(device.attributes["no"].model)',
    f'"model" in {GPU}',
    f'{GPU}.model.startsWith("A") && {GPU}.model.endsWith("0")',
    f'{GPU}.model.matches("^[AH]100$")',
    f'{GPU}.model.contains("10") ? {GPU}.numa == 1 : true',
    f"size({GPU}.model) == 4",
    f'[1, 2, 3].exists(x, x == {GPU}.numa) && ["A100"].all(x, x == "A100")',
    f"{GPU}.numa * 2 + 1 == 3",
    f'{MEMORY}.compareTo(quantity("40Gi")) >= 0',
    f'{MEMORY}.isLessThan(quantity("1Ti"))',
    f'{GPU}.driverVersion.isGreaterThan(semver("1.2.3"))',
    f'{GPU}.driverVersion.compareTo(semver("1.10.0")) == 0',
)
DEVICES = [
    ("gpu.example.com", {
        "attributes": {
            "model": {"string": model}, "numa": {"int": numa}, "healthy": {"bool": numa == 0},
            "driverVersion": {"version": version},
        },
        "capacity": {"memory": {"value": memory}},
    })
    for model, numa, version, memory in (
        ("A100", 0, "1.10.0", "80Gi"), ("H100", 1, "1.2.3-rc.1", "40960Mi"), ("", 2, "0.1.0", "1"),
    )
] + [("nic.example.com", {})]  # fmt: skip


def plain(value: object) -> object:
    if isinstance(value, CelMap):
        return {key: plain(item) for key, item in value.items()}
    return value if isinstance(value, (str, int, bool, list)) else str(value)


OWN_PARTS = ("quantity(", "semver(", '"no"')
"""What only Kubernetes has: two types, and empty maps for unknown domains."""

needs_cel_python = pytest.mark.skipif(
    importlib.util.find_spec("celpy") is None, reason="cel-python is not installed"
)


def words(answers: list[bool | CelError]) -> list[object]:
    return ["error" if isinstance(one, CelError) else one for one in answers]


@needs_cel_python
@pytest.mark.parametrize("text", COMMON)
def test_both_engines_agree_on_what_both_know(text: str) -> None:
    devices = prepare(DEVICES)
    ours, theirs = (
        words(engine(name).compile(text, environment(37)).matches(devices)) for name in NAMES
    )
    assert ours == theirs


@needs_cel_python
def test_both_refuse_what_is_no_expression() -> None:
    for name in NAMES:
        with pytest.raises(CompileError):
            engine(name).compile("device.driver ==", environment(37))


@needs_cel_python
def test_the_gaps_of_the_second_engine_are_known() -> None:
    assert engine(OWN).gaps == ()
    assert any("no cost" in gap for gap in engine(CEL_PYTHON).gaps)


@pytest.mark.parametrize("text", [one for one in COMMON if not any(map(one.count, OWN_PARTS))])
def test_the_reference_in_another_language_agrees(text: str) -> None:
    cel = pytest.importorskip("cel_expr_python.cel")
    devices = prepare(DEVICES[:-1])
    program = cel.NewEnv(variables={"device": cel.Type.DYN}).compile(text)
    theirs = [program.eval(data={"device": plain(device.value)}) for device in devices]
    ours = words(engine(OWN).compile(text, environment(37)).matches(devices))
    assert ours == ["error" if one.type() == cel.Type.ERROR else one.value() for one in theirs]


def test_an_engine_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="want one of own, cel-python"):
        engine("other")


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(EngineMissing, match=r"pip install 'pytest-dra\[cel\]'"):
        engine(CEL_PYTHON)
