"""``dra-report job``: what judges an installed driver within its cluster, node by node."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from pytest_dra.api import names
from pytest_dra.commands import jobfiles
from pytest_dra.commands import jobobjects
from pytest_dra.commands import joboptions
from pytest_dra.commands import reportoutput as output
from pytest_dra.commands.jobobjects import TIMEOUT_S
from pytest_dra.commands.texts import told
from pytest_dra.options import OptionError
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import ProfileError
from pytest_dra.profile import load_profile
from pytest_dra.report.jobruns import JOB_LABEL
from pytest_dra.report.reading import BadReport
from pytest_dra.report.yaml_report import documents

NAME: Final = "dra-conformance"
NAMESPACE: Final = "pytest-dra"
PROFILE: Final = "--profile"

AT_ONCE: Final = 10
"""Shards at the same time by default: each makes a dozen pods, all on its own node."""

NAME_MAX: Final = 50
"""Characters of a job's name: its pods have a suffix, and its ConfigMaps a uid and an index."""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument("--image", required=True, help="image of the suite, see its Dockerfile")
    parser.add_argument("--driver-name", metavar="NAME", default="", help="name of the driver")
    parser.add_argument(PROFILE, metavar="FILE", type=Path, help="profile of the driver")
    parser.add_argument(
        "--nodes",
        metavar="NAMES",
        default="",
        help="nodes to judge, by comma; by default the cluster is asked where the driver is",
    )
    parser.add_argument("--kubeconfig", metavar="FILE", help="of the cluster that is asked")
    parser.add_argument("--context", metavar="NAME", default="", help="of the kubeconfig")
    parser.add_argument(
        "--sonobuoy", action="store_true", help="print a plugin of Sonobuoy instead of a Job"
    )
    parser.add_argument("--name", default=NAME, help=f"of the job or plugin; default: {NAME}")
    parser.add_argument("--namespace", default=NAMESPACE, help=f"made; default: {NAMESPACE}")
    parser.add_argument(
        "--parallel",
        metavar="N",
        type=_positive,
        default=AT_ONCE,
        help=f"nodes judged at the same time; default: {AT_ONCE}",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_positive,
        default=TIMEOUT_S,
        help=f"a node is judged so long at most; default: {TIMEOUT_S}",
    )
    parser.add_argument("--host-network", action="store_true", help="pods use their node's network")
    parser.add_argument(
        "--metrics",
        action="store_true",
        help="let shards get nodes/proxy, for latencies as the kubelets count them",
    )
    parser.add_argument(
        "options", metavar="-- OPTION", nargs="*", help="options of pytest for each node"
    )
    output.add_destination(parser)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"got {text}, want a number above 0")
    return number


def run(arguments: argparse.Namespace) -> int:
    """Print the objects."""
    profile = _profile(arguments)
    plan = _plan(arguments, profile)
    jobfiles.config_must_fit(plan.config)
    objects = [jobobjects.sonobuoy(plan)] if arguments.sonobuoy else jobobjects.job(plan)
    output.deliver(documents(objects), arguments.to)
    for line in (*jobfiles.staying(profile), _told(plan, arguments)):
        sys.stderr.write(f"{output.NAME}: {told(line)}\n")
    return output.GOOD


def _plan(arguments: argparse.Namespace, profile: DriverProfile) -> jobobjects.Plan:
    try:
        joboptions.must_fit(arguments.options)
    except OptionError as error:
        raise BadReport(str(error)) from error
    for name in (arguments.name, arguments.namespace):
        if not names.is_dns_label(name) or len(name) > NAME_MAX:
            raise BadReport(f"{name}: no name for it: want a DNS label, {NAME_MAX} characters")
    driver = _driver(arguments, profile)
    options = [f"--dra-driver-name={driver}"] if arguments.driver_name else []
    return jobobjects.Plan(
        name=arguments.name,
        namespace=arguments.namespace,
        image=arguments.image,
        nodes=_nodes(arguments, driver),
        options=[*options, *arguments.options],
        profile=_text(arguments.profile),
        at_once=arguments.parallel,
        timeout_s=arguments.timeout,
        host_network=arguments.host_network,
        metrics=arguments.metrics,
    )


def _profile(arguments: argparse.Namespace) -> DriverProfile:
    if arguments.profile is None:
        return DEFAULT_PROFILE
    try:
        return load_profile(arguments.profile, option=PROFILE)
    except ProfileError as error:
        raise BadReport(f"{PROFILE}: {error}") from error


def _text(profile: Path | None) -> str:
    try:
        return profile.read_text("utf-8") if profile is not None else ""
    except (OSError, ValueError) as error:
        raise BadReport(f"{PROFILE}: {profile}: {error}") from error


def _driver(arguments: argparse.Namespace, profile: DriverProfile) -> str:
    """The driver's name."""
    name = str(arguments.driver_name) or profile.driver.name
    if not name:
        raise BadReport("which driver? Give --driver-name, or a --profile with driver.name")
    if wrong := names.driver_name_error(name):
        raise BadReport(f"--driver-name: {name!r}: {wrong}")
    return name


def _nodes(arguments: argparse.Namespace, driver: str) -> list[str]:
    given = output.named_nodes(arguments.nodes)
    if given:
        return given
    from pytest_dra.api import resources
    from pytest_dra.clusters.kubeconfig import KubeconfigCluster
    from pytest_dra.clusters.protocol import ClusterError
    from pytest_dra.kube import KubeError
    from pytest_dra.live import installed

    environ = dict(os.environ)
    if arguments.kubeconfig:
        environ["KUBECONFIG"] = arguments.kubeconfig
    cluster = KubeconfigCluster(arguments.context, keeper=None, environ=environ)
    try:
        cluster.start()
        client = cluster.admin()
        slices = client.list(resources.RESOURCE_SLICES, field_selector=f"spec.driver={driver}")
        places = {each["spec"].get("nodeName") for each in slices} - {None}
        pods = client.list(resources.PODS)
        found = installed.nodes_of(driver, pods, publishing=map(str, places))
    except (ClusterError, KubeError) as error:
        raise BadReport(f"where is {driver}? {error}; name its nodes: --nodes") from error
    finally:
        cluster.stop()
    if not found:
        raise BadReport(f"{driver} has no slice of any node on the cluster; name them: --nodes")
    for each in found:
        # A driver's word, which becomes a line of the list.
        if not names.is_node_name(each):
            raise BadReport(
                f"{driver} publishes for {each!r}, which is no node; name them: --nodes"
            )
    return found


def _told(plan: jobobjects.Plan, arguments: argparse.Namespace) -> str:
    number = f"{len(plan.nodes)} node{'s' if len(plan.nodes) != 1 else ''}"
    if arguments.sonobuoy:
        return f"{number}; sonobuoy run --plugin FILE --wait && sonobuoy retrieve"
    return (
        f"{number}; kubectl apply --server-side -f FILE, and when the Job is complete: kubectl get "
        f"jobs,configmaps -n {plan.namespace} -l {JOB_LABEL}={plan.name} -o json | {output.NAME} "
        "merge - -o DIR"
    )
