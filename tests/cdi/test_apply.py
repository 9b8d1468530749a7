"""Edits applied to an OCI runtime spec."""

from __future__ import annotations

import copy
import os
from pathlib import Path

import pytest

from pytest_dra import cdi
from pytest_dra.spec import Json
from tests.cdi.conftest import Write
from tests.cdi.conftest import spec

OCI: Json = {
    "ociVersion": "1.2.0",
    "process": {"user": {"uid": 1000, "gid": 0}, "cwd": "/", "env": ["PATH=/bin", "A=0"]},
    "mounts": [{"destination": "/proc", "source": "proc"}],
}


def test_global_edits_come_once_and_before_those_of_the_first_device(write: Write) -> None:
    directory = write(
        spec(
            containerEdits={"env": ["S=1", "LAST=S"]},
            devices=[
                {"name": "d0", "containerEdits": {"env": ["LAST=0"]}},
                {"name": "d1", "containerEdits": {"env": ["LAST=1"]}},
            ],
        )
    )
    registry = cdi.load([directory])

    injection = registry.resolve(["acme.test/gadget=d1", "acme.test/gadget=d0"])

    assert injection.edits == {"env": ["S=1", "LAST=S", "LAST=1", "LAST=0"]}
    env = cdi.apply(OCI, injection)["process"]["env"]
    assert env == ["PATH=/bin", "A=0", "S=1", "LAST=0"]


def test_the_given_spec_stays_as_it_is() -> None:
    before = copy.deepcopy(OCI)
    edits = {
        "env": ["A=1"],
        "mounts": [{"hostPath": "/h", "containerPath": "/a/b", "options": ["rbind"]}],
        "deviceNodes": [{"path": "/dev/null"}],
        "hooks": [{"hookName": "prestart", "path": "/h", "timeout": 0}],
        "netDevices": [{"hostInterfaceName": "e0", "name": "n0"}],
        "additionalGids": [0, 5, 5],
        "intelRdt": {"closID": "x"},
    }

    found = cdi.apply(OCI, cdi.Injection(edits=edits))

    assert before == OCI
    assert found["process"]["env"] == ["PATH=/bin", "A=0", "A=1"]
    assert found["process"]["user"]["additionalGids"] == [5]
    assert found["hooks"] == {"prestart": [{"path": "/h", "timeout": 0}]}
    assert found["linux"]["netDevices"] == {"e0": {"name": "n0"}}
    assert found["linux"]["intelRdt"] == {"closID": "x"}
    assert found["linux"]["devices"][0]["uid"] == 1000
    assert found["linux"]["resources"]["devices"][0]["access"] == "rwm"


def test_the_new_library_replaces_a_variable_in_place() -> None:
    injection = cdi.Injection(edits={"env": ["A=1"]})

    found = cdi.apply(OCI, injection, library="1.1.2")

    assert found["process"]["env"] == ["PATH=/bin", "A=1"]


def test_an_empty_injection_changes_nothing() -> None:
    assert cdi.apply(OCI, cdi.Injection(edits={})) == OCI


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ({"path": "/dev/acme-none"}, "host-node"),
        ({"path": "/dev/null", "type": "b"}, "host-type"),
        ({"path": "/dev/null\x00"}, "host-node"),
        ({"path": "/etc"}, "host-not-a-node"),
    ],
)
def test_a_node_that_the_host_lacks_is_an_error(node: Json, reason: str) -> None:
    with pytest.raises(cdi.CdiError) as caught:
        cdi.apply(OCI, cdi.Injection(edits={"deviceNodes": [node]}))

    assert caught.value.reason == reason


def test_the_old_library_remembers_a_node_and_the_new_one_looks_again(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    injection = cdi.Injection(edits={"deviceNodes": [{"path": "/run/f", "hostPath": str(path)}]})
    old = cdi.HostNodes()
    new = cdi.HostNodes(library="1.1.2")
    first = cdi.apply(OCI, injection, nodes=old)
    cdi.apply(OCI, injection, nodes=new)
    path.unlink()

    assert cdi.apply(OCI, injection, nodes=old) == first
    with pytest.raises(cdi.CdiError):
        cdi.apply(OCI, injection, nodes=new)


def test_mounts_are_sorted_by_depth_after_replacing() -> None:
    mounts = [
        {"hostPath": "/1", "containerPath": "/a/b/c"},
        {"hostPath": "/2", "containerPath": "/z"},
        {"hostPath": "/3", "containerPath": "/proc"},
    ]

    found = cdi.apply(OCI, cdi.Injection(edits={"mounts": mounts}))

    assert [mount["source"] for mount in found["mounts"]] == ["/2", "/3", "/1"]
