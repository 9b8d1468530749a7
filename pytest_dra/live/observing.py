"""What a driver has set for the claim of a pod, as ``hooks.observe`` shows it on the node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_dra.checks.settings import HOOK
from pytest_dra.live.asking import Ask
from pytest_dra.live.hooks import run_hook
from pytest_dra.spec import Json

if TYPE_CHECKING:
    from pytest_dra.live.bench import LiveBench


def observed(
    bench: LiveBench, *asks: Ask, config: Sequence[Json] = (), what: str
) -> dict[str, str]:
    """Run a pod with a claim, look at what is set for its devices, and end it.

    Args:
        bench: the pod runs on its node.
        asks: the requests; one device by default.
        config: entries of the claim's configuration.
        what: how a message calls the claim.

    Returns:
        By request what the hook prints for its first device. Names and ids of claim, pool, device
        and share are left out, since the scheduler may choose others the next time.

    Raises:
        Violation: the pod does not run, or does not end.
        UnsupportedEnvironment: the hook cannot be run.
    """
    claim = bench.claim(*asks, config=config)
    pod = bench.pod_with(claim)
    bench.pods.must_run(pod, want=f"with {what}")
    seen: dict[str, str] = {}
    for result in bench.claims.results(claim):
        request = str(result["request"]).partition("/")[0]
        if result["driver"] == bench.driver.name and request not in seen:
            seen[request] = _look(bench, claim, result)
    bench.pods.end(pod)
    bench.claims.must_be_deallocated(claim)
    return seen


def observed_one(bench: LiveBench, ask: Ask, *, config: Sequence[Json] = (), what: str) -> str:
    """The same of a claim with one request. Raises as :func:`observed`."""
    return observed(bench, ask, config=config, what=what).get(ask.name, "")


def _look(bench: LiveBench, claim: str, result: Json) -> str:
    uid = bench.claims.uid(claim)
    values = {
        "node": bench.node.name,
        "claim_uid": uid,
        "claim_name": claim,
        "claim_namespace": bench.namespace,
        "pool": str(result["pool"]),
        "device": str(result["device"]),
    }
    text = run_hook(bench.driver, HOOK, bench.profile.hooks.observe, values)
    anew = {
        uid: "UID",
        claim: "NAME",
        str(result.get("shareID") or uid): "SHARE",
        values["pool"]: "POOL",
        values["device"]: "DEVICE",
    }
    for known in sorted(anew, key=len, reverse=True):
        text = text.replace(known, anew[known])
    return text
