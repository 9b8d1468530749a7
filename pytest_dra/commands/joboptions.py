"""The options of pytest that a job hands to its shards, looked at before anything is printed.

What is wrong with them would be found out by each shard on its node, hours later: it ends without a
report then. Options of pytest itself and of its other plugins are those of the image, and left to
the shards.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.catalogue import did_you_mean
from pytest_dra.option import Option
from pytest_dra.options import DEFAULT
from pytest_dra.options import KUBERNETES_VERSIONS
from pytest_dra.options import OPTIONS
from pytest_dra.options import REFERENCE
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.options import resolve
from pytest_dra.refusals import CLUSTER
from pytest_dra.refusals import EMBEDDED

PREFIX: Final = "--dra-"
WORDS: Final = "--"
"""Stands before the options of pytest on the command line."""

INI_PREFIX: Final = "dra_"
ADDED: Final = "addopts"
"""The ini value that pytest reads as more of its command line."""

OVERRIDE: Final = "-o"
OVERRIDE_LETTER: Final = "o"
OVERRIDE_LONG: Final = "--override-ini"

ALONE: Final = "qvxslhV"
"""Letters of pytest's that take no value, so that another one may stand behind them in a word."""

OUTSIDE: Final = "from your machine, outside of the job"

TAKEN: Final = {
    "--dra-suite": "a shard judges the packaged cases; leave it out",
    "--dra-cluster": "a shard judges the cluster that it runs on; leave it out",
    "--dra-driver": "a shard judges the driver that is installed; name that with --driver-name",
    "--dra-driver-name": "is told with --driver-name, or driver.name of --profile",
    "--dra-profile": "a file of your machine is not in the pods; give --profile, which goes along",
    "--dra-node": "a shard has a node of its own; name all that are to be judged with --nodes",
    "--dra-output": "a shard leaves its report in a ConfigMap; dra-report merge -o writes them all",
    "--dra-require": "what all nodes are worth together is decided by dra-report merge --require",
}
"""What a job sets itself, or has an option of its own for; and the way out."""

_ALONE: Final = f"makes no report; run pytest {OUTSIDE}"
_KIND: Final = "is for kind clusters, and a shard judges the cluster that it runs on; leave it out"
_DEPLOYED: Final = "is for drivers that the suite deploys, and a shard deploys none; leave it out"
_AT_WIRE: Final = f"changes only what is judged without a cluster; run pytest {OUTSIDE}"

