"""What is installed in a cluster: the objects of ``manifests.yaml``."""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from typing import Any
from typing import Final

import yaml

from pytest_dra.fake_driver.features import UNPREPARED
from pytest_dra.fake_driver.features import WEBHOOK

PLAIN: Final = "manifests.yaml"

MORE: Final = {
    name: f"{name}.yaml" for name in ("conditions", "dynamic", "shares", UNPREPARED, WEBHOOK)
}
"""Files of features."""


class Manifests:
    """The objects that are shipped for a driver with these features."""

    def __init__(self, features: Sequence[str] = ()) -> None:
        self.features = features

    def objects(self) -> list[dict[str, Any]]:
        """All of them, each made anew."""
        names = [PLAIN, *(MORE[each] for each in self.features if each in MORE)]
        folder = importlib.resources.files("pytest_dra.fake_driver")
        texts = [(folder / name).read_text("utf-8") for name in names]
        return [each for text in texts for each in yaml.safe_load_all(text)]

    def text(self) -> str:
        """As YAML."""
        return yaml.safe_dump_all(self.objects(), sort_keys=False)
