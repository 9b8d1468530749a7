"""``--dra-cleanup``: removes what runs have left that have ended, and says what it has left alone.

What a run has made is told by its label or name, and whether it has ended by the process that is
written down beside it. Nothing else is touched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.engine import find_engine
from pytest_dra.clusters.kind import PREFIX
from pytest_dra.clusters.kindrecords import KindRecords
from pytest_dra.clusters.kindtool import KindTool
from pytest_dra.clusters.kindtool import find_kind
from pytest_dra.clusters.owner import OWNED
from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.owner import State
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.launch.tool import ToolError
from pytest_dra.live.deployment import LABEL
from pytest_dra.live.leftovers import Left
from pytest_dra.live.leftovers import remove_run
from pytest_dra.live.leftovers import runs_on
from pytest_dra.livefinding import found
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.refusals import KIND
from pytest_dra.refusals import context_of

OK: Final = 0
FAILED: Final = 1
"""Exit statuses: nothing is left that could go; something is."""

Say = Callable[[str], None]


def clean(settings: Settings) -> int:
    """Remove what ended runs have left; says on standard output what was done.

    Returns:
        Exit status.

    Raises:
        OptionError: the cluster that is named cannot be used.
    """
    left: list[str] = []
    with _cluster(settings) as client:
        if client is not None:
            left += _clean_cluster(client)
    left += _clean_engine(settings)
    for each in left:
        _say(f"could not be removed: {each}")
    _say("--dra-cleanup: " + (f"{len(left)} left" if left else "nothing is left of ended runs"))
    return FAILED if left else OK


@contextmanager
def _cluster(settings: Settings) -> Iterator[Client | None]:
    """A client of the cluster that the settings name, where there is one to look at."""
    if context_of(settings["dra_cluster"]) is not None:
        with found(settings) as cluster:
            yield cluster.admin()
    elif settings["dra_cluster"] == KIND and settings["dra_reuse"]:
        try:
            tool = find_kind(settings["dra_kind"], find_engine(settings["dra_engine"]))
            with TemporaryDirectory(prefix="dra-kubeconfig-") as folder:
                file = Path(folder) / "kubeconfig"
                tool.write_kubeconfig(settings["dra_reuse"], file)
                client = Client(file)
                try:
                    yield client
                finally:
                    client.close()
        except (ClusterError, KubeError) as error:
            raise OptionError(f"--dra-reuse={settings['dra_reuse']}: {error}") from error
    else:
        yield None


def _clean_cluster(client: Client) -> list[str]:
    left: list[str] = []
    try:
        for each in runs_on(client):
            if each.has_ended:
                rest = remove_run(client, each.run)
                if not rest:
                    _say(f"removed: run {each.run}: {', '.join(map(str, each.objects))}")
                left += rest
            else:
                _say(f"left alone: run {each.run}: {_why(each.owner, each)}")
    except KubeError as error:
        left.append(f"objects on the cluster: {error}")
    return left


def _why(owner: Owner | None, run: Left | None = None) -> str:
    """Why something stays, with what would remove it by hand."""
    if owner is None:
        return "nothing says which process has made it"
    if owner.state() is State.ALIVE:
        return f"{owner} is alive"
    kinds = dict.fromkeys(each.resource.qualified for each in run.objects) if run else ()
    hand = f"; by hand: kubectl delete -A {','.join(kinds)} -l {LABEL}={run.run}" if run else ""
    return f"{owner} cannot be seen from here{hand}"


def _clean_engine(settings: Settings) -> list[str]:
    """Kind clusters, containers and networks; nothing where there is no engine."""
    try:
        engine = find_engine(settings["dra_engine"])
        engine.must_answer()
    except ClusterError as error:
        _say(f"no containers are looked at: {error}")
        return []
    left = _clean_kind(settings, engine)
    for kind, names, remove in (
        ("container", engine.containers, engine.remove_container),
        ("network", engine.networks, engine.remove_network),
    ):
        try:
            for name, label in names(OWNED).items():
                left += _ended(f"{kind} {name}", Owner.from_label(label), partial(remove, name))
        except ToolError as error:
            left.append(f"{kind}s: {error}")
    return left


def _clean_kind(settings: Settings, engine: Engine) -> list[str]:
    records = KindRecords()
    try:
        tool = find_kind(settings["dra_kind"], engine)
        clusters = tool.clusters()
    except ClusterError as error:
        _say(f"no kind clusters are looked at: {error}")
        return []
    left = []
    for name in clusters:
        if name.startswith(PREFIX):
            left += _ended(
                f"kind cluster {name}",
                records.owner(name),
                partial(_delete_kind, tool, records, name),
            )
    for name in records.known():
        owner = records.owner(name)
        if name not in clusters and (owner is None or owner.state(local=True) is State.ENDED):
            records.forget(name)
    return left


def _delete_kind(tool: KindTool, records: KindRecords, name: str) -> None:
    tool.delete(name, Path(os.devnull))
    records.forget(name)


def _ended(what: str, owner: Owner | None, remove: Callable[[], None]) -> list[str]:
    """Remove something of an ended run; it in words if that is not possible."""
    if owner is None or owner.state(local=True) is not State.ENDED:
        _say(f"left alone: {what}: {_why(owner)}")
        return []
    try:
        remove()
    except (ClusterError, ToolError) as error:
        return [f"{what}: {error}"]
    _say(f"removed: {what}")
    return []


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
