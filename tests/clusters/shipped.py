"""A Helm chart and a kustomize directory of the fake driver, deployed on a real cluster.

    python -m tests.clusters.shipped [--output DIR] -- OPTION...

Makes both of the manifests that the fake driver prints, and judges its image with each as
``--dra-manifests``; the options are those of pytest that say which cluster and images there are.
The engine has to have the fake driver's image: another run with the same options has built it.
Exits 1 where a case does not pass; what no command here renders is left out, and said.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

import pytest_dra.fake_driver
from pytest_dra.launch.tool import find
from pytest_dra.live import fakeimage
from pytest_dra.live import rendering
from tests.drivers.expecting import run
from tests.drivers.expecting import say

LIMIT_S: Final = 600.0
"""Longest run, on a busy machine."""

PRINT_S: Final = 60.0
"""Longest wait for the manifests: an interpreter's start."""

WORKS: Final = "LIFE-001"
HELD: Final = "SEC-003"
"""Judged in the site: fails where the policy knows the account by another name than it has."""

PRINTED: Final = "dra-fake-driver"
"""Namespace of the manifests as they are printed; the driver's other objects are called so, too."""

SITE: Final = "gpu-drivers"
PREFIX: Final = "site-"

USER: Final = "system:serviceaccount:{}:{}"

KUSTOMIZERS: Final = tuple(name for name, *_ in rendering.KUSTOMIZERS)

BASE: Final = "--dra-base-image="

CHART_YAML: Final = 'apiVersion: v2\nname: fake\nversion: 0.1.0\nkubeVersion: ">=1.34.0-0"\n'
VALUES: Final = "image: registry.example/fake:1\npriority: system-node-critical\n"

TEMPLATED: Final = (
    (USER.format(PRINTED, PRINTED), USER.format("{{ .Release.Namespace }}", PRINTED)),
    (f"image: {PRINTED}", "image: {{ .Values.image | quote }}"),
    ("priorityClassName: system-node-critical", "priorityClassName: {{ .Values.priority }}"),
)
"""What the chart has in the place of what is printed; namespaces it leaves to whoever installs it,
but where it has to name one."""

KUSTOMIZATION: Final = f"""\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [manifests.yaml]
namespace: {SITE}
namePrefix: {PREFIX}
patches:
  - target: {{kind: ValidatingAdmissionPolicy}}
    patch: |
      - op: replace
        path: /spec/matchConditions/0/expression
        value: request.userInfo.username == "{USER.format(SITE, PREFIX + PRINTED)}"
  - target: {{kind: ValidatingAdmissionPolicyBinding}}
    patch: |
      - {{op: replace, path: /spec/policyName, value: {PREFIX}{PRINTED}-own-node}}
"""
"""What kustomize does not know of the objects of a driver stands in the patches."""


def printed() -> str:
    """The fake driver's manifests."""
    program = [sys.executable, "-m", fakeimage.MODULE, "--print-manifests"]
    done = subprocess.run(program, capture_output=True, timeout=PRINT_S, check=True, text=True)
    return done.stdout


def write_chart(folder: Path, manifests: str) -> Path:
    """A Helm chart of manifests; the folder."""
    objects = [each for each in yaml.safe_load_all(manifests) if each["kind"] != "Namespace"]
    for each in objects:
        each["metadata"].pop("namespace", None)
        for subject in each.get("subjects", ()):
            subject["namespace"] = "{{ .Release.Namespace }}"
    text = yaml.safe_dump_all(objects, sort_keys=False)
    for known, other in TEMPLATED:
        if known not in text:
            raise RuntimeError(f"the manifests have no {known!r} any more")
        text = text.replace(known, other)
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(CHART_YAML, "utf-8")
    (folder / "values.yaml").write_text(VALUES, "utf-8")
    (folder / "templates" / "driver.yaml").write_text(text, "utf-8")
    return folder


def write_site(folder: Path, manifests: str) -> Path:
    """A kustomize directory of manifests; the folder."""
    folder.mkdir(parents=True)
    (folder / "kustomization.yaml").write_text(KUSTOMIZATION, "utf-8")
    (folder / "manifests.yaml").write_text(manifests, "utf-8")
    return folder


def write_profile(file: Path, *, prefix: str) -> Path:
    """The bundled profile of a driver whose classes are called otherwise; the file."""
    known = Path(pytest_dra.fake_driver.__file__).with_name("dra-profile.yaml")
    profile = yaml.safe_load(known.read_text("utf-8"))
    about = profile["driver"]
    about["deviceClasses"] = [f"{prefix}{each}" for each in about["deviceClasses"]]
    # --dra-manifests is in its place; and the previous release is no image.
    del profile["manifests"], profile["launch"]
    file.write_text(yaml.safe_dump(profile), "utf-8")
    return file


def main(arguments: Sequence[str]) -> int:
    """Judge with both."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(prog="tests.clusters.shipped")
    parser.add_argument("--output", type=Path, default=None)
    given = parser.parse_args(arguments[:split])
    options = list(arguments[split + 1 :])
    base = next(each.removeprefix(BASE) for each in options if each.startswith(BASE))
    image, wrong = fakeimage.image_name(base), 0
    with tempfile.TemporaryDirectory(prefix="dra-shipped-") as temporary:
        folder, manifests = Path(temporary), printed()
        output = given.output.absolute() if given.output else folder / "reports"
        ways = [
            ("chart", "", (rendering.HELM,), write_chart, (WORKS,)),
            ("site", PREFIX, KUSTOMIZERS, write_site, (WORKS, HELD)),
        ]
        for name, prefix, programs, write, cases in ways:
            if not any(map(find, programs)):
                say(f"{name}: no {' or '.join(programs)} here, left out")
                continue
            profile = write_profile(folder / f"{name}.yaml", prefix=prefix)
            own = [
                *(f"--dra-driver={image}", f"--dra-profile={profile}"),
                *(f"--dra-manifests={write(folder / name, manifests)}", "--dra-require=partial"),
                f"--dra-case={','.join(cases)}",
            ]
            seen = run([*own, *options], output / name, limit_s=LIMIT_S)
            say(f"{name}: {seen.verdict} in {seen.seconds:.0f} s")
            for id in cases:
                if seen.states.get(id) != "passed":
                    wrong += 1
                    say(f"  {id} {seen.states.get(id)}: {seen.texts.get(id)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