SENSELESS: Final = {
    "--dra-init": _ALONE,
    "--dra-objects": _ALONE,
    "--dra-dry-run": _ALONE,
    "--dra-cleanup": _ALONE,
    "--dra-kind": _KIND,
    "--dra-engine": _KIND,
    "--dra-kind-image": _KIND,
    "--dra-kind-config": _KIND,
    "--dra-kind-nodes": _KIND,
    "--dra-keep": _KIND,
    "--dra-reuse": _KIND,
    "--dra-manifests": _DEPLOYED,
    "--dra-helm-values": _DEPLOYED,
    "--dra-driver-previous": _DEPLOYED,
    "--dra-base-image": _DEPLOYED,
    "--dra-jail": _AT_WIRE,
    "--dra-soak": _AT_WIRE,
    "--dra-soak-seed": _AT_WIRE,
    "--dra-replay": _AT_WIRE,
    "--dra-attach-wait": _AT_WIRE,
    "--dra-summary": "would be written in a pod, and go with it; dra-report merge writes one",
    "--dra-disruptive": "shards would disturb each other, and the job's account may not; run "
    f"pytest --dra-cluster=kubeconfig --dra-node=NODE {OUTSIDE}",
}
"""What means nothing in a pod of a job; and the way out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """An option of ours among the words: as it is spelled there, and its value."""

    option: Option
    spelled: str
    value: str
    is_ini: bool


def must_fit(options: Sequence[str]) -> None:
    """Look at what stands behind ``--``.

    Raises:
        OptionError: the first option of ours that does not exist, that no shard can use, or whose
            value cannot be used; with the way out. An ini value is looked at as its option is.
    """
    flags: dict[str, str] = {}
    ini: dict[str, str] = {}
    for each in _ours(options):
        option = each.option
        reason = TAKEN.get(option.name) or SENSELESS.get(option.name)
        if reason:
            raise OptionError(f"{WORDS} {each.spelled}: {reason}")
        (ini if each.is_ini else flags)[option.dest] = each.value
    _values_must_fit(flags, ini)


def _ours(words: Sequence[str], *, adds: bool = True) -> Iterator[Given]:
    """Our options among the words, with their values: behind ``=``, or the next word.

    Args:
        words: of a command line of pytest.
        adds: ini values may add words; pytest does not look for more in those.
    """
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word.startswith(PREFIX):
            yield _flag(word, rest)
            continue
        override = _override(word, rest)
        name, equals, value = override.partition("=")
        if name == ADDED and adds:
            yield from _ours(_split(value), adds=False)
        elif name.startswith(INI_PREFIX):
            yield _ini(name, value if equals else None)


def _flag(word: str, rest: list[str]) -> Given:
    """The option that this word begins; takes its value from the rest."""
    name, equals, value = word.partition("=")
    option = _known(name, {each.name: each for each in OPTIONS}, spelled=name)
    if option.flag:
        if equals:
            raise OptionError(f"{WORDS} {word}: takes no value; want {name}, or leave it out")
        return Given(option, name, "true", is_ini=False)
    if not equals:
        if not rest or rest[-1].startswith("-"):
            raise OptionError(f"{WORDS} {name}: without a value; want {name}={option.metavar}")
        value = rest.pop()
    return Given(option, name, value, is_ini=False)


def _ini(name: str, value: str | None) -> Given:
    spelled = f"{OVERRIDE} {name}"
    option = _known(name, {each.dest: each for each in OPTIONS}, spelled=spelled)
    if value is None:
        raise OptionError(f"{WORDS} {spelled}: without a value; want {spelled}={option.metavar}")
    return Given(option, spelled, value, is_ini=True)


def _known(name: str, known: Mapping[str, Option], *, spelled: str) -> Option:
    if name not in known:
        near = did_you_mean(name, known)
        raise OptionError(
            f"{WORDS} {spelled}: pytest-dra has no such option{near or '; see pytest --help'}"
        )
    return known[name]


def _override(word: str, rest: list[str]) -> str:
    """NAME=VALUE where the word overrides one of the ini file, or "".

    As pytest takes it: ``-o N=V``, ``-oN=V``, behind letters that take no value (``-qo N=V``), and
    ``--override-ini`` with ``=`` or the next word.
    """
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        if name != OVERRIDE_LONG:
            return ""
        found: str | None = value if equals else None
    else:
        behind = word.removeprefix("-").lstrip(ALONE) if word.startswith("-") else ""
        if not behind.startswith(OVERRIDE_LETTER):
            return ""
        found = behind.removeprefix(OVERRIDE_LETTER).removeprefix("=") or None
    if found is None:
        # No value begins with "-": pytest itself refuses that.
        return rest.pop() if rest and not rest[-1].startswith("-") else ""
    return found


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise OptionError(f"{WORDS} {OVERRIDE} {ADDED}: {error}; want a command line") from error


def _values_must_fit(flags: Mapping[str, str], ini: Mapping[str, str]) -> None:
    try:
        settings = resolve(flag=flags.get, ini=ini.get, environ={})
        _depth_must_be_the_clusters(settings)
        _scheduler_must_allocate(settings)
        _gates_must_exist(settings)
        _cases_must_exist(settings)
    except OptionError as error:
        raise OptionError(f"{WORDS} {error}") from error


def _depth_must_be_the_clusters(settings: Settings) -> None:
    if settings["dra_depth"] not in ("", CLUSTER):
        raise OptionError(
            f"--dra-depth={settings['dra_depth']}: a shard judges at the depth {CLUSTER}; leave it "
            f"out, and judge at another one {OUTSIDE}"
        )


def _scheduler_must_allocate(settings: Settings) -> None:
    if settings["dra_allocator"] == REFERENCE:
        raise OptionError(
            f"--dra-allocator={REFERENCE}: the allocators of several shards would give one device "
            "twice, and the job's account may not; leave it out"
        )


def _gates_must_exist(settings: Settings) -> None:
    """In the version that is named, or in any: that of the cluster is not known here."""
    from pytest_dra.featuregates import feature_gates

    if settings.origin("dra_kubernetes") != DEFAULT:
        feature_gates(settings)
        return
    refused = []
    for version in KUBERNETES_VERSIONS:
        try:
            feature_gates(settings.instead("dra_kubernetes", version))
        except OptionError as error:
            refused.append(error)
    if len(refused) == len(KUBERNETES_VERSIONS):
        raise refused[-1]


def _cases_must_exist(settings: Settings) -> None:
    if settings.origin("dra_case") == DEFAULT:
        # The cases are imported only where some are chosen: half a second.
        return
    from pytest_dra.cases import implemented
    from pytest_dra.cases import live_cases
    from pytest_dra.catalogue import catalogue
    from pytest_dra.selection import SelectionError
    from pytest_dra.selection import select

    elsewhere = {f"--dra-cluster={EMBEDDED}, {OUTSIDE}": implemented()}
    try:
        select(settings["dra_case"], live_cases(), catalogue().cases, elsewhere=elsewhere)
    except SelectionError as error:
        raise OptionError(str(error)) from error
