"""Whether every request can have its own devices, if they cannot be shared."""

from __future__ import annotations

from collections.abc import Sequence


def assigns(slots: Sequence[tuple[int, int]]) -> bool:
    """True if each slot, a set and a number, can have as many members of its set for itself.

    A matching of slots and members, improved along paths that change hands.
    """
    holder: dict[int, int] = {}
    sets = [members for members, count in slots for _ in range(count)]
    return all(_place(number, sets, holder) for number in range(len(sets)))


def _place(number: int, sets: Sequence[int], holder: dict[int, int]) -> bool:
    """Find a member for one more slot; those who have one may have to take another."""
    seen = 0
    came_from: dict[int, int] = {}
    pending = [number]
    while pending:
        current = pending.pop()
        fresh = sets[current] & ~seen
        while fresh:
            low = fresh & -fresh
            fresh ^= low
            seen |= low
            member = low.bit_length() - 1
            came_from[member] = current
            if member in holder:
                pending.append(holder[member])
                continue
            _change_hands(member, number, holder, came_from)
            return True
    return False


def _change_hands(
    member: int, number: int, holder: dict[int, int], came_from: dict[int, int]
) -> None:
    held = {slot: one for one, slot in holder.items()}
    while True:
        slot = came_from[member]
        before = held.get(slot)
        holder[member] = slot
        if slot == number or before is None:
            return
        member = before
