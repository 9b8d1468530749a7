"""Small checks of the files, names and edits of CDI specs."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inotify_simple
from inotify_simple import flags

from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import at_each_answer
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good

BINDS = frozenset({"bind", "rbind"})


def _edits(rig: Rig) -> Iterator[Any]:
    for spec in rig.specs().values():
        yield from (device["containerEdits"] for device in spec["devices"])


@check("CDI-003")
def _(rig: Rig) -> None:
    seen: dict[str, Any] = {}
    for _ in range(2):
        claim = rig.claim(result("gpu-0"))
        entry = good(rig, claim)
        found = {id: rig.edits(id) for device in entry.devices for id in device.cdi_device_ids}
        freed(rig, claim)
        assert all(seen.setdefault(id, edits) == edits for id, edits in found.items())


def _events(rig: Rig) -> list[Any]:
    """What happens to specs in the CDI directory while a claim is prepared."""
    claim = rig.claim(result("gpu-0"))
    rig.options.cdi_root.mkdir(exist_ok=True)
    with inotify_simple.INotify() as watch:
        mask = flags.CLOSE_WRITE | flags.MODIFY | flags.MOVED_FROM | flags.MOVED_TO | flags.CREATE
        watch.add_watch(rig.options.cdi_root, mask)
        good(rig, claim)
        events = list(watch.read(timeout=0))
    freed(rig, claim)
    return events


@check("CDI-004")
def _(rig: Rig) -> None:
    closed = [e for e in _events(rig) if e.mask & flags.CLOSE_WRITE and e.name.endswith(".json")]
    assert len(closed) <= 1


@check("CDI-008")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    good(rig, claim)
    versions = {spec["cdiVersion"] for spec in rig.specs().values()}
    freed(rig, claim)
    assert versions <= {"0.5.0"}


@check("CDI-006")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    good(rig, claim)
    made = [path for path in rig.texts() if claim.uid in path.name]
    freed(rig, claim)
    assert {path.parent for path in made} <= {rig.options.cdi_root}


@at_each_answer("CDI-007")
def _(rig: Rig, entry: Any) -> None:
    for edits in _edits(rig):
        paths = [node.get("hostPath", node["path"]) for node in edits.get("deviceNodes", ())]
        assert all(Path(path).is_char_device() for path in paths)


@at_each_answer("CDI-009")
def _(rig: Rig, entry: Any) -> None:
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o644 for path in rig.texts())


@check("CDI-012")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0", "a"), result("gpu-1", "b"))
    entry = good(rig, claim)
    freed(rig, claim)
    named = {device.device_name: list(device.request_names) for device in entry.devices}
    others = {"gpu-0": "b", "gpu-1": "a"}
    assert all(names and others[device] not in names for device, names in named.items())


@at_each_answer("CDI-014")
def _(rig: Rig, entry: Any) -> None:
    for spec in rig.texts().values():
        for device in spec["devices"]:
            assert "additionalGids" not in device["containerEdits"] or spec["cdiVersion"] >= "0.7.0"


@check("CDI-015")
def _(rig: Rig) -> None:
    events = _events(rig)
    left = {event.cookie for event in events if event.mask & flags.MOVED_FROM}
    came = [event for event in events if event.mask & flags.MOVED_TO]
    modified = {event.name for event in events if event.mask & flags.MODIFY}
    assert all(event.cookie in left for event in came)
    created = [event.name for event in events if event.mask & flags.CREATE]
    assert all(name in modified for name in created)


@at_each_answer("CDI-016")
def _(rig: Rig, entry: Any) -> None:
    for spec in rig.texts().values():
        assert all(
            None not in device["containerEdits"].get("mounts", ()) for device in spec["devices"]
        )


@at_each_answer("CDI-017")
def _(rig: Rig, entry: Any) -> None:
    for edits in _edits(rig):
        assert all(BINDS & set(mount["options"]) for mount in edits.get("mounts", ()))
