"""``dra-report diff``: what differs between two reports, regressions first."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import Final

from pytest_dra.commands import reportoutput as output
from pytest_dra.commands.texts import write_json
from pytest_dra.report.comparison import Comparison
from pytest_dra.report.comparison import Difference
from pytest_dra.report.comparison import compare
from pytest_dra.report.plain import one_line
from pytest_dra.report.plain import spelled_ids
from pytest_dra.report.reading import read

_TABLE: Final = "table"
_OUTPUTS: Final = (_TABLE, "json")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    for name in ("old", "new"):
        parser.add_argument(
            name,
            metavar=name.upper(),
            type=output.report_path,
            help="report.yaml, or the directory of a run",
        )
    parser.add_argument("-o", "--output", choices=_OUTPUTS, default=_TABLE)
    parser.epilog = (
        "Exit code: 0 no MUST or SHOULD case and not the verdict has become worse, 1 one has, "
        "2 the input cannot be used."
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare."""
    found = compare(read(arguments.old).data, read(arguments.new).data)
    if arguments.output == _TABLE:
        _write_table(found)
    else:
        write_json(
            {
                "verdicts": {"old": found.verdicts[0], "new": found.verdicts[1]},
                "regressed": found.has_regressed,
                "differences": [
                    {
                        **dataclasses.asdict(each),
                        "change": each.change.value,
                        "regression": each.is_regression,
                    }
                    for each in found.differences
                ],
                "stillFailing": list(found.still),
                "remarks": list(found.remarks),
            }
        )
    return output.BAD if found.has_regressed else output.GOOD


def _write_table(found: Comparison) -> None:
    write = sys.stdout.write
    for remark in found.remarks:
        write(f"note: {one_line(remark)}\n")
    old, new = found.verdicts
    write(f"verdict: {new}\n" if old == new else f"verdict: {old} before, {new} now\n")
    heading = ""
    for each in found.differences:
        if each.change.value != heading:
            heading = each.change.value
            write(f"{heading}:\n")
        write(f"  {_line(each)}\n")
    if found.still:
        write(f"still failing: {spelled_ids(found.still)}\n")
    regressions = sum(each.is_regression for each in found.differences)
    worse = ", and the verdict is worse" if found.worse_verdict else ""
    write(f"{len(found.differences)} differences, {regressions} regressions{worse}\n")


def _line(each: Difference) -> str:
    detail = f": {one_line(each.detail)}" if each.detail else ""
    return f"{each.id} {each.level} {one_line(each.title)} ({each.old} -> {each.new}){detail}"
