"""FEAT: what the profile declares."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import signs
from pytest_dra.cases import case
from pytest_dra.checks import features
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable


@case("FEAT-001", Level.SHOULD, settles=True)
def test_feat_001_declared(dra_bench: Bench) -> None:
    """declared features are seen"""
    dra_bench.published()
    wanted = signs.declared(dra_bench.profile, dra_bench.cluster.version)
    if not wanted:
        raise NotApplicable("the profile declares no feature that a driver shows by itself")
    seen = signs.of_run(dra_bench)
    unasked = signs.provoke(dra_bench, wanted.keys() - seen.keys())
    for feature, reason in sorted(unasked.items()):
        dra_bench.warnings.add(f"feature {feature} is declared and was not seen: {reason}")
    seen = signs.of_run(dra_bench)
    profile = dra_bench.profile
    declared = [name for name in seen if profile.declares(name)]
    dra_bench.warnings.add(features.undeclared(seen, declared))
    asked = {name: sign for name, sign in wanted.items() if name not in unasked}
    features.declared_must_be_seen(asked, seen)
