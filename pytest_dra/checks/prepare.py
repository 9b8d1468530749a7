"""Answers to NodePrepareResources and NodeUnprepareResources."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from pytest_dra.spec import Violation
from pytest_dra.wire.answers import ClaimRef
from pytest_dra.wire.answers import NodeReply
from pytest_dra.wire.answers import PreparedDevice

Pair = tuple[str, str]
"""Pool and device, by name."""

PREPARE = "NodePrepareResources"
UNPREPARE = "NodeUnprepareResources"

CALL_S = 45.0
"""How long a kubelet waits for an answer."""


def must_succeed(reply: NodeReply, uid: str, *, what: str) -> None:
    """The call ended with OK and has an entry without error for the claim."""
    problem = reply.error_for(uid)
    if problem:
        raise Violation(
            what, got=problem, want="OK and an entry without error", proof=(reply.serial,)
        )


def must_not_fail(reply: NodeReply, uid: str, *, what: str) -> None:
    """The call ended with OK and names no error for the claim; a missing entry is not judged."""
    answer = reply.claims.get(uid)
    if not reply.ok or (answer is not None and answer.error):
        raise Violation(
            what, got=reply.error_for(uid), want="OK without an error", proof=(reply.serial,)
        )


def must_be_answered(reply: NodeReply, *, what: str, within_s: float = CALL_S) -> None:
    """There is an answer in time, whatever it says; a driver may use the codes of our own side."""
    if reply.code == "DEADLINE_EXCEEDED" and reply.duration_s >= within_s:
        raise Violation(
            what,
            got=f"no answer in {reply.duration_s:.0f} s",
            want=f"an answer within {within_s:g} s, be it an error",
            proof=(reply.serial,),
        )


def silence() -> Violation:
    """What is wrong with a driver whose Unprepare was answered once, and is not any more."""
    return Violation(
        f"{UNPREPARE} of a claim, before the case proper",
        got=f"no answer in {CALL_S:g} s",
        want="an answer, as there was before",
    )


def must_be_refused(reply: NodeReply, uid: str, *, what: str) -> None:
    """The claim has an error of its own, or the whole call has one."""
    if not reply.error_for(uid):
        devices = [device.device_name for device in reply.devices_of(uid)]
        raise Violation(
            what,
            got=f"OK with devices {devices}",
            want="an error for the claim or for the call",
            proof=(reply.serial,),
        )
    if reply.code == "DEADLINE_EXCEEDED":
        raise Violation(
            what,
            got=f"no answer in {reply.duration_s:.0f} s",
            want="an error for the claim or for the call",
            proof=(reply.serial,),
        )


def must_be_refused_soon(
    reply: NodeReply, uid: str, *, within_s: float, what: str, words: Collection[str]
) -> None:
    """The claim is refused in time, with a text that has one of some words (any case)."""
    must_be_refused(reply, uid, what=what)
    if reply.duration_s > within_s:
        raise Violation(
            what,
            got=f"an error after {reply.duration_s:.1f} s",
            want=f"an error within {within_s:g} s",
            proof=(reply.serial,),
        )
    text = reply.error_for(uid)
    if not any(word in text.casefold() for word in words):
        raise Violation(
            what,
            got=text,
            want=f"an error that says why: with one of the words {', '.join(sorted(words))}",
            proof=(reply.serial,),
        )


def error_must_name(
    reply: NodeReply, uid: str, *, names: Mapping[str, Collection[str]], what: str
) -> None:
    """The error of a claim tells what it is about.

    Args:
        reply: the answer with the error; one without is let pass.
        uid: the claim.
        names: by what they stand for, the texts of which one must be in the error.
        what: how a message calls the call.
    """
    text = reply.error_for(uid)
    if not text:
        return
    for meaning, texts in names.items():
        if not any(each in text for each in texts):
            raise Violation(
                f"error of {what}",
                got=text,
                want=f"a text that names the {meaning}: {' or '.join(texts)}",
                proof=(reply.serial,),
            )


def must_be_empty(replies: Sequence[NodeReply], *, within_s: float, method: str) -> None:
    """Each answer to an empty batch is OK without entries, and one of them came in time.

    One, since a busy machine may keep any single answer back.
    """
    for reply in replies:
        if not reply.ok or reply.claims:
            entries = f"OK with {len(reply.claims)} entries"
            raise Violation(
                f"{method} without claims",
                got=entries if reply.ok else f"{reply.code}: {reply.details}",
                want="OK without entries",
                proof=(reply.serial,),
            )
    fastest = min(reply.duration_s for reply in replies)
    if fastest > within_s:
        raise Violation(
            f"{method} without claims, {len(replies)} times",
            got=f"no answer before {fastest:.1f} s",
            want=f"an answer within {within_s:g} s",
            proof=tuple(reply.serial for reply in replies),
        )


def the_claim_must_have_been_read(
    reply: NodeReply, uid: str, *, new: Collection[Pair], reads: int, what: str
) -> None:
    """The driver knows the claim's allocation of that moment.

    Args:
        reply: the answer to Prepare after the re-allocation.
        uid: the claim.
        new: its allocation.
        reads: how often the driver has got or listed claims since the re-allocation.
        what: how a message calls the claim.
    """
    returned = pairs(reply.devices_of(uid), allocated=new)
    if not reads and returned and returned != set(new):
        raise Violation(
            what,
            got=f"{sorted(returned)}, and the driver has not read the claim since",
            want=f"the claim is read again: it has {sorted(new)} now",
            proof=(reply.serial,),
        )


def must_not_serve_the_old(reply: NodeReply, uid: str, *, new: Collection[Pair], what: str) -> None:
    """A claim whose allocation has changed without a release is refused, or served anew."""
    returned = pairs(reply.devices_of(uid), allocated=new)
    if not reply.error_for(uid) and returned and returned != set(new):
        raise Violation(
            what,
            got=f"OK with {sorted(returned)}",
            want=f"an error, or exactly {sorted(new)}",
            proof=(reply.serial,),
        )


def every_claim_must_have_an_entry(
    reply: NodeReply, asked: Iterable[ClaimRef], *, method: str
) -> None:
    """The key set of the answer contains each uid of the request."""
    wanted = {ref.uid for ref in asked}
    missing = wanted - set(reply.claims)
    if not reply.ok or missing:
        got = f"{len(reply.claims)} entries" if reply.ok else f"{reply.code}: {reply.details}"
        raise Violation(
            f"{method} of {len(wanted)} claims",
            got=got,
            want=f"an entry for each, also for {', '.join(sorted(missing))}",
            proof=(reply.serial,),
        )


def no_other_claims(reply: NodeReply, asked: Iterable[ClaimRef], *, method: str) -> None:
    """The answer has no uid that the request did not have."""
    extra = set(reply.claims) - {ref.uid for ref in asked}
    if extra:
        raise Violation(
            f"{method} answer",
            got=f"entries for {', '.join(sorted(extra))}",
            want="entries for the claims of the request only",
            proof=(reply.serial,),
        )


def pairs(devices: Iterable[PreparedDevice], *, allocated: Collection[Pair]) -> set[Pair]:
    """(pool, device) of returned devices.

    An empty pool name is completed from the allocation: that it is missing is one case's matter
    and must not be counted again by the others.
    """
    by_device = {device: (pool, device) for pool, device in allocated}
    found = set()
    for each in devices:
        pair = (each.pool_name, each.device_name)
        found.add(pair if each.pool_name else by_device.get(each.device_name, pair))
    return found


def devices_must_be_named(
    reply: NodeReply, uid: str, *, allocated: Collection[Pair], what: str
) -> None:
    """Each returned device names pool and device, and that pair is one of the claim's results."""
    for device in reply.devices_of(uid):
        pair = (device.pool_name, device.device_name)
        if not all(pair) or pair not in allocated:
            raise Violation(
                f"a device of {what}",
                got=f"pool_name {pair[0]!r}, device_name {pair[1]!r}",
                want=f"one of the allocation results {sorted(allocated)}",
                proof=(reply.serial,),
            )


