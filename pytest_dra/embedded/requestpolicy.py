"""Rules of ``requestPolicy`` of a shareable capacity, in the int64 arithmetic of the server."""

from __future__ import annotations

from typing import Final

from pytest_dra.api.quantity import Quantity
from pytest_dra.embedded.report import Report
from pytest_dra.spec import Json

VALUES_MAX: Final = 10
"""Most valid values of a policy."""

_INT64_MAX: Final = 2**63 - 1


FRACTIONAL: Final = "DRAFractionalCapacityRange"
"""Gate: ranges count in thousandths, and refuse what is finer."""

_FINER: Final = ("u", "n")
"""Suffixes of canonical quantities that are no whole thousandths."""


def fractions(policy: Json, path: str, report: Report) -> None:
    """What a range may hold if it counts in thousandths."""
    limits = policy.get("validRange")
    if limits is None:
        return
    amounts = {"default": policy.get("default"), **limits}
    for name in ("default", "min", "max", "step"):
        text = amounts.get(name)
        if text is not None and text.endswith(_FINER):
            report.invalid(f"{path}.validRange.{name}", text, "must be whole thousandths")


def validate(capacity: Json, path: str, report: Report, *, shared: bool) -> None:
    """The policy of one capacity.

    Args:
        capacity: value and policy.
        path: of the policy.
        shared: the device allows multiple allocations, without which there is no policy.
    """
    policy = capacity["requestPolicy"]
    if not shared:
        report.forbidden(path, "allowMultipleAllocations must be true")
        return
    most = Quantity.parse(capacity["value"])
    values, limits = policy.get("validValues") or [], policy.get("validRange")
    if values and limits is not None:
        report.forbidden(path, "exactly one of validValues and validRange can be specified")
        return
    default = policy.get("default")
    if default is None:
        if values or limits is not None:
            report.required(f"{path}.default")
        return
    amount = Quantity.parse(default)
    if values:
        _validate_values(values, amount, most, f"{path}.validValues", report)
    if limits is not None:
        _validate_range(limits, amount, most, f"{path}.validRange", report)


def _validate_values(
    values: list[str], default: Quantity, most: Quantity, path: str, report: Report
) -> None:
    parsed = [Quantity.parse(value) for value in values]
    if len(parsed) > VALUES_MAX:
        report.too_many(path, len(parsed), VALUES_MAX)
        # the server looks at no value then, and so does not find the default either
        parsed = []
    for index, value in enumerate(parsed):
        where = f"{path}[{index}]"
        if value > most:
            report.invalid(where, values[index], f"must not exceed the capacity {most}")
        if index and value == parsed[index - 1]:
            report.duplicate(where, values[index])
        elif index and value < parsed[index - 1]:
            report.invalid(where, values[index], "values must be sorted in ascending order")
    if default not in parsed:
        report.invalid(path, values, f"must hold the default {default}")


def _validate_range(
    limits: Json, default: Quantity, most: Quantity, path: str, report: Report
) -> None:
    if limits.get("min") is None:
        report.required(f"{path}.min")
        return
    least = Quantity.parse(limits["min"])
    top = Quantity.parse(limits["max"]) if limits.get("max") is not None else None
    if least > most:
        report.invalid(f"{path}.min", str(least), f"must not exceed the capacity {most}")
    if default < least:
        report.invalid(f"{path}.default", str(default), f"must not be below the minimum {least}")
    if top is not None:
        if least > top:
            report.invalid(f"{path}.max", str(top), f"must not be below the minimum {least}")
        if top > most:
            report.invalid(f"{path}.max", str(top), f"must not exceed the capacity {most}")
        if default > top:
            report.invalid(f"{path}.default", str(default), f"must not exceed the maximum {top}")
    if limits.get("step") is not None:
        _validate_step(limits, least, default, (top, most), path, report)


def _validate_step(
    limits: Json,
    least: Quantity,
    default: Quantity,
    tops: tuple[Quantity | None, Quantity],
    path: str,
    report: Report,
) -> None:
    top, most = tops
    step = Quantity.parse(limits["step"])
    if step.nanos <= 0:
        report.invalid(f"{path}.step", str(step), "must be greater than 0")
        return
    bounds = {"min": least, "max": top, "step": step, "default": default}
    outside = [
        name
        for name, value in bounds.items()
        if value is not None and not 0 <= value.whole() <= _INT64_MAX
    ]
    for name in outside:
        report.invalid(f"{path}.{name}", str(bounds[name]), "must be between 0 and MaxInt64")
    if outside:
        return
    stride = step.whole()
    if least.whole() + stride > most.whole():
        report.invalid(f"{path}.step", str(step), "one step does not fit into the capacity")
    if (default.whole() - least.whole()) % stride:
        report.invalid(f"{path}.step", str(step), "the default is not a multiple of the step")
    if top is not None and (top.whole() - least.whole()) % stride:
        report.invalid(f"{path}.step", str(step), "the maximum is not a multiple of the step")
