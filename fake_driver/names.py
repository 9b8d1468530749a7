"""Legal names: what is checked before a name becomes part of a path or a URL."""

from __future__ import annotations

import re
from typing import Final

LABEL_MAX: Final = 63
"""Characters of a DNS label, of a namespace and of a driver name."""

SUBDOMAIN_MAX: Final = 253
"""Characters of a DNS subdomain: node names, claim names, pool names."""

UID_MAX: Final = 63
"""Characters of a UID that we take; the API server's have 36."""

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_UID_RE = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?")


def is_label(text: str) -> bool:
    """True for a DNS label (RFC 1123, lower case)."""
    return len(text) <= LABEL_MAX and _LABEL_RE.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """True for a DNS subdomain (RFC 1123, lower case)."""
    return len(text) <= SUBDOMAIN_MAX and _SUBDOMAIN_RE.fullmatch(text) is not None


def is_pool(text: str) -> bool:
    """True for a pool name: DNS subdomains joined by ``/``."""
    return len(text) <= SUBDOMAIN_MAX and all(is_subdomain(part) for part in text.split("/"))


def is_driver(text: str) -> bool:
    """True for a driver name that can also be a CDI vendor, which starts with a letter."""
    return 1 < len(text) <= LABEL_MAX and is_subdomain(text) and text[0].isalpha()


def is_uid(text: str) -> bool:
    """True for a UID that is safe as a part of a file name and of a CDI device name."""
    return len(text) <= UID_MAX and _UID_RE.fullmatch(text) is not None
