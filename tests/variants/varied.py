"""Judging the fake driver in its legal variants."""

from __future__ import annotations

import concurrent.futures
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pytest_dra.report.writing import REPORT
from tests.faults.faulty import FEATURES as FEATURES_OF_FAULTS
from tests.faults.faulty import SHORT
from tests.sweep.pool import USUAL
from tests.sweep.pool import Ended
from tests.sweep.pool import Job
from tests.sweep.pool import read_report
from tests.sweep.pool import report_of
from tests.sweep.profiles import BUNDLED
from tests.sweep.profiles import profile_with

LIMIT_S = 900.0
"""Longest run: V26-60 alone waits for some minutes, and the machine may be busy."""

RESULTS = "results"

PARALLEL = 2
"""Processes that judge at a time: a run mostly waits."""

ROW_LIMIT_S = 60.0
"""Longest run of a few cases on one variant, on a busy machine."""

EVERYTHING = FEATURES_OF_FAULTS.words
"""The driver with all features whose gates are on."""

_TELLING = ("V29", "V29-FALSE", "V29-NETWORK")

SETTINGS: Mapping[str, str] = {
    "features": EVERYTHING,
    "pages": "--devices=300",
    **{name: f"--variant={name} {EVERYTHING}" for name in _TELLING},
}
"""Further names for the driver with other arguments than a variant: legal in any case."""

HEALTH = ("V03", "V32-ALPHA", "V32-ENDS", "V32-LATE", "V32-LEASE", "V32-ORDER")

METADATA = ("V20", "V20-ONE")

WORDS: Mapping[str, str] = {
    **dict.fromkeys(HEALTH, "--features=health"),
    **dict.fromkeys(METADATA, "--features=metadata"),
}
"""Further arguments of the driver that a variant needs."""

NETWORK = {"NetworkAttached": {"supported": True}}


def _previous(variant: str) -> Mapping[str, Any]:
    """The release before has the same pools and answers."""
    return {"previous": {"command": ["fake", "--state-version=1", f"--variant={variant}"]}}


DECLARED = (
    "DeviceTaints",
    "PartitionableDevices",
    "ConsumableCapacity",
    "BindingConditions",
    "DeviceStatus",
    "DynamicPartition",
    "DeviceHealth",
    "HealthMessage",
    "DeviceMetadata",
)

FEATURES = {name: {"supported": True} for name in DECLARED}

REPORTING = {name: FEATURES[name] for name in ("DeviceHealth", "HealthMessage")}

HOOKS = {
    "fault": ["touch", "{driver_dir}/faulty-{device}"],
    "inventory": ["ls", "{driver_dir}/partitions"],
    "heal": ["rm", "-f", "{driver_dir}/faulty-{device}"],
}

UPDATING = {"metadata_update": ["touch", "{driver_dir}/update-{claim_uid}"]}

NO_ADMIN = {"AdminAccess": {"supported": False}}
"""Devices that are the same for every claim give an administrator no more than others."""

EVERY_FEATURE = {"features": FEATURES, "hooks": {**HOOKS, **UPDATING}}

BLOCKS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("features", *_TELLING), EVERY_FEATURE),
    **{name: {"features": REPORTING} for name in HEALTH},
    **{
        name: {"features": {"DeviceMetadata": {"supported": True}}, "hooks": UPDATING}
        for name in METADATA
    },
    "V04-NRI": {"injection": {"kind": "nri"}},
    "V05": {"launch": _previous("V05")},
    "V07-V1": {"driver": {"kubelets": {"min": "1.34"}}},
    "V07-V1BETA1": {"driver": {"kubelets": {"max": "1.33"}}},
    "V10-NAME": {"launch": _previous("V10-NAME")},
    "V10-NONE": {"launch": {"hardware": "none"}},
    "V10-SEVERAL": {"launch": _previous("V10-SEVERAL")},
    "V13": {"launch": {"state": ["claims/*.json", "tombstones.json"]}},
    "V12": {"launch": _previous("V12")},
    "V12-NAMES": {"launch": _previous("V12-NAMES")},
    "V14": {"features": NETWORK, "launch": _previous("V14")},
    "V17": {"features": NETWORK, "launch": _previous("V17")},
    "V18": {"injection": {"kind": "nri"}},
    "V23-ALL": {"driver": {"takes_all_devices": True}},
    "V23-ONE": {"driver": {"one_claim_per_pod": True}},
    "V21": {"features": NO_ADMIN},
    "V21-FIRST": {"features": NO_ADMIN},
    "V22": {"budgets": {"repair": 150}},
    "V28": {"budgets": {"latency_p99": 10}},
    "V26": {"budgets": {"repair": 150}},
    "V26-60": {"budgets": {"repair": 150}},
    "V11": {"features": {"MultiPodClaim": {"supported": False}}},
}
"""What a variant must declare otherwise in the profile, by block; None: not at all."""

LEADING = frozenset({"V14", "V17"})
"""Variants with a controller, one of several processes: they need a right to leases."""

