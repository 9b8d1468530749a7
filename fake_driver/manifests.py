"""What is installed in a cluster: the objects of ``manifests.yaml``."""

from __future__ import annotations

import importlib.resources
from typing import Any

import yaml


class Manifests:
    """The objects that are shipped."""

    def objects(self) -> list[dict[str, Any]]:
        """All of them, each made anew."""
        file = importlib.resources.files("pytest_dra.fake_driver") / "manifests.yaml"
        return list(yaml.safe_load_all(file.read_text("utf-8")))

    def text(self) -> str:
        """As YAML."""
        return yaml.safe_dump_all(self.objects(), sort_keys=False)
