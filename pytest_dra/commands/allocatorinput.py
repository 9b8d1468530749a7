"""What ``dra-allocator`` reads: files, directories, the standard input, a cluster."""

from __future__ import annotations

import argparse
import copy
import dataclasses
import sys
from collections.abc import Iterable
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_dra.allocator import Rules
from pytest_dra.allocator.rules import rules_of
from pytest_dra.api import resources
from pytest_dra.api.releases import LATEST
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.api.versions import nearest_version
from pytest_dra.commands.texts import gates_of
from pytest_dra.objects import live
from pytest_dra.objects.fields import line_of
from pytest_dra.objects.reading import Given
from pytest_dra.objects.reading import ReadingError
from pytest_dra.objects.reading import read_files
from pytest_dra.objects.refusing import GROUP
from pytest_dra.objects.refusing import Judged
from pytest_dra.objects.refusing import Server
from pytest_dra.scheduling import Cluster
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling import Subject
from pytest_dra.scheduling import consumers
from pytest_dra.scheduling import subjects
from pytest_dra.spec import Json

NAME: Final = "dra-allocator"

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Names of the files that are read from a directory, as kubectl has it."""

_CORE: Final = ("Pod", "Node")
_TOLD_MAX: Final = 20
"""Errors of the input that are told."""

_KINDS: Final = {
    "pod": subjects.POD, "pods": subjects.POD, "po": subjects.POD,
    "claim": subjects.CLAIM, "claims": subjects.CLAIM, "resourceclaim": subjects.CLAIM,
    "resourceclaims": subjects.CLAIM, "template": subjects.TEMPLATE,
    "templates": subjects.TEMPLATE, "resourceclaimtemplate": subjects.TEMPLATE,
    "resourceclaimtemplates": subjects.TEMPLATE,
}  # fmt: skip
"""Kinds by the words for them before a name."""


class InputError(ValueError):
    """The input or an option cannot be used; one line of text per reason."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What was read, and under which rules it is looked at."""

    cluster: Cluster
    rules: Rules
    version: KubernetesVersion
    objects: Sequence[Json]


def add_options(parser: argparse.ArgumentParser, *, files: bool = True) -> None:
    """The options that all subcommands share."""
    if files:
        parser.add_argument(
            "files", metavar="FILE", nargs="*",
            help="YAML or JSON, directories of it; - for the standard input, kubeconfig for the "
            "objects of a cluster",
        )  # fmt: skip
        parser.add_argument(
            "-f", "--filename", metavar="FILE", action="append", default=[], help="one more FILE"
        )
    parser.add_argument("--kubeconfig", metavar="FILE", help="read the objects of this cluster")
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("-n", "--namespace", metavar="NAME", help="only what is in this namespace")
    where.add_argument(
        "-A", "--all-namespaces", action="store_true", help="all namespaces (the default)"
    )
    parser.add_argument(
        "--kubernetes", metavar="VERSION", default="",
        help="whose scheduler; default: the cluster's, the latest where files are read",
    )  # fmt: skip
    parser.add_argument(
        "--feature-gates", metavar="GATE=BOOL,...", default="", help="gates of Kubernetes"
    )
    parser.add_argument(
        "--as-upstream", action="store_true", default=True,
        help="answer as Kubernetes does even where it is known to be wrong (the default)",
    )  # fmt: skip


def add_alone(parser: argparse.ArgumentParser) -> None:
    """The option by which others in the queue do not count."""
    parser.add_argument(
        "--alone", action="store_true",
        help="as if nothing else were waiting; else what is ahead in the queue gets its devices "
        "first",
    )  # fmt: skip


def settings(
    arguments: argparse.Namespace, server: str = LATEST
) -> tuple[KubernetesVersion, Rules]:
    """The version and its scheduler's rules; ``server``: the version where none is asked for."""
    try:
        asked = arguments.kubernetes
        version = kubernetes_version(asked) if asked else nearest_version(server)
        version = version.with_gates(gates_of(arguments.feature_gates))
        return version, rules_of(version)
    except ValueError as error:
        raise InputError(str(error)) from error


def read(arguments: argparse.Namespace) -> Input:
    """Everything that was named.

    Raises:
        InputError: something of it cannot be used.
    """
    version, current = settings(arguments, _server(arguments))
    given = gather(arguments)
    objects, warnings = objects_of(given, version)
    for text in warnings[:_TOLD_MAX]:
        sys.stderr.write(f"{NAME}: warning: {text}\n")
    cluster = Cluster(objects, group_claims=current.group_claims)
    if not cluster.slices and not cluster.claims and not cluster.pods and not cluster.templates:
        raise InputError("the input holds no ResourceSlice, claim, template or Pod")
    return Input(
        cluster=cluster,
        rules=current,
        version=version,
        objects=objects,
    )


def asks_cluster(arguments: argparse.Namespace) -> bool:
    """True if objects of a cluster are wanted."""
    named = [*arguments.files, *arguments.filename]
    return bool(arguments.kubeconfig or arguments.context or live.KUBECONFIG in named)


def _server(arguments: argparse.Namespace) -> str:
    """The version of the cluster that is read, or the latest."""
    if arguments.kubernetes or not asks_cluster(arguments):
        return LATEST
    try:
        return live.server_version(arguments.kubeconfig or "", arguments.context)
    except ReadingError as error:
        raise InputError(str(error)) from error


