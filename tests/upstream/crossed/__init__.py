"""Scenarios that cross one feature of the allocator with another, written by hand.

Each module has ``SCENARIOS``; the answers of Kubernetes' allocator are in ``goldens.jsonl``, made
by ``python -m tests.upstream.crossed.record``.
"""

from __future__ import annotations

from typing import Final

from tests.upstream.crossed import attributes
from tests.upstream.crossed import capacities
from tests.upstream.crossed import conditions
from tests.upstream.crossed import edges
from tests.upstream.crossed import partitions
from tests.upstream.crossed import places
from tests.upstream.scenario import Json

SCENARIOS: Final[list[Json]] = [
    *attributes.SCENARIOS,
    *capacities.SCENARIOS,
    *partitions.SCENARIOS,
    *places.SCENARIOS,
    *conditions.SCENARIOS,
    *edges.SCENARIOS,
]
