"""Which case a refusal by the API server belongs to, by the field that is at fault."""

from __future__ import annotations

import re
from typing import Final

REFUSED: Final = "SLICE-027"
"""The case of all refusals of a slice that no other case names."""

_DEVICE: Final = r"spec\.devices\[\d+\](?:\.basic)?"

_CASES: Final[tuple[tuple[str, str, str], ...]] = (
    (r"spec", r"sharedCounters", "PART-001"),
    (r"spec", r"", "SLICE-002"),
    (r"spec\.(nodeSelector\.nodeSelectorTerms|allNodes|perDeviceNodeSelection)", r"", "SLICE-002"),
    (r"spec\.nodeName", r"must be either unset", "SLICE-002"),
    (r"spec\.pool\.name", r"", "SLICE-008"),
    (r"spec\.skipNodeOperations.*", r"", "SLICE-025"),
    (r"spec\.partitionTypeAttribute", r"", "PART-011"),
    (r"spec\.sharedCounters", r"", "PART-003"),
    (r"spec\.sharedCounters\[\d+\]\.counters", r"^Too many", "PART-003"),
    (r"spec\.sharedCounters.*", r"", "PART-001"),
    (r"spec\.devices", r"consumed counters", "PART-003"),
    (r"spec\.devices", r"", "SLICE-009"),
    (_DEVICE, r"^Duplicate", "SLICE-007"),
    (rf"{_DEVICE}\.name", r"^Duplicate", "SLICE-007"),
    (_DEVICE, r"number of attribute", "ATTR-003"),
    (_DEVICE, r"counters", "PART-003"),
    (_DEVICE, r"", "SLICE-024"),
    (rf"{_DEVICE}\.name", r"", "SLICE-008"),
    (rf"{_DEVICE}\.(nodeName|nodeSelector.*|allNodes)", r"", "SLICE-024"),
    (rf"{_DEVICE}\.attributes\[.*\]", r"^Required value$", "PART-011"),
    (rf"{_DEVICE}\.attributes\[.*\]", r"must be specified|^Required value: one of", "ATTR-001"),
    (rf"{_DEVICE}\.attributes\[.*\]\.(bools|ints|strings|versions)", r"", "ATTR-001"),
    (rf"{_DEVICE}\.attributes\[.*\]\.(string|version)", r"", "ATTR-004"),
    (rf"{_DEVICE}\.attributes\[.*\]\.(strings|versions)\[\d+\]", r"", "ATTR-004"),
    (rf"{_DEVICE}\.attributes.*", r"", "ATTR-002"),
    (rf"{_DEVICE}\.capacity\[.*\]\.requestPolicy.*", r"", "CAP-001"),
    (rf"{_DEVICE}\.capacity.*", r"", "ATTR-002"),
    (rf"{_DEVICE}\.taints.*", r"", "TAINT-001"),
    (rf"{_DEVICE}\.consumesCounters\[\d+\]\.compatibilityGroups.*", r"", "PART-012"),
    (rf"{_DEVICE}\.consumesCounters.*", r"", "PART-003"),
    (rf"{_DEVICE}\.binding.*", r"", "BIND-001"),
    (rf"{_DEVICE}\.nodeAllocatableResources.*", r"", "LIFE-011"),
)
"""Field, what the message says, and the case; the first line that fits counts."""

_COMPILED: Final = tuple(
    (re.compile(field), re.compile(message), case) for field, message, case in _CASES
)


def case_of(field: str, message: str) -> str:
    """The case that judges a refusal of a slice.

    Args:
        field: as the API names it, in v1 or v1beta1.
        message: of the cause.
    """
    for pattern, said, case in _COMPILED:
        if pattern.fullmatch(field) and said.search(message):
            return case
    return REFUSED
