"""``dra-cel``: check a device selector, or see what it does with the devices of a cluster."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.releases import LATEST
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.cel import program as programs
from pytest_dra.cel import telling
from pytest_dra.cel.deciding import Deciding
from pytest_dra.cel.engines import NAMES
from pytest_dra.cel.engines import OWN
from pytest_dra.cel.engines import CompiledSelector
from pytest_dra.cel.engines import EngineMissing
from pytest_dra.cel.engines import engine
from pytest_dra.cel.environments import COST_MAX
from pytest_dra.cel.environments import LENGTH_MAX
from pytest_dra.cel.environments import MINORS
from pytest_dra.cel.environments import Environment
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import CompileError
from pytest_dra.cel.parts import Parts
from pytest_dra.cel.prepared import Prepared
from pytest_dra.cel.prepared import prepare
from pytest_dra.cel.releases import GATES
from pytest_dra.cel.releases import environment_of
from pytest_dra.cel.selector import Selector
from pytest_dra.commands import slices
from pytest_dra.commands.leaving import leave

MATCH: Final = 0
"""Exit code: the expression is accepted, a device matches."""
NO_MATCH: Final = 1
ERROR: Final = 2
"""Exit code: the expression is refused or fails on a device, or the input is unusable."""

_ENGINE_VARIABLE: Final = "PYTEST_DRA_CEL_ENGINE"
"""The same variable that sets ``--dra-cel-engine`` of pytest."""

_ERRORS_MAX: Final = 20
"""Different errors that are shown at length."""

_WIDEST: Final = 90
"""Characters of a cell."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dra-cel",
        description="CEL expressions of Kubernetes Dynamic Resource Allocation, as Kubernetes "
        "1.34 to 1.37 judges and evaluates them.",
        epilog="Exit code: 0 a device matches (check: accepted), 1 none does, 2 an error, be it "
        "on one device only.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="types and highest cost, by version")
    check.add_argument("expression", metavar="EXPR")
    check.add_argument("--derived", action="store_true", help="it is a derived attribute")
    check.add_argument(
        "--stored",
        action="store_true",
        help="judge it as one that is stored already: a server is stricter with new ones",
    )
    check.add_argument("--kubernetes", metavar="VERSION", help="only this version; default: all")
    evaluate = commands.add_parser("eval", help="the result for each device")
    evaluate.add_argument("expression", metavar="EXPR")
    source = evaluate.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--slices", metavar="FILE", help="output of kubectl get resourceslices -o yaml or json; -"
    )
    source.add_argument(
        "--kubeconfig", metavar="FILE", nargs="?", const="", help="ask this cluster"
    )
    evaluate.add_argument("--context", help="context of the kubeconfig")
    evaluate.add_argument(
        "--kubernetes", metavar="VERSION", default=LATEST, help=f"default: {LATEST}"
    )
    evaluate.add_argument(
        "--engine",
        "--dra-cel-engine",
        metavar="|".join(NAMES),
        help=f"what evaluates it; default: {_ENGINE_VARIABLE}, else {OWN}",
    )
    for command in (check, evaluate):
        command.add_argument(
            "--feature-gates", metavar="GATE=BOOL,...", default="", help=", ".join(GATES)
        )
    return parser


def _gates(text: str) -> dict[str, bool]:
    found = {}
    for part in filter(None, text.split(",")):
        gate, _, value = part.partition("=")
        if gate not in GATES or value not in ("true", "false"):
            raise ValueError(
                f"--feature-gates: {part!r}: want one of {', '.join(GATES)} with =true or =false"
            )
        found[gate] = value == "true"
    return found


def _environment(name: str, gates: dict[str, bool], *, stored: bool) -> Environment:
    version: KubernetesVersion = kubernetes_version(name)
    known = {gate: on for gate, on in gates.items() if gate in version.gates}
    return environment_of(version.with_gates(known), stored=stored)


def _checked(expression: str, env: Environment, *, derived: bool) -> tuple[bool, str]:
    """Whether a server accepts it, and what there is to say."""
    length = len(expression.encode("utf-8", "replace"))
    if length > LENGTH_MAX:
        return False, f"too long: {length} bytes, a server takes at most {LENGTH_MAX}"
    compiler = programs.compile_derived if derived else programs.compile_selector
    try:
        compiled = compiler(expression, env)
    except CompileError as error:
        return False, f"does not compile\n{telling.compile_error_text(error)}"
    cost = compiled.estimate()
    lines = [f"{compiled.output}, cost at most {cost} of {COST_MAX}"]
    verdict = programs.admission(expression, cost)
    if verdict == "too-costly":
        lines.append("too costly: a server refuses it; sizes are taken as the API allows them")
    return verdict == "ok", "\n".join(lines)