def gather(arguments: argparse.Namespace) -> list[Given]:
    """The objects of all files and of the cluster."""
    named = [*arguments.files, *arguments.filename]
    files = [one for one in named if one != live.KUBECONFIG]
    if not files and not asks_cluster(arguments):
        raise InputError("nothing to read: name files, - for the standard input, or --kubeconfig")
    try:
        found = read_files(list(_files(files)))
        if asks_cluster(arguments):
            found += live.from_cluster(
                arguments.kubeconfig or "", arguments.context, live.SCHEDULED
            )
    except ReadingError as error:
        raise InputError(str(error)) from error
    return found


def _files(places: Iterable[str]) -> Iterable[str]:
    for place in places:
        if place == "-" or not Path(place).is_dir():
            yield place
            continue
        found = sorted(
            str(one) for one in Path(place).rglob("*") if one.suffix in SUFFIXES and one.is_file()
        )
        if not found:
            raise InputError(f"{place}: no {', '.join(SUFFIXES)} in this directory")
        yield from found


def objects_of(given: Sequence[Given], version: KubernetesVersion) -> tuple[list[Json], list[str]]:
    """Objects in the form of v1 with their defaults; what there is to warn of."""
    server = Server(version)
    made: list[Json] = []
    errors: list[str] = []
    warnings: list[str] = []
    for one in given:
        if is_group(one):
            made.append({**one.body, "apiVersion": one.api_version, "kind": one.kind})
        if not one.api_version.startswith(GROUP) and one.kind not in _CORE:
            continue
        judged = server.judge(one)
        if judged is None:
            errors.append(f"{_place(one)}: there is no {one.kind} in {one.api_version}")
            continue
        said = _refusals(one, judged)
        if judged.sent is None or (said and not _stored(one)):
            errors += said
            continue
        warnings += said
        made.append(_defaulted(one, judged))
    if errors:
        more = len(errors) - _TOLD_MAX
        tail = [f"and {more} errors more"] if more > 0 else []
        raise InputError("\n".join([*errors[:_TOLD_MAX], *tail]))
    return made, warnings


def is_group(one: Given) -> bool:
    """True for a group of pods, of whatever version: what it says is taken as it is."""
    named = isinstance(one.body.get("metadata"), dict) and isinstance(one.body.get("spec"), dict)
    return named and consumers.refers_to_group({"apiVersion": one.api_version, "kind": one.kind})


def _refusals(one: Given, judged: Judged) -> list[str]:
    if one.kind in _CORE and judged.sent is not None:
        return []
    return [
        f"{_place(one, cause.field)}: {one.kind} {one.name}: {cause.field}: {cause.message}"
        for cause in judged.refused
    ]


def _place(one: Given, field: str = "") -> str:
    line = line_of(one, field)
    return f"{one.file}:{line}" if line else one.file


def _stored(one: Given) -> bool:
    """True if a server has accepted the object: it may have been of another version."""
    meta = one.body.get("metadata")
    return isinstance(meta, dict) and bool(meta.get("uid") and meta.get("resourceVersion"))


def _defaulted(one: Given, judged: Judged) -> Json:
    obj = copy.deepcopy(judged.sent) or {}
    if judged.kind is not None:
        judged.kind.strategy.default(obj)
    resource = _RESOURCES.get(one.kind)
    return {"apiVersion": resource or one.api_version, "kind": one.kind, **obj}


_RESOURCES: Final = {
    one.kind: one.api_version
    for one in (
        resources.RESOURCE_SLICES,
        resources.DEVICE_CLASSES,
        resources.RESOURCE_CLAIMS,
        resources.RESOURCE_CLAIM_TEMPLATES,
        resources.DEVICE_TAINT_RULES,
    )
}


def named(text: str, cluster: Cluster, namespace: str | None) -> Subject:
    """What somebody means: ``pod/NAME``, ``claim/NAME``, ``NAMESPACE/NAME`` or a name alone.

    Raises:
        InputError: there is no such thing, or there are several.
    """
    word, slash, name = text.partition("/")
    kinds: tuple[str, ...] = (subjects.POD, subjects.CLAIM, subjects.TEMPLATE)
    if slash and word.lower() in _KINDS:
        kinds = (_KINDS[word.lower()],)
    elif slash:
        namespace = word
    else:
        name = text
    for kind in kinds:
        found = [key for key in _keys(kind, cluster) if key[1] == name]
        if namespace:
            found = [key for key in found if key[0] == namespace]
        if len(found) > 1:
            where = ", ".join(sorted(key[0] for key in found))
            raise InputError(f"{kind} {name} is in several namespaces ({where}): use -n")
        if found:
            return subject(kind, found[0], cluster)
    within = f" in namespace {namespace}" if namespace else ""
    raise InputError(f"there is no {' or '.join(kinds)} {name!r}{within} in the input")


def _keys(kind: str, cluster: Cluster) -> Iterable[tuple[str, str]]:
    if kind == subjects.POD:
        return cluster.pods
    return cluster.claims if kind == subjects.CLAIM else cluster.templates


def subject(kind: str, key: tuple[str, str], cluster: Cluster) -> Subject:
    """A subject of a kind."""
    if kind == subjects.POD:
        return subjects.of_pod(cluster.pods[key], cluster)
    if kind == subjects.CLAIM:
        return subjects.of_claim(cluster.claims[key])
    return subjects.of_template(cluster.templates[key])


def let_others_go_first(scheduler: Scheduler, subject: Subject) -> None:
    """Give their devices to all that are ahead in the queue."""
    for other in subjects.pending(scheduler.cluster):
        if other.name == subject.name:
            return
        scheduler.accept(scheduler.decide(other))


def chosen(cluster: Cluster, namespace: str | None) -> list[Subject]:
    """What is to be decided, in order; of one namespace if one was named."""
    found = subjects.pending(cluster)
    return [one for one in found if namespace in (None, one.key[0])]