def devices_must_be_all(
    reply: NodeReply, uid: str, *, allocated: Collection[Pair], what: str
) -> None:
    """The returned devices are exactly the allocated ones; one may come more than once."""
    returned = pairs(reply.devices_of(uid), allocated=allocated)
    if returned != set(allocated):
        raise Violation(
            f"devices of {what}",
            got=sorted(returned),
            want=f"exactly {sorted(allocated)}",
            proof=(reply.serial,),
        )


def only_these_devices(
    reply: NodeReply, uid: str, *, allocated: Collection[Pair], what: str
) -> None:
    """No device but the allocated ones is returned; a driver without CDI may return none."""
    returned = pairs(reply.devices_of(uid), allocated=allocated)
    if returned and returned != set(allocated):
        raise Violation(
            f"devices of {what}",
            got=sorted(returned),
            want=f"exactly {sorted(allocated)}",
            proof=(reply.serial,),
        )


def request_names_must_be_main_requests(
    reply: NodeReply, uid: str, *, requests: Mapping[Pair, Collection[str]], what: str
) -> None:
    """request_names is empty or holds main request names of the results for that device.

    Args:
        reply: the answer to Prepare.
        uid: the claim.
        requests: main request names by (pool, device) of the claim's results.
        what: how a message calls the claim.
    """
    for device in reply.devices_of(uid):
        pair = next(iter(pairs([device], allocated=requests)))
        allowed = set(requests.get(pair, ()))
        wrong = [name for name in device.request_names if name not in allowed]
        if wrong:
            raise Violation(
                f"request_names of device {device.device_name!r} in {what}",
                got=list(device.request_names),
                want=f"empty, or names among {sorted(allowed)}, without /subrequest",
                proof=(reply.serial,),
            )


