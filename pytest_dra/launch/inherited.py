"""The environment that this process has, read beside somebody who changes it.

pytest sets and removes a variable round each phase of a test, and drivers are started from other
threads: a mapping that is walked through at that moment raises KeyError.
"""

from __future__ import annotations

import os
from collections.abc import Mapping


def inherited(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """A copy of the environment, without what went while it was made."""
    found = ((name, environ.get(name)) for name in environ)
    return {name: text for name, text in found if text is not None}
