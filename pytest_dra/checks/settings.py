"""What is set for a claim's devices by opaque configuration."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_dra.spec import Violation

_SHOWN = 200
"""Characters of a setting that a finding shows."""


def setting_must_be(seen: str, *, wanted: str, others: Mapping[str, str], what: str) -> None:
    """What is in force is what the applicable configuration alone would set.

    Args:
        seen: what is in force.
        wanted: what is, where only the applicable configuration is given.
        others: the same for the other configurations, by whose they are.
        what: how a message calls the claim.
    """
    if seen != wanted:
        whose = next((name for name, text in others.items() if text == seen), "")
        raise Violation(
            f"setting of {what}",
            got=f"that of {whose}" if whose else seen[:_SHOWN],
            want="that of the chosen alternative's own configuration, which comes last",
        )
