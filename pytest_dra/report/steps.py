"""What happened round a failed case, as a sequence between the parties of a node."""

from __future__ import annotations

import dataclasses
import enum

from pytest_dra.report.plain import LINE_LIMIT
from pytest_dra.report.plain import one_line
from pytest_dra.spec import Json

STEPS_LIMIT = 24
"""Steps of one case: two screens of a phone; the whole traffic lies in the evidence folder."""


class Party(str, enum.Enum):
    """Who takes part, in the order in which they are drawn."""

    KUBELET = "kubelet"
    DRIVER = "driver"
    API_SERVER = "API server"
    CDI = "CDI directory"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One arrow of the sequence; one from a party to itself is a remark on its line.

    Attributes:
        at: seconds since the start of the run; ``serial``: its number on the timeline.
        text: what was said and answered, one line.
        decides: the violation is about this very moment.
        skipped: entries of the timeline that are left out before it.
    """

    at: float
    serial: int
    source: Party
    target: Party
    text: str
    decides: bool = False
    skipped: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", one_line(self.text, LINE_LIMIT))

    def to_dict(self) -> Json:
        """Plain data, as it stands in the report."""
        return {
            "at": round(self.at, 3),
            "serial": self.serial,
            "from": self.source.value,
            "to": self.target.value,
            "text": self.text,
            "decides": self.decides,
            "skipped": self.skipped,
        }

    @classmethod
    def from_dict(cls, data: Json) -> Step:
        """The inverse of :meth:`to_dict`.

        Raises:
            KeyError, TypeError, ValueError: ``data`` is something else.
        """
        fields = dict(data)
        source, target = Party(fields.pop("from")), Party(fields.pop("to"))
        return cls(source=source, target=target, **fields)
