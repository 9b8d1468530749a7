"""``--dra-soak``: the same cases, more and longer, chosen by a seed."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import TypeVar

Value = TypeVar("Value")

SEED = 1
"""Used unless another one is given: two runs with the same options do the same."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Soak:
    """Whether cases shall soak, and the seed by which they choose.

    ``seed`` is any whole number; nothing depends on it unless ``on``.
    """

    on: bool = False
    seed: int = SEED

    def either(self, usual: Value, soaking: Value) -> Value:
        """``soaking`` in a soak, else ``usual``."""
        return soaking if self.on else usual

    def fraction(self, text: str) -> float:
        """A number from 0 up to 1 that depends on the seed and on ``text`` alone."""
        digest = hashlib.sha256(f"{self.seed} {text}".encode()).digest()
        return int.from_bytes(digest[:4], "big") / (1 << 32)

    def replayed(self, case: str) -> str:
        """How a message says that a soak has found it, and how to find it again; else empty."""
        return f" (--dra-soak --dra-soak-seed={self.seed} --dra-case={case})" if self.on else ""
