"""A driver that finds the API server only as from within a pod."""

from __future__ import annotations

import sys

import pytest

from pytest_dra.embedded import certificates
from pytest_dra.launch import Jail
from tests.plugin.conftest import Runs

PROFILE = f"""\
apiVersion: pytest-dra.dev/v1alpha1
kind: DriverProfile
driver: {{name: fake.dra.example}}
launch:
  in_cluster: true
  components:
    - name: fake
      command: ["{sys.executable}", -m, pytest_dra.fake_driver]
"""


@pytest.fixture
def profile(runs: Runs) -> str:
    """The option that names the profile."""
    file = runs.folder / "dra-profile.yaml"
    file.write_text(PROFILE, "utf-8")
    return f"--dra-profile={file}"


def test_it_needs_the_jail(runs: Runs, profile: str) -> None:
    done = runs.inside(profile)
    assert done.ret is pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*launch.in_cluster: *--dra-jail gives*"])


def test_without_openssl_it_is_refused(
    runs: Runs, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "available", lambda: False)
    monkeypatch.setattr(Jail, "check", lambda extra: "")
    done = runs.inside(profile, "--dra-jail")
    assert done.ret is pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*launch.in_cluster: *openssl*install it*"])


@pytest.mark.skipif(not certificates.available(), reason="certificates are made by openssl")
def test_a_driver_without_kubeconfig_is_judged(runs: Runs, profile: str) -> None:
    if problem := Jail.check():
        pytest.skip(problem)
    done = runs.really(profile, "--dra-jail", "--dra-case=SLICE-001,PREP-006")
    done.stdout.fnmatch_lines(["*2 passed*"])
    assert runs.states()["PREP-006"] == "passed"
