"""The text of a first profile file: what is known with its origin, the rest commented out."""

from __future__ import annotations

import dataclasses
import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.catalogue import catalogue
from pytest_dra.profile.fields import BLOCKS
from pytest_dra.profile.fields import FIELDS
from pytest_dra.profile.fields import Field
from pytest_dra.profile.model import API_VERSION
from pytest_dra.profile.model import KIND

WIDTH: Final = 100
"""Columns of a comment."""

LONGEST: Final = 1000
"""Characters of a comment: ten lines, whatever a driver has said."""

PLAIN: Final = re.compile(r"[A-Za-z./][A-Za-z0-9./_-]*")
"""A string that is one in YAML without quotes, unless it is a word of its own meaning."""

WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})

ORDER: Final = ("identity", "driver", "launch", "manifests", "injection", "features")
"""Blocks that mostly hold something; the others follow in their own order."""


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """What is known of a field. ``value`` None: nothing that can be written, only ``origin``."""

    origin: str
    value: Any = None


def drafted(head: str, found: Mapping[str, Finding]) -> str:
    """The whole file.

    Args:
        head: what the file is, above everything.
        found: by path of the field (``driver.name``, ``features.DeviceTaints``).
    """
    lines = [*_comment(head, indent=""), f"apiVersion: {API_VERSION}", f"kind: {KIND}"]
    for block in (*ORDER, *(each for each in BLOCKS if each not in ORDER)):
        lines += ["", *_block(block, found)]
    return "\n".join(lines) + "\n"


def _block(block: str, found: Mapping[str, Finding]) -> list[str]:
    fields = _features() if block == "features" else [f for f in FIELDS if f.block == block]
    if not fields[0].key:
        return _field(fields[0], found.get(block), indent="")
    known = any(found[f.path].value is not None for f in fields if f.path in found)
    lines = [*_comment(BLOCKS[block], indent=""), f"{block}:" if known else f"# {block}:"]
    for field in fields:
        lines += _field(field, found.get(field.path), indent="  ", outer="" if known else "# ")
    return lines


def _features() -> list[Field]:
    return [
        Field(
            f"features.{each.name}",
            f"Sign: {each.sign}.",
            f"{{ supported: {str(each.default).lower()} }}",
        )
        for each in catalogue().features.values()
    ]


def _field(field: Field, finding: Finding | None, *, indent: str, outer: str = "") -> list[str]:
    """``outer`` stands before each line of a block that is commented out as a whole."""
    name = field.key or field.block
    text = f"{field.text} {finding.origin}" if finding else field.text
    lines = [f"{outer}{line}" for line in _comment(text, indent=indent)]
    if finding is not None and finding.value is not None:
        return [*lines, f"{indent}{name}: {yaml_of(finding.value)}"]
    sign = "" if outer else "# "
    return [*lines, f"{outer}{indent}{sign}{name}: {field.example}"]


def _comment(text: str, *, indent: str) -> list[str]:
    plain = "".join(each if each.isprintable() else "?" for each in text[:LONGEST])
    lines = textwrap.wrap(plain, WIDTH - len(indent) - 2, break_on_hyphens=False)
    return [f"{indent}# {line}" for line in lines]


def yaml_of(value: Any) -> str:
    """Plain data in YAML's flow style, on one line."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{yaml_of(k)}: {yaml_of(v)}' for k, v in value.items())} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(yaml_of(each) for each in value)}]"
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in WORDS:
        return value
    text = json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in text)
