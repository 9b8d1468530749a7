"""A real kind cluster in the hands of pytest-kind and pytest-kubernetes: users' tests run on it.

    python -m tests.clusters.handed --name NAME --kubeconfig FILE -- OPTION...

Installs both packages into a folder of their own, since each is a plugin of every pytest that sees
it, and runs the example of WORKLOADS.md with each; the options are those of pytest that say which
images there are. The cluster is left as it was. Exits 1 if a test fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.documents.blocks import blocks
from tests.drivers.expecting import say

LIMIT_S: Final = 600.0
"""Longest run, or download, on a busy machine."""

DOCUMENT: Final = "WORKLOADS.md"
EXAMPLE: Final = "test_my_driver.py"

PYTEST_KIND: Final = """\
import pytest

@pytest.fixture(scope="session")
def dra_existing_cluster(kind_cluster):
    return kind_cluster
"""

# It would call the cluster pytest-NAME, and asks whether one is there by its kubeconfig.
PYTEST_KUBERNETES: Final = """\
import os
import pytest
from pathlib import Path

@pytest.fixture(scope="session")
def dra_existing_cluster(k8s_manager):
    cluster = k8s_manager("kind")("dra", None, Path(os.environ["HANDED_KUBECONFIG"]))
    cluster._cluster_options.cluster_name = os.environ["HANDED_NAME"]
    cluster.create()
    return cluster
"""


def judged(package: str, conftest: str, options: list[str], env: dict[str, str]) -> int:
    """Run the example with one of the packages; pytest's exit code."""
    with tempfile.TemporaryDirectory(prefix="dra-handed-") as name:
        folder, site = Path(name), Path(name, "site")
        pip = (sys.executable, "-m", "pip", "install", "--quiet", f"--target={site}", package)
        subprocess.run(pip, timeout=LIMIT_S, check=True)
        (folder / "conftest.py").write_text(conftest, "utf-8")
        text = next(b.text for b in blocks(DOCUMENT) if b.directives.get("file") == EXAMPLE)
        (folder / EXAMPLE).write_text(text, "utf-8")
        argv = ("-m", "pytest", "-p", "no:cacheprovider", "--dra-driver=fake", *options, EXAMPLE)
        path = os.pathsep.join([str(Path.cwd()), str(site)])
        done = subprocess.run(
            [sys.executable, *argv],
            cwd=folder,
            env={**os.environ, **env, "PYTHONPATH": path},
            timeout=LIMIT_S,
            check=False,
        )
    say(f"{package}: pytest exits with {done.returncode}")
    return done.returncode


def main(arguments: list[str]) -> int:
    """Run it with both."""
    parser = argparse.ArgumentParser(prog="tests.clusters.handed")
    parser.add_argument("--name", required=True, help="name of the kind cluster")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("options", nargs="*")
    given = parser.parse_args(arguments)
    file = given.kubeconfig.absolute()
    kind = [
        *(f"--cluster-name={given.name}", f"--kubeconfig={file}", "--keep-cluster"),
        f"--kind-bin={shutil.which('kind')}",
    ]
    env = {"HANDED_NAME": given.name, "HANDED_KUBECONFIG": str(file)}
    codes = [
        judged("pytest-kind", PYTEST_KIND, [*kind, *given.options], env),
        judged("pytest-kubernetes", PYTEST_KUBERNETES, given.options, env),
    ]
    return 1 if any(codes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
