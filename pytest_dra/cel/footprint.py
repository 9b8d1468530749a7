"""What of a device an expression can see: the constant chains that start at ``device``."""

from __future__ import annotations

from pytest_dra.cel.checker import Checked
from pytest_dra.cel.prepared import DRIVER
from pytest_dra.cel.prepared import SHARED
from pytest_dra.cel.prepared import domain_key
from pytest_dra.cel.prepared import leaf_key
from pytest_dra.cel.tree import Call
from pytest_dra.cel.tree import Const
from pytest_dra.cel.tree import Ident
from pytest_dra.cel.tree import Node
from pytest_dra.cel.tree import Select
from pytest_dra.cel.tree import children

_INDEX = frozenset({"_[_]", "_[?_]", "_?._"})


def step_of(node: Node) -> tuple[Node, str] | None:
    """Operand and key of one step with a constant string as its key."""
    if isinstance(node, Select):
        return node.operand, node.field
    if isinstance(node, Call) and node.function in _INDEX and node.target is None:
        key = node.args[1]
        if isinstance(key, Const) and isinstance(key.value, str):
            return node.args[0], key.value
    return None


def chain_of(node: Node, checked: Checked) -> tuple[str, ...] | None:
    """Keys of a chain from ``device``, None for anything else."""
    keys: list[str] = []
    while True:
        if isinstance(node, Ident) and checked.names.get(node.id) == "device":
            return tuple(reversed(keys))
        step = step_of(node)
        if step is None:
            return None
        node = step[0]
        keys.append(step[1])


def seen_key(chain: tuple[str, ...]) -> str | None:
    """The key under which the end of a chain is prepared, None if there is none.

    Chains into a value (a list element) end at the value.
    """
    if chain[:1] == ("driver",):
        return DRIVER
    if chain[:1] == ("allowMultipleAllocations",):
        return SHARED
    if len(chain) >= 3 and chain[0] in ("attributes", "capacity"):
        return leaf_key(chain[0], chain[1], chain[2])
    return None


def presence(node: Node, checked: Checked) -> str | None:
    """The key of the domain that ``"domain" in device.attributes`` asks for."""
    if not isinstance(node, Call) or node.function != "@in":
        return None
    domain, chain = node.args[0], chain_of(node.args[1], checked)
    if chain is None or len(chain) != 1 or not isinstance(domain, Const):
        return None
    if not isinstance(domain.value, str) or chain[0] not in ("attributes", "capacity"):
        return None
    return domain_key(chain[0], domain.value)


def footprint(checked: Checked) -> tuple[str, ...] | None:
    """Keys of all that an expression can see of a device, None if that is not fixed."""
    found: dict[str, None] = {}
    pending: list[Node] = [checked.root]
    while pending:
        node = pending.pop()
        domain = presence(node, checked)
        if domain is not None:
            found[domain] = None
            continue
        chain = chain_of(node, checked)
        if chain is None:
            pending.extend(children(node))
            continue
        key = seen_key(chain)
        if key is None:
            return None
        found[key] = None
    return tuple(found)