def requests_must_be_apart(
    reply: NodeReply, uid: str, *, requests: Mapping[Pair, Collection[str]], what: str
) -> None:
    """Each returned device with CDI ids is for the requests of its own results, and no others.

    Names that are no requests of the claim at all are let pass: no container gets such a device.

    Args:
        reply: the answer to Prepare.
        uid: the claim.
        requests: main request names by (pool, device), of a claim with several requests.
        what: how a message calls the claim.
    """
    every = {name for names in requests.values() for name in names}
    for device in reply.devices_of(uid):
        if not device.cdi_device_ids:
            continue
        pair = next(iter(pairs([device], allocated=requests)))
        own = set(requests.get(pair, ()))
        others = every.intersection(device.request_names) - own
        if others or not device.request_names:
            raise Violation(
                f"request_names of device {device.device_name!r} in {what}",
                got=list(device.request_names),
                want=f"{sorted(own)} only (an empty list means all requests)",
                proof=(reply.serial,),
            )


Canonical = tuple[tuple[object, ...], ...]
"""An answer in a form that compares equal whatever the order of devices, names and ids."""


def canonical(devices: Sequence[PreparedDevice]) -> Canonical:
    """Devices, request names and CDI ids, without order."""
    return tuple(
        sorted(
            (
                each.pool_name,
                each.device_name,
                tuple(sorted(each.request_names)),
                tuple(sorted(each.cdi_device_ids)),
            )
            for each in devices
        )
    )


def must_be_the_same(first: NodeReply, again: NodeReply, uid: str, *, what: str) -> None:
    """A repeated Prepare succeeds with the answer of the first."""
    must_succeed(again, uid, what=what)
    before, after = canonical(first.devices_of(uid)), canonical(again.devices_of(uid))
    if before != after:
        raise Violation(
            what,
            got=list(after),
            want=f"the first answer again: {list(before)}",
            proof=(first.serial, again.serial),
        )


def simultaneous_must_agree(replies: Sequence[NodeReply], uid: str, *, what: str) -> NodeReply:
    """One of some simultaneous Prepares has succeeded, and all that did say the same.

    Returns the first of these.
    """
    proof = tuple(reply.serial for reply in replies)
    good = [reply for reply in replies if not reply.error_for(uid)]
    if not good:
        errors = "; ".join(reply.error_for(uid) for reply in replies)
        raise Violation(what, got=errors, want="at least one OK", proof=proof)
    answers = [canonical(reply.devices_of(uid)) for reply in good]
    for answer in answers:
        if answer != answers[0]:
            raise Violation(
                what, got=list(answer), want=f"the other's answer: {list(answers[0])}", proof=proof
            )
    return good[0]
