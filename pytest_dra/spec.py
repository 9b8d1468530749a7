"""The vocabulary of a verdict: what a case says, and how a driver breaks it.

Layer 0: imports nothing of the project and nothing outside the standard library.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

Json = dict[str, Any]
"""A Kubernetes object as plain JSON data: camelCase keys, nothing dropped, nothing typed away."""


class Level(str, enum.Enum):
    """How strongly the source words the rule (RFC 2119)."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Depth(str, enum.Enum):
    """The least equipment that can judge a case, cheapest first."""

    STATIC = "static"
    WIRE = "wire"
    CLUSTER = "cluster"


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """Where a rule comes from.

    ``kind`` is one of api, proto, kep, kubelet, cdi-spec, scheduler, practice.
    """

    kind: str
    ref: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.ref}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One checkable statement about a driver.

    ``id`` is the only name that a report may use: it survives renamed tests, moved
    files and other root directories, which pytest's node ids do not.
    """

    id: str
    area: str
    level: Level
    title: str
    requirement: str
    depth: Depth
    features: tuple[str, ...]
    unless: tuple[str, ...]
    since: str
    until: str | None
    profiles: tuple[str, ...]
    sources: tuple[Source, ...]
    breaks: str
    fault: str
    needs: tuple[str, ...]
    observation: str
    traffic: str | None
    disruptive: bool
    inputs: tuple[str, ...]


class Violation(AssertionError):
    """The driver did something that its contract forbids.

    Args:
        where: the object or call that shows it, with names.
        got: what was observed; shown by ``repr``.
        want: what the contract asks for, in words.
        source: where the rule stands; left empty by checks, then the case's sources are shown.
        proof: serial numbers of the timeline entries that show it.
    """

    def __init__(
        self,
        where: str,
        *,
        got: object,
        want: str,
        source: str = "",
        proof: tuple[int, ...] = (),
    ) -> None:
        self.where = where
        self.got = got
        self.want = want
        self.source = source
        self.proof = proof
        super().__init__(where)

    def __str__(self) -> str:
        lines = [self.where, f"  got:  {self.got!r}", f"  want: {self.want}"]
        if self.source:
            lines.append(f"  from: {self.source}")
        return "\n".join(lines)


class NotApplicable(Exception):
    """The case does not concern this driver; the text says why."""


class UnsupportedEnvironment(Exception):
    """This bench cannot judge the case for this driver; ``way_out`` names the option that could."""

    def __init__(self, why: str, *, way_out: str) -> None:
        self.way_out = way_out
        super().__init__(why)


class Blocked(Exception):
    """What the case judges is missing because of what another case, ``by``, judges already.

    ``finding``: what is wrong where ``by`` has passed: the driver did it then, and not here.
    """

    def __init__(self, by: str, finding: Violation | None = None) -> None:
        self.by = by
        self.finding = finding
        super().__init__(f"blocked by {by}")