LEASES = {
    "apiGroups": ["coordination.k8s.io"],
    "resources": ["leases"],
    "verbs": ["get", "create", "update"],
}

EXCUSED: Mapping[str, frozenset[str]] = {"V10-NONE": frozenset({"unsupported-environment"})}
"""Further states of cases that are right for a variant: without a device little can be judged."""


def job(variant: str, directory: Path, *, name: str = "") -> Job:
    """A run of the whole suite on a variant, in a directory that is made here.

    ``name``: of the job, where it is not the variant's.
    """
    directory.mkdir(parents=True)
    return Job(name or variant, tuple(_arguments(variant, "", directory)), directory, LIMIT_S)


def states_of(variant: str, ended: Ended) -> Mapping[str, str]:
    """As :func:`judge` does of a run that has ended."""
    return _said_of(variant, report_of(ended, RESULTS))


def judge(variant: str, *, cases: str = "") -> Mapping[str, str]:
    """Run the suite on a variant; the state of each case, with the finding where there is one.

    Args:
        variant: for ``--variant``, or one of :data:`SETTINGS`.
        cases: for ``--dra-case``; empty for all.

    Raises:
        RuntimeError: there is no report; the text is pytest's output.
    """
    with tempfile.TemporaryDirectory(prefix="dra-variant-") as empty:
        command = [sys.executable, "-m", "pytest", *_arguments(variant, cases, Path(empty))]
        done = subprocess.run(
            command, cwd=empty, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        return _states(variant, Path(empty), output=f"{done.stdout}\n{done.stderr}")


def judge_each(rows: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """The same for several variants, cases by variant, in a few processes: that saves starts."""
    shares = [dict(list(rows.items())[first::PARALLEL]) for first in range(PARALLEL)]
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        return {
            variant: states
            for share in pool.map(_judge_share, shares)
            for variant, states in share.items()
        }


def _judge_share(rows: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    with tempfile.TemporaryDirectory(prefix="dra-variants-") as empty:
        runs = {}
        for variant, cases in rows.items():
            (Path(empty) / variant).mkdir()
            runs[variant] = _arguments(variant, cases, Path(empty) / variant)
        done = subprocess.run(
            [sys.executable, "-m", "tests.variants.together"],
            input=json.dumps(list(runs.values())),
            capture_output=True,
            text=True,
            timeout=ROW_LIMIT_S * len(rows),
            check=False,
        )
        output = f"{done.stdout}\n{done.stderr}"
        return {variant: _states(variant, Path(empty) / variant, output=output) for variant in rows}


def _arguments(variant: str, cases: str, directory: Path) -> list[str]:
    """The arguments of pytest for a run in ``directory``, with the variant's profile in it."""
    profile = profile_with(SHORT, BLOCKS.get(variant, {}))
    if variant in LEADING:
        profile["manifests"] = [str(_with_leases(Path(profile["manifests"][0]), directory))]
    file = directory / BUNDLED.name
    file.write_text(yaml.safe_dump(profile), "utf-8")
    words = SETTINGS.get(variant, f"--variant={variant} {WORDS.get(variant, '')}".strip())
    return [
        *USUAL,
        f"--rootdir={directory}",
        f"--dra-driver=fake {words}",
        f"--dra-profile={file}",
        f"--dra-output={directory / RESULTS}",
        *([f"--dra-case={cases}"] if cases else []),
    ]


def _with_leases(manifests: Path, directory: Path) -> Path:
    """The manifests of a driver that leads by leases."""
    objects = list(yaml.safe_load_all(manifests.read_text("utf-8")))
    for item in objects:
        if item["kind"] == "ClusterRole":
            item["rules"].append(LEASES)
    made = directory / manifests.name
    made.write_text(yaml.safe_dump_all(objects), "utf-8")
    return made


def _states(variant: str, directory: Path, *, output: str) -> Mapping[str, str]:
    file = directory / RESULTS / REPORT
    if not file.exists():
        raise RuntimeError(f"no report on {variant}:\n{output}")
    return _said_of(variant, read_report(file))


def _said_of(variant: str, report: Mapping[str, Any]) -> Mapping[str, str]:
    excused = EXCUSED.get(variant, ())
    states = {entry["id"]: _said(entry) for entry in report["cases"]}
    return {id: "not-applicable" if state in excused else state for id, state in states.items()}


def _said(entry: Mapping[str, Any]) -> str:
    said = [f"{word} {entry[word]}" for word in ("where", "got", "want") if word in entry]
    return ": ".join([entry["state"], *said[:1]]) + "".join(f", {each}" for each in said[1:])


def not_green(states: Mapping[str, str], *, selected: bool = False) -> dict[str, str]:
    """The cases that are neither passed nor not-applicable, nor deselected in a selected run."""
    fine = {"passed", "not-applicable", *(["not-run"] if selected else [])}
    return {id: state for id, state in states.items() if state not in fine}
