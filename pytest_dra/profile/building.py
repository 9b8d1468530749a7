"""From data of the right form to a :class:`DriverProfile`."""

from __future__ import annotations

import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_dra.profile.model import Budgets
from pytest_dra.profile.model import Component
from pytest_dra.profile.model import DriverBlock
from pytest_dra.profile.model import DriverProfile
from pytest_dra.profile.model import Exemption
from pytest_dra.profile.model import Hardware
from pytest_dra.profile.model import HooksBlock
from pytest_dra.profile.model import Hotplug
from pytest_dra.profile.model import IdentityBlock
from pytest_dra.profile.model import Injection
from pytest_dra.profile.model import InjectionBlock
from pytest_dra.profile.model import Inventory
from pytest_dra.profile.model import LaunchBlock
from pytest_dra.profile.model import Previous
from pytest_dra.profile.model import Probe
from pytest_dra.profile.model import SamplesBlock
from pytest_dra.profile.model import Scope
from pytest_dra.profile.model import VersionRange
from pytest_dra.profile.model import Waiver
from pytest_dra.spec import Json


def built(path: Path, data: Json) -> DriverProfile:
    """The profile of data that the schema and the rules have passed."""
    folder = path.resolve().parent
    return DriverProfile(
        path=path,
        data=data,
        identity=IdentityBlock(**_tuples(data.get("identity", {}))),
        driver=_driver(data.get("driver", {})),
        launch=_launch(data, folder),
        manifests=tuple(folder / each for each in data.get("manifests", [])),
        injection=_injection(data.get("injection", {})),
        samples=SamplesBlock(**_tuples(data.get("samples", {}))),
        hooks=_hooks(data.get("hooks", {})),
        features=MappingProxyType(
            {name: each["supported"] for name, each in data.get("features", {}).items()}
        ),
        waivers=MappingProxyType({each["case"]: _waiver(each) for each in data.get("waivers", [])}),
        budgets=_budgets(data.get("budgets", {})),
    )


def _tuples(block: Json) -> dict[str, Any]:
    """The fields of a block as they are, lists made tuples."""
    return {key: tuple(each) if isinstance(each, list) else each for key, each in block.items()}


def _exemptions(items: list[Json]) -> tuple[Exemption, ...]:
    return tuple(Exemption(**each) for each in items)


def _driver(block: Json) -> DriverBlock:
    fields = _tuples(block)
    fields["device_classes"] = fields.pop("deviceClasses", ())
    fields["scope"] = Scope(block.get("scope", Scope.NODE))
    for name in ("kubelets", "kubernetes"):
        if name in block:
            fields[name] = VersionRange(**block[name])
    for name in ("extra_rights", "privileges"):
        fields[name] = _exemptions(block.get(name, []))
    return DriverBlock(**fields)


def _launch(data: Json, folder: Path) -> LaunchBlock:
    block = data.get("launch", {})
    fields = _tuples(block)
    scope = data.get("driver", {}).get("scope", Scope.NODE)
    components = block.get("components", [])
    alone = len(components) == 1 and scope != Scope.CLUSTER
    fields["components"] = tuple(
        _component(each, registers=bool(each.get("registers", alone))) for each in components
    )
    trees = block.get("trees", {})
    fields["trees"] = _frozen({inside: folder / outside for inside, outside in trees.items()})
    fields["hardware"] = Hardware(block.get("hardware", Hardware.REAL))
    if "inventory" in block:
        given = block["inventory"]
        fields["inventory"] = Inventory(
            arguments=tuple(given.get("arguments", [])), env=_frozen(given.get("env", {}))
        )
    if "previous" in block:
        fields["previous"] = Previous(**_tuples(block["previous"]))
    return LaunchBlock(**fields)


def _component(item: Json, *, registers: bool) -> Component:
    return Component(
        name=item["name"],
        command=tuple(item["command"]),
        env=_frozen(item.get("env", {})),
        registers=registers,
    )


def _frozen(mapping: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(dict(mapping))


def _injection(block: Json) -> InjectionBlock:
    fields = _tuples(block)
    fields["kind"] = Injection(block.get("kind", Injection.CDI))
    if "review" in block:
        fields["review"] = _exemptions(block["review"])
    if "probe" in block:
        probe = block["probe"]
        fields["probe"] = Probe(
            command=tuple(probe["command"]),
            expect=_frozen(probe["expect"]),
            always=_frozen(probe.get("always", {})),
        )
    return InjectionBlock(**fields)


def _hooks(block: Json) -> HooksBlock:
    fields = _tuples(block)
    if "hotplug" in block:
        fields["hotplug"] = Hotplug(**_tuples(block["hotplug"]))
    return HooksBlock(**fields)


def _waiver(item: Json) -> Waiver:
    return Waiver(**{**item, "expires": datetime.date.fromisoformat(item["expires"])})


def _budgets(block: Json) -> Budgets:
    fields: dict[str, Any] = {key: float(each) for key, each in block.items()}
    if "repeat" in block:
        # 10.0 is an integer for JSON schema, and the field is a number of calls
        fields["repeat"] = int(block["repeat"])
    return Budgets(**fields)
