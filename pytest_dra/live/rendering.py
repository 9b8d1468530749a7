"""Manifests that have to be rendered: Helm charts and kustomize directories, by their commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from pytest_dra.clusters.remedies import Signs
from pytest_dra.clusters.remedies import remedy_for
from pytest_dra.clusters.remedies import told
from pytest_dra.launch.tool import ToolError
from pytest_dra.launch.tool import call
from pytest_dra.launch.tool import find
from pytest_dra.live.shipment import CHART
from pytest_dra.live.shipment import CLUSTER_WIDE
from pytest_dra.live.shipment import KUSTOMIZATIONS
from pytest_dra.live.shipment import ShipmentError
from pytest_dra.objects.reading import ReadingError
from pytest_dra.objects.reading import parse
from pytest_dra.spec import Json

HELM: Final = "helm"
PACKAGED: Final = ".tgz"
"""Ending of a chart in one file."""

RELEASE: Final = "pytest-dra"
NAMESPACE: Final = "pytest-dra-driver"
"""Where a chart is installed: many refuse the namespace ``default``."""

KUSTOMIZERS: Final = (("kustomize", "build"), ("kubectl", "kustomize"))
"""Commands that render such a directory, the better one first."""

RENDER_S: Final = 60.0
"""Longest rendering: charts take some tenths of a second, remote bases of a kustomization more."""

ADVICE: Final = "Use --debug flag to render out invalid YAML"
"""What helm says last, for a command that nobody has typed."""

SIGNS: Final[Signs] = (
    (
        r"execution error at|nil pointer evaluating|don't meet the specifications of the schema",
        "where the chart wants values of its user, write them to a file: --dra-helm-values=FILE",
    ),
    (r"requires kubeVersion", "--dra-kubernetes=VERSION names the version that is judged"),
)
"""What helm says of charts, and what to do then."""


def is_chart(path: Path) -> bool:
    """True for a Helm chart, as a folder or packaged."""
    return (path / CHART).is_file() or (path.suffix == PACKAGED and path.is_file())


def is_rendered(path: Path) -> bool:
    """True for what has to be rendered."""
    return is_chart(path) or _is_kustomization(path)


def rendered(path: Path, *, kubernetes: str, values: Path | None) -> str:
    """The YAML of a chart or kustomize directory.

    Args:
        path: for which :func:`is_rendered` is true.
        kubernetes: minor version that a chart is told.
        values: file of a chart's values, beside its own.

    Raises:
        ShipmentError: the command is not there, or fails; with its words.
    """
    if is_chart(path):
        return _templated(path, kubernetes=kubernetes, values=values)
    if values is not None:
        raise ShipmentError(f"--dra-helm-values: {path} is no Helm chart; leave it out")
    return _built(path)


def _is_kustomization(path: Path) -> bool:
    return any((path / name).is_file() for name in KUSTOMIZATIONS)


def _templated(chart: Path, *, kubernetes: str, values: Path | None) -> str:
    program = find(HELM)
    if program is None:
        raise ShipmentError(
            f"{chart} is a Helm chart, and there is no {HELM!r} on PATH: install it, or render the "
            f"chart elsewhere ({HELM} template NAME {chart} > FILE) and give the FILE"
        )
    more = [f"--values={values.absolute()}"] if values is not None else []
    text = _run(
        chart,
        [
            *(program, "template", RELEASE, str(chart.absolute())),
            *(f"--namespace={NAMESPACE}", f"--kube-version={kubernetes}.0"),
            *("--include-crds", "--no-hooks", "--skip-tests"),
            *more,
        ],
    )
    try:
        objects = [given.body for given in parse(text.encode(), f"{HELM} template {chart}")]
    except ReadingError as error:
        raise ShipmentError(str(error)) from error
    return yaml.safe_dump_all(_installed(objects), sort_keys=False)


def _installed(objects: Sequence[Json]) -> list[Json]:
    """What ``helm install`` would make: the namespace, and in it what names none."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    there = any(
        each.get("kind") == "Namespace" and (each.get("metadata") or {}).get("name") == NAMESPACE
        for each in objects
    )
    return [*([] if there else [namespace]), *map(_placed, objects)]


def _placed(item: Json) -> Json:
    metadata = item.get("metadata")
    group = str(item.get("apiVersion")).rpartition("/")[0]
    own = "." not in group or group.endswith(".k8s.io")
    if not isinstance(metadata, dict) or metadata.get("namespace") or not own:
        # Whether others' kinds live in namespaces is not known here.
        return item
    if item.get("kind") in CLUSTER_WIDE:
        return item
    return {**item, "metadata": {**metadata, "namespace": NAMESPACE}}


def _built(folder: Path) -> str:
    for name, *words in KUSTOMIZERS:
        program = find(name)
        if program is not None:
            return _run(folder, [program, *words, str(folder.absolute())])
    raise ShipmentError(
        f"{folder} is a kustomize directory, and neither 'kustomize' nor 'kubectl' is on PATH: "
        "install one of them, or render it elsewhere (kustomize build DIR > FILE) and give the FILE"
    )


def _run(path: Path, argv: Sequence[str]) -> str:
    try:
        return call(argv, timeout_s=RENDER_S)
    except ToolError as error:
        said = str(error).removesuffix(ADVICE).strip()
        problem = f"{path} cannot be rendered: {said}"
        raise ShipmentError(told(problem, remedy_for(said, SIGNS))) from error
