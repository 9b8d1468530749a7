"""What ``--dra-feature-gates`` refuses is what a real kube-apiserver refuses, and nothing else."""

from __future__ import annotations

import subprocess

import pytest

from pytest_dra.api.releases import VERSIONS
from pytest_dra.api.versions import NEEDS
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.clusters.binaries import EMULATED_BEFORE
from pytest_dra.clusters.binaries import VERSION_S
from pytest_dra.clusters.binaries import Binaries
from pytest_dra.featuregates import feature_gates
from pytest_dra.options import OptionError
from pytest_dra.options import resolve

GATES = sorted({gate for name in VERSIONS for gate in kubernetes_version(name).gates})


def refused_by_us(name: str, text: str) -> bool:
    given = {"dra_feature_gates": text, "dra_kubernetes": name}
    try:
        feature_gates(resolve(flag=given.get, ini=lambda _: None, environ={}))
    except OptionError:
        return True
    return False


def refused_by_the_server(binaries: Binaries, name: str, text: str) -> bool:
    """It ends for the lack of other options in any case; what it says of gates comes first."""
    gate, _, on = text.partition("=")
    others = NEEDS.get(gate, ()) if on == "true" else ()
    needed = [f"{each}=true" for each in others if each not in kubernetes_version(name).gates]
    argv = [str(binaries.kube_apiserver), f"--feature-gates={','.join([text, *needed])}"]
    if name != f"1.{binaries.minor}":
        argv.append(f"--emulated-version={name}")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=VERSION_S, check=False)
    assert done.returncode != 0
    warning = ("W", "I")
    lines = [each for each in done.stderr.splitlines() if not each.startswith(warning)]
    return any("eature" in each and gate in each for each in lines)


@pytest.mark.parametrize("name", VERSIONS)
def test_the_same_gates_are_refused(binaries: Binaries, name: str) -> None:
    if not 0 <= binaries.minor - kubernetes_version(name).minor <= EMULATED_BEFORE:
        pytest.skip(f"{binaries.version} does not emulate {name}")
    asked = [f"{gate}={value}" for gate in GATES for value in ("true", "false")]
    ours = {text for text in asked if refused_by_us(name, text)}
    real = {text for text in asked if refused_by_the_server(binaries, name, text)}
    assert ours == real
    assert 3 < len(ours) < len(asked)
