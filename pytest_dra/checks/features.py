"""What a profile declares, against what a run has shown."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

from pytest_dra.spec import Violation


def declared_must_be_seen(declared: Mapping[str, str], seen: Collection[str]) -> None:
    """Each declared feature has shown its sign.

    Args:
        declared: features of the profile, with the sign that is looked for.
        seen: the features that the run has shown.
    """
    absent = {feature: sign for feature, sign in declared.items() if feature not in seen}
    if absent:
        raise Violation(
            "features of the profile",
            got=f"declared and never seen: {', '.join(sorted(absent))}",
            want="; ".join(f"{feature}: {sign}" for feature, sign in sorted(absent.items())),
        )


def undeclared(seen: Mapping[str, str], declared: Collection[str]) -> str:
    """What a run has shown and the profile does not declare, for a warning; empty if nothing."""
    found = [f"{name} ({sign})" for name, sign in sorted(seen.items()) if name not in declared]
    if not found:
        return ""
    return f"seen and not declared, so that their cases are provisional: {', '.join(found)}"
