"""Legal variants of metadata: V20."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.metadata import Metadata

TORN_S: Final = 0.03
"""So long is a file half written."""


class InHalves(Metadata):
    """V20: overwritten in place, so that a reader may meet a half of it."""

    def overwrite(self, path: Path, data: bytes) -> None:
        half = len(data) // 2
        with path.open("r+b") as file:
            file.truncate(0)
            file.write(data[:half])
            file.flush()
            threading.Event().wait(TORN_S)
            file.write(data[half:])


class OneVersion(Metadata):
    """V20: the oldest version alone, and attributes by their whole names."""

    def encode(self, document: Mapping[str, Any]) -> bytes:
        newest, oldest = super().encode(document).split(b"}\n{")
        del newest
        return b"{" + oldest

    def attributes(self, held: Held, inventory: Inventory) -> Mapping[str, Any]:
        found = super().attributes(held, inventory)
        driver = self.options.driver_name
        return {name if "/" in name else f"{driver}/{name}": found[name] for name in found}


VARIANTS: Final[dict[str, dict[str, type[Any]]]] = {
    "V20": {"metadata": InHalves},
    "V20-ONE": {"metadata": OneVersion},
}
