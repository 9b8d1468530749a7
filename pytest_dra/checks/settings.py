"""What is set for a claim's devices by opaque configuration."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence

from pytest_dra.checks import prepare
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation
from pytest_dra.wire.answers import NodeReply

HOOK = "hooks.observe"
"""What shows a setting."""

SHOWN = 200
"""Characters of a setting that a finding shows."""


def setting_must_be(
    seen: str, *, wanted: str, others: Mapping[str, str], what: str, want: str
) -> None:
    """What is in force is what the applicable configuration alone would set.

    Args:
        seen: what is in force.
        wanted: what is, where only the applicable configuration is given.
        others: the same for the other configurations, by whose they are.
        what: how a message calls the claim.
        want: how a message calls the applicable configuration.
    """
    if seen != wanted:
        whose = next((name for name, text in others.items() if text == seen), "")
        raise Violation(
            f"setting of {what}",
            got=f"that of {whose}" if whose else seen[:SHOWN],
            want=want,
        )


CONFIGURATION = ("config", "param", "opaque")
"""A text that names a configuration has one of these, or a word of the configuration itself."""


def refusal_must_name_the_configuration(
    reply: NodeReply, uid: str, *, words: Collection[str], what: str
) -> None:
    """A bad configuration is refused, with a text that says that it is the configuration.

    Args:
        reply: the answer to Prepare.
        uid: the claim.
        words: of the configuration, which may stand in the text instead.
        what: how a message calls the call.
    """
    prepare.must_be_refused(reply, uid, what=what)
    text = reply.error_for(uid)
    known = {*CONFIGURATION, *words}
    if not any(word.casefold() in text.casefold() for word in known):
        raise Violation(
            f"error of {what}",
            got=text,
            want=f"a text that names the configuration: {', '.join(sorted(known))}",
            proof=(reply.serial,),
        )


def steady(observe: Callable[[], str]) -> str:
    """What the hook prints for one setting; asked twice, of two claims.

    Raises:
        UnsupportedEnvironment: it prints something else the second time: that proves nothing.
    """
    first, again = observe(), observe()
    if first != again:
        raise UnsupportedEnvironment(
            f"{HOOK} prints {first!r:.100} and then {again!r:.100} "
            "for the same setting of two claims",
            way_out="let it print what is set, and nothing that each claim has anew",
        )
    return first


def samples_at_least(samples: Sequence[Json], count: int) -> Sequence[Json]:
    """The first ``samples.good_config``.

    Raises:
        UnsupportedEnvironment: there are fewer.
    """
    if len(samples) < count:
        raise UnsupportedEnvironment(
            f"{count} different settings are needed, samples.good_config has {len(samples)}",
            way_out=f"give as many that {HOOK} tells apart",
        )
    return samples[:count]


def must_differ(
    seen: Sequence[str],
    *,
    of: str = "samples.good_config",
    way_out: str = "give three samples.good_config that it tells apart",
) -> None:
    """Settings that look alike prove nothing.

    Raises:
        UnsupportedEnvironment: they do; ``of`` says what differs, ``way_out`` what would help.
    """
    if len(set(seen)) < len(seen):
        raise UnsupportedEnvironment(f"{HOOK} prints the same for different {of}", way_out=way_out)
