"""The strategies of ConfigMaps and Secrets: keys, sizes, types, and what may no longer change."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_dra.api import names
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.spec import Json

_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")

OBJECT_MAX: Final = 1024 * 1024
"""Most bytes of data in a ConfigMap or Secret."""

_NEEDED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "kubernetes.io/tls": ("tls.crt", "tls.key"),
        "kubernetes.io/ssh-auth": ("ssh-privatekey",),
        "kubernetes.io/dockercfg": (".dockercfg",),
        "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    }
)
"""Keys that a Secret of some types has to have."""


class ConfigMaps(Strategy):
    """ConfigMaps and their keys."""

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Keys are file names, the whole is at most 1 MiB."""
        size = 0
        other = obj.get("binaryData") or {}
        for part in ("data", "binaryData"):
            for key, value in (obj.get(part) or {}).items():
                _validate_key(f"{part}[{key}]", key, report)
                if part == "data" and key in other:
                    report.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
                size += len(value.encode()) if part == "data" else len(base64.b64decode(value))
        if size > OBJECT_MAX:
            report.too_long("[]", OBJECT_MAX)

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """What has been declared immutable stays as it is."""
        _validate_immutable(new, old, ("data", "binaryData"), report)
        self.validate_create(new, ctx, report)


class Secrets(Strategy):
    """Secrets: ``stringData`` goes into ``data``."""

    def default(self, obj: Json) -> None:
        """The type; write-only text becomes encoded data at once, so that is what is owned."""
        if not obj.get("type"):
            obj["type"] = "Opaque"
        plain = obj.pop("stringData", None) or {}
        for key, text in plain.items():
            data = obj["data"] = dict(obj.get("data") or {})
            data[key] = base64.b64encode(text.encode()).decode()

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Keys are file names; some types need some keys."""
        data = obj.get("data") or {}
        for key in data:
            _validate_key(f"data[{key}]", key, report)
        for key in _NEEDED.get(obj["type"], ()):
            if key not in data:
                report.required(f"data[{key}]")

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """The type stays, and the rest of what has been declared immutable."""
        if new["type"] != old["type"]:
            report.invalid("type", new["type"], "field is immutable")
        _validate_immutable(new, old, ("data",), report)
        self.validate_create(new, ctx, report)


def _validate_immutable(new: Json, old: Json, parts: tuple[str, ...], report: Report) -> None:
    if not old.get("immutable"):
        return
    why = "field is immutable when `immutable` is set"
    if not new.get("immutable"):
        report.forbidden("immutable", why)
    for part in parts:
        if (new.get(part) or {}) != (old.get(part) or {}):
            report.forbidden(part, why)


def _validate_key(path: str, key: str, report: Report) -> None:
    if _CONFIG_KEY.fullmatch(key) is None or len(key) > names.SUBDOMAIN_MAX:
        report.invalid(path, key, "a valid config key must consist of alphanumerics, '-', '_', '.'")
    elif key == ".":
        report.invalid(path, key, "must not be '.'")
    elif key.startswith(".."):
        report.invalid(path, key, "must not start with '..'")
