"""``dra-report shard``: judges one node of a job from within a pod, and leaves its report behind.

The pod succeeds once a report is delivered, whatever it says: a driver that fails is no reason to
judge it again, and ``dra-report merge`` tells of it.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from pytest_dra.api import names
from pytest_dra.commands import reportoutput as output
from pytest_dra.commands.jobobjects import PROFILE
from pytest_dra.commands.jobobjects import RESULTS
from pytest_dra.commands.jobobjects import RUN
from pytest_dra.commands.jobobjects import TIMEOUT_S
from pytest_dra.report.plain import shown
from pytest_dra.report.reading import BadReport
from pytest_dra.report.shards import NODES
from pytest_dra.report.shards import config_map
from pytest_dra.report.writing import JUNIT
from pytest_dra.report.writing import REPORT

INDEX: Final = "JOB_COMPLETION_INDEX"
"""Variable of the pods of an Indexed Job."""

PLACE_OF_NODE: Final = re.compile("[0-9]{1,9}")
INDEX_SHOWN: Final = 20
UID_SHOWN: Final = 40
"""Characters of what is none."""

NODE: Final = "NODE_NAME"
"""Variable of a pod that judges the node it runs on."""

CONFIG: Final = "SONOBUOY_CONFIG_DIR"
TAKEN: Final = "SONOBUOY_RESULTS_DIR"
DONE: Final = "done"
PACKED: Final = "results.tar.gz"
"""Variables and files by which Sonobuoy's worker, beside us in the pod, takes results."""

PLACE: Final = "dra-results"

ENDS_S: Final = 240.0
"""From an interruption to the end of a run: its pods and claims are removed, claims unprepared."""

DELIVERED_S: Final = 120.0
"""Longest wait for an API server that takes the report."""

EVERY_S: Final = 3.0

INTERRUPTED: Final = 2
"""Status of pytest that was interrupted."""

STAYS_S: Final = 86_400
"""A container of a DaemonSet that ends is started again, so it waits to be deleted: a day."""


EMPTY: Final = '<testsuites><testsuite name="pytest-dra" tests="0"/></testsuites>'
"""What Sonobuoy gets of a node on which nothing is judged."""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument("--job", metavar="DIR", type=Path, help="where the job's ConfigMap is")
    parser.add_argument(
        "--keep", metavar="NAME", help="keep the report in ConfigMap NAME-UID-INDEX"
    )
    parser.add_argument(
        "--sonobuoy", action="store_true", help="hand the results to Sonobuoy, and wait for the end"
    )
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=float(TIMEOUT_S))
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, default=Path(PLACE))
    parser.add_argument("options", metavar="-- OPTION", nargs="*", help="options of pytest")


def run(arguments: argparse.Namespace) -> int:
    """Judge, and deliver."""
    folder = arguments.job or Path(os.environ.get(CONFIG) or ".")
    node, job = _node(folder), _job()
    if not node:
        sys.stderr.write(f"{output.NAME}: this node is none of those that are judged\n")
        return _to_sonobuoy(None) if arguments.sonobuoy else output.GOOD
    report = arguments.output / REPORT
    report.unlink(missing_ok=True)
    status = _judged(_argv(node, folder, arguments), within_s=arguments.timeout)
    if not report.is_file():
        sys.stderr.write(f"{output.NAME}: node {node}: no report; pytest ended with {status}\n")
        if not arguments.sonobuoy:
            return status or output.BAD
    if arguments.keep:
        _keep(arguments.keep, report, run=job, replaces=status != INTERRUPTED)
    return _to_sonobuoy(arguments.output) if arguments.sonobuoy else output.GOOD


def _node(folder: Path) -> str:
    """The node that this shard judges; "" where it is none of the job's.

    Raises:
        BadReport: nothing says which.
    """
    nodes, index, here = (
        _listed(folder / NODES),
        os.environ.get(INDEX, ""),
        os.environ.get(NODE, ""),
    )
    if nodes is not None:
        if here and not index:
            return here if here in nodes else ""
        if not PLACE_OF_NODE.fullmatch(index) or int(index) >= len(nodes):
            raise BadReport(
                f"{INDEX}={index[:INDEX_SHOWN]}: of {len(nodes)} nodes in {folder / NODES}"
            )
        return nodes[int(index)]
    if not here:
        raise BadReport(f"which node? There is no {folder / NODES}, and no {NODE}")
    return here


