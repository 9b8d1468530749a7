"""What a request consumes of a device's capacities: defaults, rounding, policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Final
from typing import NamedTuple

from pytest_dra.allocator.rules import Rules
from pytest_dra.api.quantity import NANO
from pytest_dra.api.quantity import Quantity
from pytest_dra.api.quantity import spelled

_INT64_MAX: Final = 2**63 - 1
_MILLI: Final = NANO // 1000
_STRICT: Final = 37
"""First release that refuses what does not fit its integers instead of computing with it."""

Policy = Mapping[str, Any]


class CapacityError(ValueError):
    """An amount that the scheduler refuses to compute with: the attempt is aborted."""


class Price(NamedTuple):
    """What one share of a device costs.

    ``fault`` aborts the attempt, ``refusal`` rules the device out ("" if neither); ``kind`` is
    then ``unknown``, ``policy`` or ``exhausted``. ``amounts`` and ``limits`` are billionths by
    name, ``texts`` the amounts as the status shows them.
    """

    fault: str = ""
    refusal: str = ""
    kind: str = ""
    amounts: Mapping[str, int] = {}
    limits: Mapping[str, int] = {}
    texts: Mapping[str, str] = {}


class _Amount(NamedTuple):
    """A quantity as Go compares it by ``==``: ``spelling`` is None where that is never true."""

    nanos: int
    text: str
    spelling: tuple[int, int, str, str] | None


def _amount(value: Any) -> _Amount:
    quantity = Quantity.parse(value)
    kept = quantity.canonical if quantity.kept else ""
    spelling = (quantity.number, quantity.scale, quantity.style, kept)
    return _Amount(quantity.nanos, quantity.canonical, None if quantity.large else spelling)


def _made(value: int, unit: int, style: str) -> _Amount:
    nanos = value * unit
    scale = 0 if unit == NANO else -3
    if scale and value % 1000 == 0:
        value, scale = value // 1000, 0
    return _Amount(nanos, spelled(nanos, style), (value, scale, style, ""))


def _wrapped(value: int) -> int:
    return (value + _INT64_MAX + 1) % (2 * (_INT64_MAX + 1)) - _INT64_MAX - 1


def _divided(value: int, by: int) -> int:
    """Division that rounds towards zero."""
    if by == 0:
        raise CapacityError("a step of zero")
    quotient = abs(value) // abs(by)
    return quotient if (value < 0) == (by < 0) else -quotient


def price(requests: Mapping[str, Any] | None, capacity: Mapping[str, Any], rules: Rules) -> Price:
    """The price of a device with ``capacity`` for ``requests``, both in the API's form."""
    for name in requests or ():
        if name not in capacity:
            return Price(refusal=f"has no capacity {name}", kind="unknown")
    amounts: dict[str, _Amount] = {}
    try:
        for name, entry in capacity.items():
            asked = None if requests is None else requests.get(name)
            amounts[name] = amount = _consumed(asked, entry, rules)
            if amount.nanos < 0 and rules.minor >= _STRICT:
                return Price(fault=f"capacity {name}: {amount.text} is negative")
        refusal = kind = ""
        limits = {}
        for name, entry in capacity.items():
            amount = amounts[name]
            limits[name] = Quantity.parse(entry.get("value") or 0).nanos
            if refusal:
                continue
            if _violates(amount, entry.get("requestPolicy"), rules):
                kind, refusal = "policy", f"capacity {name}: {amount.text} is against its policy"
            elif amount.nanos > limits[name]:
                kind, refusal = "exhausted", f"capacity {name}: {amount.text} is too much"
    except CapacityError as error:
        return Price(fault=f"capacity {name}: {error}")
    return Price(
        refusal=refusal,
        kind=kind,
        amounts={name: amount.nanos for name, amount in amounts.items()},
        limits=limits,
        texts={name: amount.text for name, amount in amounts.items()},
    )


