"""``dra-allocator``: Kubernetes' allocation of devices without a cluster, explained."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.commands.allocatorinput import NAME
from pytest_dra.commands.allocatorinput import InputError
from pytest_dra.commands.allocatoroutput import BAD_INPUT
from pytest_dra.commands.leaving import leave
from pytest_dra.commands.texts import told

_COMMANDS: Final = {
    "allocate": ("allocatorallocate", "the devices that pending pods and claims would get"),
    "explain": ("allocatorexplain", "why a pod or a claim fits nowhere, and what would help"),
    "fit": ("allocatorfit", "how many more of a claim fit, per node and in all"),
    "check": ("allocatorcheck", "whether the objects are valid"),
    "diff": ("allocatordiff", "what the cluster's scheduler has decided against this allocator"),
    "minimize": ("allocatorminimize", "the smallest input with the same verdict"),
    "serve": ("allocatorserve", "schedule the pods of a cluster that ask for it"),
}
"""Modules and descriptions of the subcommands; one is imported when it is asked for."""


def _module(name: str) -> Any:
    return importlib.import_module(f"pytest_dra.commands.{_COMMANDS[name][0]}")


def _parser(wanted: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=NAME,
        description="Which devices Kubernetes' scheduler would give to which claim, and why not. "
        "Reads the output of kubectl get -A resourceslices,resourceclaims,resourceclaimtemplates,"
        "deviceclasses,pods,nodes -o yaml.",
        epilog="Exit code: 0 it fits, 1 it does not, 2 the input cannot be used.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (_, text) in _COMMANDS.items():
        one = commands.add_parser(name, help=text, description=f"Shows {text}.")
        if name == wanted:
            _module(name).add(one)
    return parser


def _parsed(words: list[str], wanted: str | None) -> argparse.Namespace:
    """The options. Files may stand anywhere between them, as for kubectl."""
    parser = _parser(wanted)
    parsed, rest = parser.parse_known_args(words)
    if any(word.startswith("-") and word != "-" for word in rest) or (
        rest and not hasattr(parsed, "files")
    ):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        parsed.files = [*parsed.files, *rest]
    return parsed


def run(arguments: Iterable[str]) -> int:
    """Run the command; the exit code."""
    words = list(arguments)
    wanted = next((word for word in words if word in _COMMANDS), None)
    parsed = _parsed(words, wanted)
    try:
        code: int = _module(parsed.command).run(parsed)
        return code
    except InputError as error:
        for line in told(str(error)).split("\n"):
            sys.stderr.write(f"{NAME}: {line}\n")
        return BAD_INPUT


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""
    leave(run, arguments, broken=BAD_INPUT)
