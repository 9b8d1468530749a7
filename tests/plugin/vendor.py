"""A vendor's script for the hooks of the bundled driver: ``vendor.py HOOK [ARGUMENTS]``.

It shares nothing with the suite; what it is about stands in the variables of the hook.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main(hook: str, driver_dir: Path) -> None:
    """Do what the hook wants, or print it."""
    faulty = driver_dir / f"faulty-{os.environ.get('DRA_DEVICE')}"
    unplugged = driver_dir / "unplugged"
    partitions = (driver_dir / "partitions").iterdir()
    if hook == "fault":
        faulty.touch()
    elif hook == "heal":
        faulty.unlink()
    elif hook == "remove":
        unplugged.touch()
    elif hook == "add":
        unplugged.unlink()
    elif hook == "inventory":
        sys.stdout.write("".join(f"{path.name}\n" for path in partitions))
    elif hook == "observe":
        note = driver_dir / "claims" / f"{os.environ['DRA_CLAIM_UID']}.json"
        sys.stdout.write(json.dumps(settings(json.loads(note.read_text("utf-8")))))
    elif hook == "metadata_update":
        (driver_dir / f"update-{os.environ['DRA_CLAIM_UID']}").touch()
    else:
        sys.exit(f"no such hook: {hook}")


def settings(note: object) -> list[object]:
    """What the driver has noted as set for the hook's device, wherever it stands."""
    if isinstance(note, list):
        return [found for each in note for found in settings(each)]
    if not isinstance(note, dict):
        return []
    if note.get("device") == os.environ["DRA_DEVICE"] and "config" in note:
        return [note["config"]]
    return settings(list(note.values()))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
