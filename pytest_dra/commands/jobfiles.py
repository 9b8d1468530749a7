"""What goes along with a job of the files on the machine where it is printed.

The driver's profile does, as it is. None of the files that it names does, since no shard reads one:
the driver is installed, so that its manifests are not deployed; processes, trees and the previous
release are for runs without a cluster; and hooks and the injection probe run in containers, which
have to have their programs. Who has such a program here might think otherwise, and is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_dra.profile import DriverProfile
from pytest_dra.report.plain import one_line
from pytest_dra.report.reading import BadReport
from pytest_dra.report.shards import CONFIG_MAX

IN_PLUGIN: Final = "the plugin's container on each node"
IN_PODS: Final = "the pods of --dra-pod-image"

NAMES_SHOWN: Final = 5
"""Files in a sentence."""


def config_must_fit(config: Mapping[str, str]) -> None:
    """Raises BadReport for what no API server takes as a ConfigMap."""
    sizes = {name: len(text.encode()) for name, text in config.items()}
    if sum(sizes.values()) > CONFIG_MAX:
        parts = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise BadReport(
            f"the job's ConfigMap has {sum(sizes.values())} bytes ({parts}), and a cluster takes "
            f"{CONFIG_MAX}: print several jobs, with a part of the nodes in --nodes and a --name "
            "each, and give their results to one dra-report merge"
        )


def staying(profile: DriverProfile) -> Iterator[str]:
    """What does not go along of the files that the profile names, a sentence for each field."""
    if profile.manifests:
        names = _named(profile.data["manifests"])
        yield f"manifests stay here ({names}): the driver is installed, and no shard reads them"
    for field, command, place in _commands(profile):
        here = [word for word in command if _is_here(word, profile)]
        if here:
            yield (
                f"{field} runs in {place}, which has to have {_named(here)}: the file of that name "
                "here does not go along"
            )


def _commands(profile: DriverProfile) -> Iterator[tuple[str, Sequence[str], str]]:
    """The commands that shards run: field, words, and where."""
    hooks, probe = profile.hooks, profile.injection.probe
    yield "hooks.observe", hooks.observe, IN_PLUGIN
    yield "hooks.inventory", hooks.inventory, IN_PLUGIN
    yield "hooks.fault", hooks.fault, IN_PLUGIN
    yield "hooks.heal", hooks.heal, IN_PLUGIN
    yield "injection.probe", probe.command if probe else (), IN_PODS


def _is_here(word: str, profile: DriverProfile) -> bool:
    """True for the name of a file from where a user would look for it."""
    if Path(word).is_absolute():
        # As likely as not the image's own: every machine has a /bin/sh.
        return False
    folders = [Path()] if profile.path is None else [Path(), profile.path.parent]
    try:
        return any((folder / word).is_file() for folder in folders)
    except (OSError, ValueError):
        return False


def _named(words: Iterable[object]) -> str:
    every = [one_line(str(each)) for each in words]
    more = len(every) - NAMES_SHOWN
    return ", ".join(every[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
