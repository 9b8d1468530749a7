"""FEAT on a cluster: what the profile declares."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.checks import features
from pytest_dra.live import LiveBench
from pytest_dra.live import signs
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable


@case("FEAT-001", Level.SHOULD, live=True, settles=True)
def test_feat_001_declared(dra_live: LiveBench) -> None:
    """declared features are seen"""
    wanted = signs.wanted_of(dra_live)
    seen, hidden = signs.seen(dra_live, wanted)
    asked = {name: sign for name, sign in wanted.items() if name not in hidden}
    if not asked:
        raise NotApplicable("the profile declares no feature that a driver shows by itself here")
    features.declared_must_be_seen(asked, seen)
