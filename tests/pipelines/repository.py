"""A vendor's repository, in which the steps of pipelines are run."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Final

from tests.documents.dialogue import HIDDEN
from tests.documents.dialogue import install
from tests.pipelines.steps import Job

LIMIT_S: Final = 600.0
"""Longest step: a whole run takes 40 s on an idle machine."""

PROFILE: Final = """\
apiVersion: pytest-dra.dev/v1alpha1
kind: DriverProfile
driver:
  name: fake.dra.example
  reads_boot_id: false
  deviceClasses: [gpu.fake.dra.example]
launch:
  hardware: fake
  components:
    - name: driver
      command:
        - dra-fake-driver
        - --kubeconfig={kubeconfig}
        - --node-name={node}
        - --registry-dir={registry_dir}
        - --plugins-dir={plugins_dir}
        - --cdi-root={cdi_dir}
        - --instance-uid={pod_uid}
      registers: true
manifests: [manifests.yaml]
features:
  SeamlessUpgrade: { supported: true }
"""

MAKE: Final = """\
#!/bin/sh
echo "make $*"
dra-fake-driver --print-manifests > manifests.yaml
"""
"""What builds the driver of this repository."""

KIND_STUB: Final = """\
#!/bin/sh
echo "kind v0.33.0 go1.26 linux/amd64"
"""

GO: Final = f"""\
#!/bin/sh
printf '%s' '{KIND_STUB}' > "$GOBIN/kind"
chmod +x "$GOBIN/kind"
"""
"""Installs a program that knows its version: nothing is made in a dry run."""

PYTHON3: Final = """\
#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p "$3/bin"
  for each in pytest dra-fake-driver python; do ln -sf "{programs}/$each" "$3/bin/$each"; done
  printf '#!/bin/sh\\necho "pip $*"\\n' > "$3/bin/pip"
  chmod +x "$3/bin/pip"
else
  exec python "$@"
fi
"""
"""Makes an environment that has the programs of this tree, and whose pip installs nothing."""


class Repository:
    """See the module.

    Args:
        folder: an empty one.
        programs: a further one, for programs that stand in for those of a build machine; None runs
            with what is installed.
    """

    def __init__(self, folder: Path, programs: Path | None) -> None:
        self.folder = folder
        self._path = os.environ["PATH"]
        (folder / "dra-profile.yaml").write_text(PROFILE, "utf-8")
        if programs is None:
            return
        install(programs)
        stubs = {"make": MAKE, "kind": KIND_STUB, "go": GO}
        python3 = PYTHON3.replace("{programs}", str(programs))
        python = programs / "python"
        python.rename(programs / "python.real")
        stubs["python3"] = python3.replace("exec python ", f"exec {programs}/python.real ")
        stubs["python"] = stubs["python3"]
        for name, text in stubs.items():
            file = programs / name
            file.write_text(text, "utf-8")
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
        self._path = os.pathsep.join([str(programs), self._path])

    def run(self, job: Job, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a job here, with further variables."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
        return subprocess.run(
            job.command,
            cwd=self.folder,
            env={**kept, **job.variables, **more, "PATH": self._path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
