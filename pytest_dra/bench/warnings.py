"""What a case has to say beside its result: remarks that change no state."""

from __future__ import annotations


class Warnings:
    """The warnings of the case that is being judged, in the order in which they were added."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        """Remember a warning; an empty one is none, as checks return it where all is well."""
        if text:
            self._texts.append(text)

    def all(self) -> tuple[str, ...]:
        """The warnings so far."""
        return tuple(self._texts)

    def clear(self) -> None:
        """Another case begins."""
        self._texts.clear()
