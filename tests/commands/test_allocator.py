"""The command ``dra-allocator``."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_dra.api.resources import DEVICE_CLASSES
from pytest_dra.api.resources import LEASES
from pytest_dra.api.resources import NODES
from pytest_dra.api.resources import PODS
from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.commands.allocator import run
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.clusters.started import started
from tests.objects.sample import claim
from tests.objects.sample import device
from tests.objects.sample import device_class
from tests.objects.sample import node
from tests.objects.sample import resource_slice
from tests.objects.sample import text_of

Captured = pytest.CaptureFixture[str]


def template(name: str, count: int = 1) -> Json:
    made = claim(kind="ResourceClaimTemplate")
    made["metadata"]["name"] = name
    made["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = count
    return made


def pod(name: str, source: str, **spec: Any) -> Json:
    container = {"name": "main", "image": "main", "resources": {"claims": [{"name": "gpu"}]}}
    entries = [{"name": "gpu", "resourceClaimTemplateName": source}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], "resourceClaims": entries, **spec},
    }


CLUSTER = (
    resource_slice(),
    device_class(),
    node("node-a", "u-1"),
    template("one"),
    template("two", 2),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(*objects: Json, name: str = "in.yaml") -> str:
    Path(name).write_bytes(text_of(*objects))
    return name


def test_allocate_shows_a_table_and_fails_if_anything_does_not_fit(
    folder: Path, capsys: Captured
) -> None:
    file = write(*CLUSTER, pod("first", "one"), pod("second", "two"))
    assert run(["allocate", file]) == 1
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["NAMESPACE", "NAME", "VERDICT", "NODE", "DEVICES"]
    assert first.split() == [
        "default", "pod/first", "fits", "node-a", "gpu.example.com/node-a/gpu-0",
    ]  # fmt: skip
    assert second.split()[:3] == ["default", "pod/second", "nofit"]
    assert run(["allocate", write(*CLUSTER, pod("first", "one"))]) == 0


def test_allocate_writes_claims_with_their_status_that_can_be_read_again(
    folder: Path, capsys: Captured
) -> None:
    file = write(*CLUSTER, pod("first", "one"))
    assert run(["allocate", file, "-o", "yaml"]) == 0
    made = yaml.safe_load(capsys.readouterr().out)
    assert made["status"]["allocation"]["devices"]["results"] == [
        {"request": "one", "driver": "gpu.example.com", "pool": "node-a", "device": "gpu-0"}
    ]
    assert made["status"]["reservedFor"] == [{"resource": "pods", "name": "first"}]
    assert run(["allocate", file, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == made
    assert run(["allocate", file, "-o", "name"]) == 0
    assert capsys.readouterr().out == "resourceclaim/first-gpu\n"


def test_directories_and_the_standard_input_are_read(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "all" / "deep").mkdir(parents=True)
    write(*CLUSTER, name="all/deep/cluster.yaml")
    write(pod("first", "one"), name="all/pod.yml")
    Path("all/notes.txt").write_text("no: [objects")
    assert run(["allocate", "all"]) == 0
    whole = {"apiVersion": "v1", "kind": "List", "items": [*CLUSTER, pod("first", "one")]}
    data = io.BytesIO(json.dumps(whole).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    assert run(["allocate", "-"]) == 0
    assert capsys.readouterr().out.count("pod/first") == 2


def test_bad_input_is_told_with_file_and_line(folder: Path, capsys: Captured) -> None:
    bad = claim()
    bad["spec"]["devices"]["requests"][0]["name"] = "No Name"
    file = write(*CLUSTER, bad)
    line = Path(file).read_text().splitlines().index("    - name: No Name") + 1
    assert run(["allocate", file]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"dra-allocator: in.yaml:{line}: ResourceClaim default/mine: spec.dev")
    Path("broken.yaml").write_text("a: [")
    assert run(["allocate", "broken.yaml"]) == 2
    assert "dra-allocator: broken.yaml:1: no YAML" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["allocate"],
        ["allocate", "missing.yaml"],
        ["allocate", "in.yaml", "--kubernetes", "1.12"],
        ["allocate", "in.yaml", "--feature-gates", "None=true"],
        ["allocate", "in.yaml", "--feature-gates", "DRAAdminAccess=maybe"],
        ["allocate", "in.yaml", "--apply"],
        ["explain", "nobody", "in.yaml"],
        ["explain", "pod/nobody", "-o", "json", "in.yaml"],
        ["fit", "template/one", "in.yaml", "--limit", "0"],
        ["minimize", "claim/nobody", "in.yaml"],
    ],
)
def test_what_cannot_be_used_is_exit_code_2(
    folder: Path, capsys: Captured, words: list[str]
) -> None:
    write(*CLUSTER)
    assert run(words) == 2
    assert capsys.readouterr().err.startswith("dra-allocator: ")


def test_explain_lets_the_queue_go_first_unless_it_is_told_not_to(
    folder: Path, capsys: Captured
) -> None:
    file = write(*CLUSTER, pod("first", "one"), pod("second", "two"))
    assert run(["explain", "pod/second", file]) == 1
    told = capsys.readouterr().out
    assert "node-a: 2 devices: 1 in use by default/first, 1 free (wants 2)" in told
    assert "Kubernetes does not preempt" in told
    assert run(["explain", "second", file, "--alone"]) == 0
    assert run(["explain", "default/second", file, "-o", "json"]) == 1
    captured = capsys.readouterr().out
    assert json.loads(captured[captured.index("{") :])["verdict"] == "nofit"


def test_files_may_stand_behind_options(folder: Path, capsys: Captured) -> None:
    first, second = write(*CLUSTER), write(pod("p", "one"), name="pod.yaml")
    assert run(["explain", "pod/p", "-o", "json", first, "--alone", second]) == 0
    assert json.loads(capsys.readouterr().out)["node"] == "node-a"
    with pytest.raises(SystemExit):
        run(["allocate", first, "--nothing"])


def test_explain_shows_what_a_claim_has(folder: Path, capsys: Captured) -> None:
    mine = claim()
    result = {"request": "one", "driver": "gpu.example.com", "pool": "node-a", "device": "gpu-1"}
    mine["status"] = {"allocation": {"devices": {"results": [result]}}}
    assert run(["explain", "claim/mine", write(*CLUSTER, mine)]) == 0
    assert capsys.readouterr().out == (
        "claim default/mine: is allocated: gpu.example.com/node-a/gpu-1\n"
    )


def test_fit_counts_per_node_and_in_all(folder: Path, capsys: Captured) -> None:
    more = resource_slice("node-b-gpu", "node-b", devices=[device(f"g-{n}") for n in range(5)])
    file = write(*CLUSTER, more, node("node-b", "u-2"))
    assert run(["fit", "template/two", file]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows == [["NODE", "FIT"], ["node-a", "1"], ["node-b", "2"], ["in", "all", "3"]]
    assert run(["fit", "template/two", file, "-o", "json", "--node", "node-b"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == {"node-b": 2}
    assert run(["fit", "two", write(*CLUSTER[1:])]) == 1


def test_fit_counts_devices_that_nodes_share_once_in_all(folder: Path, capsys: Captured) -> None:
    shared = resource_slice("network", "node-a", devices=[device(f"n-{n}") for n in range(3)])
    del shared["spec"]["nodeName"], shared["metadata"]["ownerReferences"]
    shared["spec"]["allNodes"] = True
    file = write(shared, *CLUSTER[1:], node("node-b", "u-2"))
    assert run(["fit", "one", file, "-o", "json"]) == 0
    counted = json.loads(capsys.readouterr().out)
    assert (counted["nodes"], counted["total"]) == ({"node-a": 3, "node-b": 3}, 3)


def test_fit_stops_where_devices_can_be_shared_without_end(folder: Path, capsys: Captured) -> None:
    endless = resource_slice(devices=[{"name": "gpu-0", "allowMultipleAllocations": True}])
    file = write(endless, *CLUSTER[1:])
    assert run(["fit", "one", file, "--limit", "50"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["in", "all", "50+"]


def test_check_finds_what_a_server_refuses_and_what_objects_say_of_each_other(
    folder: Path, capsys: Captured
) -> None:
    assert run(["check", write(resource_slice(devices=[device("GPU")]))]) == 1
    assert "[SLICE-008]" in capsys.readouterr().out
    mine = claim()
    result = {"request": "one", "driver": "gpu.example.com", "pool": "node-a", "device": "gone"}
    mine["status"] = {"allocation": {"devices": {"results": [result]}}}
    file = write(*CLUSTER, mine, pod("first", "none"))
    assert run(["check", file]) == 0
    told = capsys.readouterr().out
    assert "warning: ResourceClaim default/mine: has device gpu.example.com/node-a/gone" in told
    assert "warning: Pod default/first: template default/none does not exist" in told
    assert run(["check", file, "--strict"]) == 1


def test_diff_compares_with_what_the_cluster_did(folder: Path, capsys: Captured) -> None:
    mine = claim()
    result = {"request": "one", "driver": "gpu.example.com", "pool": "node-a", "device": "gpu-0"}
    mine["status"] = {"allocation": {"devices": {"results": [result]}}}
    assert run(["diff", write(*CLUSTER, mine)]) == 0
    assert capsys.readouterr().err == "1 the same, 0 differ\n"
    result["device"] = "gpu-1"
    assert run(["diff", write(*CLUSTER, mine)]) == 1
    assert capsys.readouterr().out.splitlines()[1].split() == [
        "default", "claim/mine", "differs", "node-a", "gpu.example.com/node-a/gpu-1",
        "gpu.example.com/node-a/gpu-0",
    ]  # fmt: skip


def test_minimize_keeps_what_the_verdict_and_its_reasons_need(
    folder: Path, capsys: Captured
) -> None:
    others = [resource_slice(f"node-{n}-gpu", f"node-{n}") for n in "bcd"]
    file = write(*CLUSTER, *others, node("node-b", "u-2"), template("many", 9), pod("p", "many"))
    assert run(["minimize", "pod/p", file]) == 1
    small = yaml.safe_load(capsys.readouterr().out)
    kinds = [one["kind"] for one in small["items"]]
    assert sorted(kinds) == ["DeviceClass", "Pod", "ResourceClaimTemplate", "ResourceSlice"]
    Path("small.yaml").write_text(yaml.safe_dump(small))
    assert run(["explain", "pod/p", "small.yaml"]) == 1


def test_older_schedulers_and_gates_are_chosen_by_options(folder: Path, capsys: Captured) -> None:
    tainted = device("gpu-0", taints=[{"key": "example.com/t", "effect": "NoSchedule"}])
    file = write(resource_slice(devices=[tainted]), *CLUSTER[1:], pod("p", "one"))
    assert run(["allocate", file]) == 1
    assert run(["allocate", file, "--feature-gates", "DRADeviceTaints=false"]) == 0
    assert run(["allocate", file, "--kubernetes", "1.35"]) == 0


def test_what_was_not_asked_for_is_not_even_loaded(folder: Path) -> None:
    file = write(*CLUSTER, pod("p", "one"))
    code = (
        "import sys; from pytest_dra.commands.allocator import run\n"
        f"assert run(['allocate', {file!r}]) == 0\n"
        "heavy = {'pytest_dra.explaining', 'kubernetes', 'aiohttp', 'pytest', 'grpc'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with started() as made:
        client = made.admin()
        uid = client.create(NODES, {"metadata": {"name": "node-a"}})["metadata"]["uid"]
        good = resource_slice()
        good["metadata"]["ownerReferences"][0]["uid"] = uid
        client.create(RESOURCE_SLICES, good)
        client.create(DEVICE_CLASSES, device_class())
        client.create(RESOURCE_CLAIMS, claim(), namespace="default")
        client.close()
        yield made


def test_a_cluster_is_read_and_only_written_to_when_that_is_asked_for(
    cluster: EmbeddedCluster, capsys: Captured
) -> None:
    client = cluster.admin()
    place = str(cluster.admin_kubeconfig())
    assert run(["allocate", "--kubeconfig", place]) == 0
    assert "claim/mine" in capsys.readouterr().out
    assert not client.get(RESOURCE_CLAIMS, "mine", namespace="default").get("status")
    assert run(["allocate", "--kubeconfig", place, "--apply"]) == 0
    assert "resourceclaim/default/mine allocated" in capsys.readouterr().err
    made = client.get(RESOURCE_CLAIMS, "mine", namespace="default")
    assert made["status"]["allocation"]["devices"]["results"][0]["device"] == "gpu-0"
    assert run(["diff", "--kubeconfig", place]) == 0
    client.close()


def test_serve_schedules_until_it_is_told_to_end(cluster: EmbeddedCluster) -> None:
    client = cluster.admin()
    client.patch(NODES, "node-a", {"spec": {"taints": None}})
    asking = pod("main", "", schedulerName="dra-allocator")
    asking["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "mine"}]
    client.create(PODS, asking, namespace="default")
    code = "from pytest_dra.commands.allocator import main; main()"
    words = ["serve", "--kubeconfig", str(cluster.admin_kubeconfig())]
    process = subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.PIPE)
    try:
        found = poll(
            lambda: client.get(PODS, "main", namespace="default")["spec"].get("nodeName"),
            Deadline.after(30.0),
        )
        lease = client.get(LEASES, "dra-allocator", namespace="kube-system")
        assert lease["spec"]["holderIdentity"]
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait(timeout=30)
    assert (found, process.returncode) == ("node-a", 0), told
    lease = client.get(LEASES, "dra-allocator", namespace="kube-system")
    assert not lease["spec"].get("holderIdentity")
    client.close()


def test_a_cluster_that_cannot_be_reached_is_bad_input(folder: Path, capsys: Captured) -> None:
    assert run(["allocate", "--kubeconfig", "missing"]) == 2
    assert "dra-allocator: kubeconfig" in capsys.readouterr().err
    assert run(["serve", "--kubeconfig", "missing"]) == 2