def _job() -> str:
    """The uid of the Job that the pod is of; "" where there is none.

    Raises:
        BadReport: what stands there is no uid.
    """
    uid = os.environ.get(RUN, "")
    if wrong := names.uid_error(uid) if uid else "":
        raise BadReport(f"{RUN}={shown(uid[:UID_SHOWN])}: {wrong}")
    return uid


def _listed(file: Path) -> list[str] | None:
    """The nodes of a list; None where there is none."""
    try:
        return file.read_text("utf-8").split()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BadReport(f"{file}: no list of nodes: {error}") from error


def _argv(node: str, folder: Path, arguments: argparse.Namespace) -> list[str]:
    """The run. What the job's author has given comes last, and wins."""
    profile = folder / PROFILE
    return [
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--dra-suite=only"),
        *("--dra-cluster=kubeconfig", "--dra-driver=installed", f"--dra-node={node}"),
        # What the whole is worth, `dra-report merge` decides.
        "--dra-require=partial",
        f"--dra-output={arguments.output}",
        *([f"--dra-profile={profile}"] if profile.is_file() else []),
        *arguments.options,
    ]


def _judged(argv: Sequence[str], *, within_s: float) -> int:
    """Run pytest; its status. It is interrupted when its time is over, or this process is ended."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)

    def interrupt(*_: object) -> None:
        process.send_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(within_s)
        interrupt()
        with suppress(subprocess.TimeoutExpired):
            return process.wait(ENDS_S)
        process.kill()
        return process.wait(ENDS_S)
    finally:
        signal.signal(signal.SIGTERM, before)


def _keep(job: str, report: Path, *, run: str, replaces: bool) -> None:
    """Leave the report in a ConfigMap of this namespace; an earlier try's of the run is replaced.

    One of another run is not: its last pods may still be there when the next run has begun.

    Args:
        job: its name.
        report: the file.
        run: the Job's uid, "" for none.
        replaces: False for the report of a pod that was told to end: the Job's controller puts
            another one into its place at once, which may have left its report meanwhile.

    Raises:
        BadReport: the API server does not take it.
    """
    from pytest_dra.api.resources import CONFIG_MAPS
    from pytest_dra.clusters.kubeconfig import KubeconfigCluster
    from pytest_dra.clusters.protocol import ClusterError
    from pytest_dra.kube import CONFLICT
    from pytest_dra.kube import KubeError
    from pytest_dra.waiting import Deadline
    from pytest_dra.waiting import poll

    name = "-".join(filter(None, (job, run, os.environ.get(INDEX) or "0")))
    body = config_map(name, job=job, report=report.read_bytes(), run=run)
    cluster = KubeconfigCluster("", keeper=None)
    said = ""

    def kept() -> bool:
        nonlocal said
        try:
            cluster.start()
            place = cluster.facts.namespace
            try:
                cluster.admin().create(CONFIG_MAPS, body, namespace=place)
            except KubeError as error:
                if error.code != CONFLICT:
                    raise
                if not replaces:
                    sys.stderr.write(f"{output.NAME}: {place}/{name} has a report, which stays\n")
                    return True
                cluster.admin().replace(CONFIG_MAPS, body, namespace=place)
            sys.stderr.write(f"{output.NAME}: the report is in ConfigMap {place}/{name}\n")
            return True
        except (ClusterError, KubeError) as error:
            said = str(error)
            return False
        finally:
            cluster.stop()

    if not poll(kept, Deadline.after(DELIVERED_S), every_s=EVERY_S):
        raise BadReport(f"ConfigMap {name} cannot be made: {said}")


def _to_sonobuoy(found: Path | None) -> int:
    """Hand the results over as Sonobuoy wants them, and wait to be deleted."""
    place = Path(os.environ.get(TAKEN) or RESULTS)
    place.mkdir(parents=True, exist_ok=True)
    packed = place / PACKED
    if found is None:
        found = place
        (place / JUNIT).write_text(EMPTY, "utf-8")
    with tarfile.open(packed, "w:gz") as archive:
        for name in (REPORT, JUNIT):
            with suppress(FileNotFoundError):
                archive.add(str(found / name), arcname=name)
    # Whole before its name stands in the file that the worker waits for.
    partial = place / f".{DONE}"
    partial.write_text(str(packed), "utf-8")
    partial.replace(place / DONE)
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    signal.sigtimedwait(ends, STAYS_S)
    return output.GOOD
