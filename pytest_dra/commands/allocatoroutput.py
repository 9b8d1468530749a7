"""What ``dra-allocator`` writes: tables as kubectl has them, YAML, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Final

from pytest_dra.commands.texts import write_json
from pytest_dra.objects.findings import printable
from pytest_dra.spec import Json

TABLE: Final = "table"
WIDE: Final = "wide"
OUTPUTS: Final = (TABLE, WIDE, "yaml", "json", "name")

FITS: Final = 0
"""Exit code: everything fits."""
DOES_NOT: Final = 1
"""Exit code: something does not fit (check: errors; diff: something differs)."""
BAD_INPUT: Final = 2
"""Exit code: the input or an option cannot be used."""

_GAP: Final = "   "


def write_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns of text; the last one may be as wide as it likes."""
    cells = [tuple(map(printable, row)) for row in [tuple(header), *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header) - 1)]
    for row in cells:
        parts = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
        sys.stdout.write(f"{_GAP.join([*parts, row[-1]]).rstrip()}\n")


def write_value(value: object, form: str) -> None:
    """A document as JSON or as YAML."""
    (write_json if form == "json" else _write_yaml)(value)


def _write_yaml(value: object) -> None:
    """YAML without aliases."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    plain = json.loads(json.dumps(value))
    yaml.dump(plain, sys.stdout, Dumper=dumper, sort_keys=False)


def write_documents(objects: Sequence[Json], output: str) -> None:
    """Objects as kubectl prints several of them."""
    if output == "name":
        for one in objects:
            kind = str(one["kind"]).lower()
            sys.stdout.write(f"{printable(kind)}/{printable(str(one['metadata']['name']))}\n")
        return
    document = (
        objects[0]
        if len(objects) == 1
        else {"apiVersion": "v1", "kind": "List", "items": [*objects]}
    )
    write_value(document, output)
