"""Faults that only pods on a real node meet: who sees which device, and for how long."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any
from typing import ClassVar
from typing import Final

from pytest_dra.fake_driver import files
from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.cdi_store import CdiStore
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.endpoint import Endpoint
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.faults_manifests import SpoiltRole
from pytest_dra.fake_driver.manifests import Manifests
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.record import edits
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService

POD_S: Final = 5.0
"""Longest look at a pod."""

_NUMBER = re.compile(r"\d+$")


@fault("LIFE-001", "never answer Prepare")
class NeverAnswering(DraService):
    def prepare_one(self, ref: ClaimRef, call: Call) -> Answer:
        threading.Event().wait(call.left_s())
        return super().prepare_one(ref, call)


@fault("SHARE-001", "never free a device")
class NeverFrees(Preparer):
    def unprepare(self, ref: ClaimRef, call: Call) -> None:
        """Answer as if it were done."""


@fault("SHARE-002", "always inject device 0")
class AlwaysTheFirst(CdiStore):
    def device(self, record: Record, held: Held) -> dict[str, Any]:
        made = super().device(record, held)
        first = Held(pool=held.pool, device=_NUMBER.sub("0", held.device), requests=held.requests)
        return {**made, "containerEdits": {**edits(first), "mounts": [self.mount()]}}


class DeviceFiles(CdiStore):
    """Devices that are files with something in them, mounted where device nodes should be."""

    def open(self) -> None:
        super().open()
        self.folder().mkdir(exist_ok=True)

    def folder(self) -> Path:
        """Where the files lie, on the node and here."""
        return self.options.data_dir / "devices"

    def device(self, record: Record, held: Held) -> dict[str, Any]:
        made = super().device(record, held)
        (node,) = made["containerEdits"].pop("deviceNodes")
        file = self.folder() / Path(node["path"]).name
        made["containerEdits"]["mounts"].append(
            {
                "hostPath": str(file),
                "containerPath": node["path"],
                "options": ["ro", "nosuid", "nodev", "bind"],
            }
        )
        made["containerEdits"] |= self.more(file)
        return made

    def write(self, record: Record) -> None:
        for held in record.allocation.held:
            (node,) = edits(held)["deviceNodes"]
            file = self.folder() / Path(node["path"]).name
            files.write(file, f"{held.device}\n".encode(), mode=0o644)
        super().write(record)

    def more(self, file: Path) -> dict[str, Any]:
        """Further edits of a device with this file."""
        return {}


@fault("RST-012", "empty the mounted device files on SIGTERM")
class Emptied(DeviceFiles):
    """The files that are emptied."""


@fault("RST-012", "empty the mounted device files on SIGTERM")
class Empties(Endpoint):
    def close(self, grace_s: float) -> None:
        for file in (self.options.data_dir / "devices").iterdir():
            os.truncate(file, 0)
        super().close(grace_s)


class RemovesFile(DeviceFiles):
    """The file goes while its claim is still prepared."""

    hook: ClassVar[str]

    def more(self, file: Path) -> dict[str, Any]:
        hook = {"hookName": self.hook, "path": "/bin/rm", "args": ["rm", "-f", str(file)]}
        return {"hooks": [hook]}


@fault("SHARE-004", "let a poststart hook of the first container delete the mount's host file")
class GoneAfterStart(RemovesFile):
    hook = "poststart"


@fault("SHARE-006", "remove the injected files in a poststop hook of the first container")
class GoneAfterStop(RemovesFile):
    hook = "poststop"


@fault(
    "SHARE-007",
    "use one env variable name for every device, so that the second overwrites the first",
)
class OneVariable(CdiStore):
    def device(self, record: Record, held: Held) -> dict[str, Any]:
        made = super().device(record, held)
        own = made["containerEdits"]["env"]
        name = own[0].partition("=")[0]
        made["containerEdits"]["env"] = [each.replace(name, "FAKE_DEVICE", 1) for each in own]
        return made


@fault("CDI-011", "put the device's edits into the spec-wide containerEdits of a shared spec")
class SpecWide(CdiStore):
    def spec(self, record: Record) -> dict[str, Any]:
        made = super().spec(record)
        together: dict[str, Any] = {}
        for device in made["devices"]:
            for name, values in device["containerEdits"].items():
                if name != "mounts" or name not in together:
                    together.setdefault(name, []).extend(values)
            device["containerEdits"] = {"env": ["FAKE_DRA=true"]}
        return {**made, "containerEdits": together}


@fault("PREP-017", "look the pod up and refuse claims without a container reference")
class ReadsPods(SpoiltRole):
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}  # noqa: RUF012 (of the base)


@fault("PREP-017", "look the pod up and refuse claims without a container reference")
class WantsReference(Claims):
    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        for consumer in (claim.get("status") or {}).get("reservedFor") or ():
            if not self.is_referenced(ref.namespace, str(consumer.get("name"))):
                raise ClaimError(
                    f"claim {ref}: no container of {consumer.get('name')} refers to it"
                )
        return super().held(ref, claim)

    def is_referenced(self, namespace: str, pod: str) -> bool:
        """True if a container of the pod names a claim, or the pod lists none."""
        if not isinstance(self.source, ApiServer):
            return True
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}"
        spec = self.source.request("GET", path, timeout_s=POD_S).get("spec") or {}
        every = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        return not spec.get("resourceClaims") or any(
            (each.get("resources") or {}).get("claims") for each in every
        )


@fault("PRIO-004", "prepare the first subrequest of the spec instead of the allocated one")
class FirstSubrequest(Claims):
    def held(self, ref: ClaimRef, claim: dict[str, Any]) -> Allocation:
        results = self.own(claim["status"]["allocation"]["devices"]["results"])
        for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
            for each in (request.get("firstAvailable") or ())[:1]:
                name = f"{request['name']}/{each['name']}"
                if not any(result.get("request") == name for result in results):
                    raise ClaimError(f"claim {ref}: nothing is allocated for {name}")
        return super().held(ref, claim)


@fault(
    "SHARE-003",
    "ship a MutatingAdmissionPolicy that mounts the driver's device directory into every new pod",
)
class Everywhere(Manifests):
    """Pods with claims are left out: they have the device anyway, and one more would be counted."""

    def objects(self) -> list[dict[str, Any]]:
        about = {"name": "dra-fake-driver-devices"}
        group = "admissionregistration.k8s.io/v1"
        policy = {
            "apiVersion": group,
            "kind": "MutatingAdmissionPolicy",
            "metadata": about,
            "spec": {
                "failurePolicy": "Ignore",
                "reinvocationPolicy": "Never",
                "matchConstraints": {"resourceRules": [_NEW_PODS]},
                "matchConditions": [
                    {
                        "name": "without-claims",
                        "expression": "!has(object.spec.resourceClaims) && "
                        "object.spec.?serviceAccountName.orValue('') != 'dra-fake-driver'",
                    }
                ],
                "mutations": [
                    {
                        "patchType": "ApplyConfiguration",
                        "applyConfiguration": {"expression": _MOUNTED},
                    }
                ],
            },
        }
        binding = {
            "apiVersion": group,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": about,
            "spec": {"policyName": about["name"]},
        }
        return [*super().objects(), policy, binding]


_NEW_PODS: Final = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["pods"],
}

_MOUNTED: Final = """\
Object{spec: Object.spec{
  volumes: [Object.spec.volumes{name: "fake-dra", hostPath: Object.spec.volumes.hostPath{
    path: "/var/lib/kubelet/plugins/fake.dra.example/devices"}}],
  containers: object.spec.containers.map(c, Object.spec.containers{name: c.name,
    env: [Object.spec.containers.env{name: "FAKE_DEVICE", value: "any/gpu-0"}],
    volumeMounts: [Object.spec.containers.volumeMounts{
      name: "fake-dra", mountPath: "/dev/fake-dra"}]
  })}}
"""


@fault(
    "SHARE-003",
    "ship a MutatingAdmissionPolicy that mounts the driver's device directory into every new pod",
)
class KeepsDirectory(CdiStore):
    def open(self) -> None:
        super().open()
        folder = self.options.data_dir / "devices"
        folder.mkdir(exist_ok=True)
        files.write(folder / "gpu-0-0", b"gpu-0\n", mode=0o644)