def _consumed(asked: Any, entry: Mapping[str, Any], rules: Rules) -> _Amount:
    policy = entry.get("requestPolicy")
    if asked is None:
        default = policy.get("default") if policy else None
        return _amount((entry.get("value") or 0) if default is None else default)
    request = _amount(asked)
    if policy is None:
        return request
    reach = policy.get("validRange")
    if reach is not None and reach.get("min") is not None:
        return _rounded(request, reach, rules)
    for value in policy.get("validValues") or ():
        choice = _amount(value)
        if request.nanos <= choice.nanos:
            return choice
    return request


def _rounded(request: _Amount, reach: Mapping[str, Any], rules: Rules) -> _Amount:
    least = _amount(reach["min"])
    if request.nanos < least.nanos:
        return least
    if reach.get("step") is None:
        return request
    step = Quantity.parse(reach["step"])
    if _in_milli(reach, rules):
        value = _milli(request.nanos)
        if value is None:
            raise CapacityError(f"{request.text} is no whole number of thousandths")
        unit = _MILLI
        base, stride = least.nanos // _MILLI, step.nanos // _MILLI
    else:
        unit = NANO
        if request.nanos > _INT64_MAX * NANO and rules.minor >= _STRICT:
            raise CapacityError(f"{request.text} does not fit 64 bits")
        value, base, stride = _whole(request.nanos), _whole(least.nanos), _whole(step.nanos)
    added = _wrapped(value - base)
    steps = _divided(added, stride)
    if added - steps * stride:
        steps += 1
    guarded = rules.minor >= _STRICT and (unit == _MILLI or base >= 0)
    if guarded and steps > _divided(_wrapped(_INT64_MAX - base), stride):
        raise CapacityError(f"{request.text}, rounded up, does not fit 64 bits")
    style = step.style if rules.minor >= _STRICT else "binary"
    return _made(_wrapped(base + _wrapped(stride * steps)), unit, style)


def _whole(nanos: int) -> int:
    """Units, rounded away from zero, in 64 bits."""
    units = -(-abs(nanos) // NANO)
    return _wrapped(units if nanos >= 0 else -units)


def _milli(nanos: int) -> int | None:
    value, rest = divmod(nanos, _MILLI)
    return None if rest or not -_INT64_MAX <= value <= _INT64_MAX else value


def _in_milli(reach: Mapping[str, Any], rules: Rules) -> bool:
    if not rules.fractional:
        return False
    for name in ("min", "max", "step"):
        value = reach.get(name)
        if value is None:
            continue
        milli = _milli(Quantity.parse(value).nanos)
        if milli is None or (name == "step" and milli < 1):
            return False
    return True


def _is_default(amount: _Amount, default: Any) -> bool:
    if default is None or amount.spelling is None:
        return False
    return amount.spelling == _amount(default).spelling


def _violates(amount: _Amount, policy: Policy | None, rules: Rules) -> bool:
    if policy is None:
        return False
    default = policy.get("default")
    if _is_default(amount, default):
        return False
    reach = policy.get("validRange")
    if reach is not None:
        return _outside(amount, reach, rules)
    values = policy.get("validValues") or ()
    return bool(values) and all(amount.nanos != _amount(value).nanos for value in values)


def _outside(amount: _Amount, reach: Mapping[str, Any], rules: Rules) -> bool:
    most = reach.get("max")
    if most is not None and amount.nanos > Quantity.parse(most).nanos:
        return True
    if reach.get("step") is None:
        return False
    if reach.get("min") is None:
        raise CapacityError("steps from no minimum")
    step, least = Quantity.parse(reach["step"]).nanos, Quantity.parse(reach["min"]).nanos
    if _in_milli(reach, rules):
        value = _milli(amount.nanos)
        if value is None:
            return True
        base, stride = least // _MILLI, step // _MILLI
    else:
        value, base, stride = _whole(amount.nanos), _whole(least), _whole(step)
    if stride == 0:
        raise CapacityError("a step of zero")
    return bool(_wrapped(value - base) % stride)