def check(arguments: argparse.Namespace) -> int:
    """``dra-cel check``."""
    names = [arguments.kubernetes] if arguments.kubernetes else [f"1.{one}" for one in MINORS]
    gates = _gates(arguments.feature_gates)
    said: dict[str, list[str]] = {}
    accepted = True
    for name in names:
        env = _environment(name, gates, stored=arguments.stored)
        good, text = _checked(arguments.expression, env, derived=arguments.derived)
        accepted = accepted and good
        said.setdefault(text, []).append(f"1.{env.minor}")
    for text, versions in said.items():
        sys.stdout.write(f"{', '.join(versions)}: {text}\n")
    return MATCH if accepted else ERROR


def _slices(arguments: argparse.Namespace) -> list[dict[str, object]]:
    if arguments.slices is not None:
        return slices.read(arguments.slices)
    from pytest_dra import kube

    place = arguments.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    try:
        client = kube.Client(Path(place).expanduser(), context=arguments.context)
        try:
            return client.list(resources.RESOURCE_SLICES)
        finally:
            client.close()
    except kube.KubeError as error:
        raise slices.SliceError(str(error)) from error


def evaluate(arguments: argparse.Namespace) -> int:
    """``dra-cel eval``."""
    env = _environment(arguments.kubernetes, _gates(arguments.feature_gates), stored=True)
    chosen = engine(_engine_name(arguments.engine))
    try:
        selector = chosen.compile(arguments.expression, env)
    except CompileError as error:
        sys.stderr.write(f"{telling.compile_error_text(error)}\n")
        return ERROR
    devices, older = slices.devices(_slices(arguments))
    prepared = prepare(((one.driver, one.body) for one in devices), lists=env.lists)
    results = selector.matches(prepared)
    explained = _Explained(selector)
    rows = [("DEVICE", "RESULT", "DECIDED BY")]
    errors: dict[str, list[str]] = {}
    for device, ready, result in zip(devices, prepared, results, strict=True):
        if isinstance(result, CelError):
            errors.setdefault(explained.error(ready, result), []).append(device.path)
        word = "error" if isinstance(result, CelError) else str(result).lower()
        rows.append((device.path, word, explained.part(ready)))
    _write_table(rows)
    if older:
        sys.stdout.write(f"{older} slices of older pool generations are left out\n")
    for gap in chosen.gaps:
        sys.stdout.write(f"{chosen.name} is not Kubernetes: {gap}\n")
    for text, paths in list(errors.items())[:_ERRORS_MAX]:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        sys.stdout.write(f"\n{_printable(paths[0])}{more}: {text}\n")
    if len(errors) > _ERRORS_MAX:
        sys.stdout.write(f"\nand {len(errors) - _ERRORS_MAX} more errors\n")
    if errors:
        sys.stdout.write("\nA scheduler that comes to a device with an error gives the pod up.\n")
        return ERROR
    return MATCH if any(result is True for result in results) else NO_MATCH


def _engine_name(given: str | None) -> str:
    name = given or os.environ.get(_ENGINE_VARIABLE) or OWN
    if name not in NAMES:
        where = "--engine" if given else _ENGINE_VARIABLE
        raise ValueError(f"{where}: got {name!r}, want one of {', '.join(NAMES)}")
    return name


class _Explained:
    """What lies behind a result; only our own engine can tell."""

    def __init__(self, selector: CompiledSelector) -> None:
        self._own = selector if isinstance(selector, Selector) else None
        self._deciding = Deciding(self._own.program) if self._own else None
        self._parts = Parts(self._own.program) if self._own else None

    def part(self, device: Prepared) -> str:
        """The sub-expression that decided."""
        if self._deciding is None or device.fault:
            return ""
        return self._deciding.part(device)

    def error(self, device: Prepared, error: CelError) -> str:
        """The error in words."""
        if self._own is None:
            return f"{_printable(error.message)} [{error.kind}]"
        # The exact evaluation knows where the error arose.
        exact = self._own.evaluate(device).error or error
        return _printable_lines(telling.error_text(self._own.program, exact, device, self._parts))


def _write_table(rows: list[tuple[str, str, str]]) -> None:
    cells = [tuple(_cell(text) for text in row) for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(2)]
    for device, word, part in cells:
        line = f"{device:{widths[0]}}  {word:{widths[1]}}  {part}"
        sys.stdout.write(line.rstrip() + "\n")


def _cell(text: str) -> str:
    text = _printable(text)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def _printable_lines(text: str) -> str:
    return "\n".join(map(_printable, text.split("\n")))


def _printable(text: str) -> str:
    """Nothing that moves a terminal's cursor."""
    return "".join(char if char.isprintable() else "?" for char in text)


def run(arguments: Iterable[str]) -> int:
    """Run the command; the exit code."""
    parsed = _parser().parse_args(list(arguments))
    try:
        return check(parsed) if parsed.command == "check" else evaluate(parsed)
    except (slices.SliceError, EngineMissing, ValueError) as error:
        sys.stderr.write(f"dra-cel: {_printable(str(error))}\n")
        return ERROR


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""
    leave(run, arguments, broken=ERROR)
