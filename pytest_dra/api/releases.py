"""The Kubernetes releases that are known, as data.

Apart from :mod:`pytest_dra.api.versions`, which makes something of it, since every pytest run of
the environment wants their names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from typing import Final

DATA: Final[Any] = json.loads(Path(__file__).with_name("releases.json").read_text("utf-8"))
"""All that is known of each version. ``gates``: their stages, by name. ``served``: version and
plural of each resource. ``unserved``: by gate the API versions of its kinds that no server serves
unless it is told to. ``limits``: what differs from :class:`~pytest_dra.api.versions.Limits`.
``containerd_cdi``: the CDI library of containerd at its time."""

VERSIONS: Final[tuple[str, ...]] = tuple(DATA["releases"])
"""The versions that are known, oldest first."""

LATEST: Final[str] = VERSIONS[-1]
"""The version that is meant where none is named."""
