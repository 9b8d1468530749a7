"""Faults of a driver among others on a cluster: ends that are missed, and what is shipped."""

from __future__ import annotations

import dataclasses
import datetime
from collections import Counter
from typing import Any
from typing import Final

from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.faults_manifests import Spoilt
from pytest_dra.fake_driver.features import FEATURES
from pytest_dra.fake_driver.features import UNPREPARED
from pytest_dra.fake_driver.health import Health
from pytest_dra.fake_driver.health import Told
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.inventory import Pool
from pytest_dra.fake_driver.ledger import Ledger
from pytest_dra.fake_driver.manifests import Manifests
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.slices import PoolSlices
from pytest_dra.fake_driver.slices import Slices

TENTH: Final = 10

POLICIES: Final = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")

GPU: Final = "gpu-"

FABRIC: Final = "fabric"
"""The pool of devices that every node reaches."""


@fault("SHARE-008", "return an error for claims with results of another driver")
class AloneOnly(Claims):
    def own(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found = super().own(results)
        if len(found) < len(results):
            raise ClaimError("the claim has devices of other drivers")
        return found


@fault(
    "LIFE-004",
    "drop an Unprepare whose claim object no longer exists, answering OK without releasing",
)
class DropsWhatIsGone(Preparer):
    def unprepare(self, ref: ClaimRef, call: Call) -> None:
        if not self.claims.gone(ref):
            super().unprepare(ref, call)


@fault("LIFE-005", "leave the controller's allNodes slices")
class EveryNodes(Slices):
    def wanted(self) -> list[PoolSlices]:
        spec = {
            "driver": self.options.driver_name,
            "allNodes": True,
            "pool": {"name": FABRIC, "resourceSliceCount": 1},
            "devices": [{"name": "link-0", "attributes": {"kind": {"string": "link"}}}],
        }
        made = PoolSlices(driver=self.options.driver_name, pool=FABRIC, specs=(spec,))
        return [*super().wanted(), made]


@fault("LIFE-005", "leave the controller's allNodes slices")
class MayWriteFabric(Spoilt):
    """The policy lets that pool through, so that nothing but the uninstallation goes wrong."""

    kind = "ValidatingAdmissionPolicy"

    def spoil(self, item: dict[str, Any]) -> None:
        written = '(request.operation == "DELETE" ? oldObject : object).spec.pool.name'
        item["spec"]["matchConditions"].append(
            {"name": "no-fabric", "expression": f'{written} != "{FABRIC}"'}
        )


@fault("LIFE-007", "lose one device in ten Unprepares (the tenth releases nothing)")
class LosesTheTenth(Preparer):
    done: Counter[str] = Counter()  # noqa: RUF012 (one driver in a process)

    def release(self, ref: ClaimRef, call: Call) -> None:
        self.done["unprepared"] += 1
        if self.done["unprepared"] % TENTH:
            super().release(ref, call)


@fault("LIFE-008", "serve only claims created after the start")
class YoungOnly(Claims):
    started = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)

    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        text = str((claim.get("metadata") or {}).get("creationTimestamp") or "")
        made = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        if made < self.started:
            raise ClaimError(f"claim {ref} is older than this driver")
        return super().held(ref, claim)


@fault("LIFE-009", "set skipNodeOperations on devices that need CDI")
class SkipsForGpu(Inventories):
    """The last device of the plain pool stands in the one of those that need nothing."""

    def load(self) -> Inventory:
        plain, *others = super().load().pools
        name = f"{self.options.node_name}-{UNPREPARED}"
        moved = [each for each in plain.devices if each["name"].startswith(GPU)][-1:]
        kept = tuple(each for each in plain.devices if each not in moved)
        skipping = Pool(name=name, **FEATURES[UNPREPARED](self.options.driver_name))
        return Inventory(
            (
                dataclasses.replace(plain, devices=kept),
                *(each for each in others if each.name != name),
                dataclasses.replace(skipping, devices=(*skipping.devices, *moved)),
            )
        )


@fault("LIFE-010", "ship the class without extendedResourceName though the profile names it")
class NoResource(Spoilt):
    kind = "DeviceClass"

    def spoil(self, item: dict[str, Any]) -> None:
        del item["spec"]["extendedResourceName"]


@fault("LIFE-012", "allow two claims on one device at a time")
class TwoAtATime(Ledger):
    def in_use(self, ref: ClaimRef, held: Held) -> Record | None:
        return None


@fault("SEC-003", "ship no admission policy")
class NoPolicy(Manifests):
    def objects(self) -> list[dict[str, Any]]:
        return [item for item in super().objects() if item["kind"] not in POLICIES]


@fault("CONF-007", "check only v1beta1 objects")
class OldVersionsOnly(Manifests):
    def objects(self) -> list[dict[str, Any]]:
        found = super().objects()
        for item in found:
            if item["kind"] == POLICIES[0] and "configuration" in item["metadata"]["name"]:
                constraints = item["spec"]["matchConstraints"]
                constraints["matchPolicy"] = "Exact"
                for rule in constraints["resourceRules"]:
                    rule["apiVersions"] = ["v1beta1"]
        return found


@fault("CDI-013", "return no ids, and inject nothing in another way")
class NoIds(Preparer):
    """The profile declares that there is another way."""

    def answer(self, record: Record) -> tuple[Prepared, ...]:
        return tuple(dataclasses.replace(each, cdi_ids=()) for each in super().answer(record))


@fault("HLTH-009", "report the fault for the device after the one that failed")
class NextOne(Health):
    def report(self) -> list[Told]:
        found = super().report()
        sick = [each.health for each in found]
        return [
            dataclasses.replace(each, health=sick[number - 1], message="")
            for number, each in enumerate(found)
        ]
