"""Formats of Kubernetes names.

Each ``*_error`` function returns "" for a legal text, else the rule that it breaks, in words fit
for a message. Source: validation of kube-apiserver 1.37, see also the ``is_*`` predicates below.
"""

from __future__ import annotations

import re
from typing import Final

LABEL_MAX: Final = 63
"""Longest DNS-1123 label (RFC 1123), also the longest label name and label value."""

SUBDOMAIN_MAX: Final = 253
"""Longest DNS-1123 subdomain."""

DRIVER_NAME_MAX: Final = 63
"""Longest driver name, as for CSI drivers."""

POOL_NAME_MAX: Final = 253
"""Longest pool name, all its ``/`` separated parts together."""

C_IDENTIFIER_MAX: Final = 32
"""Longest identifier of an attribute or a capacity."""

_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(
    r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
)
_C_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SEMVER: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
    r"(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


def dns_label_error(text: str) -> str:
    """A DNS-1123 label: lower case letters, digits, ``-`` inside; 63 at most."""
    if len(text) > LABEL_MAX:
        return _too_long(LABEL_MAX)
    if _LABEL.fullmatch(text) is None:
        return (
            "must be a DNS-1123 label: lower case letters, digits or '-', "
            "starting and ending with a letter or digit"
        )
    return ""


def dns_subdomain_error(text: str) -> str:
    """Dot separated DNS-1123 labels, 253 characters at most."""
    if len(text) > SUBDOMAIN_MAX:
        return _too_long(SUBDOMAIN_MAX)
    if _SUBDOMAIN.fullmatch(text) is None:
        return (
            "must be a DNS-1123 subdomain: lower case letters, digits, '-' or '.', "
            "every part starting and ending with a letter or digit"
        )
    return ""


def driver_name_error(text: str) -> str:
    """A driver name: required, 63 at most, a DNS subdomain once lower-cased.

    So upper case letters pass, as they do on the server, although the documentation says lower
    case.
    """
    if not text:
        return "must not be empty"
    if len(text) > DRIVER_NAME_MAX:
        return _too_long(DRIVER_NAME_MAX)
    return dns_subdomain_error(text.lower())


def pool_name_error(text: str) -> str:
    """A pool name: DNS subdomains separated by ``/``, 253 in total."""
    if not text:
        return "must not be empty"
    if len(text) > POOL_NAME_MAX:
        return _too_long(POOL_NAME_MAX)
    for part in text.split("/"):
        error = dns_subdomain_error(part)
        if error:
            return f"part {part!r}: {error}"
    return ""


def c_identifier_error(text: str) -> str:
    """A C identifier of at most 32 characters."""
    if len(text) > C_IDENTIFIER_MAX:
        return _too_long(C_IDENTIFIER_MAX)
    if _C_IDENTIFIER.fullmatch(text) is None:
        return "must be a C identifier: letters, digits or '_', not starting with a digit"
    return ""


def qualified_name_error(text: str, *, domain_required: bool = False) -> str:
    """The name of an attribute or capacity: ``ID`` or ``domain/ID``.

    A text with more than one slash passes unchecked, as it does on kube-apiserver 1.37.
    """
    if not text:
        return "must not be empty"
    parts = text.split("/")
    if len(parts) > 2:
        return ""
    if len(parts) == 1:
        return "must include a domain" if domain_required else c_identifier_error(text)
    domain, identifier = parts
    if not domain:
        return "the domain must not be empty"
    if not identifier:
        return "the name must not be empty"
    error = driver_name_error(domain)
    if error:
        return f"domain {domain!r}: {error}"
    return c_identifier_error(identifier)


def node_name_error(text: str) -> str:
    """A node name is a DNS subdomain."""
    return dns_subdomain_error(text)


def label_key_error(text: str) -> str:
    """A label key (also: taint key, condition type): ``name`` or ``prefix/name``."""
    prefix, slash, name = text.rpartition("/")
    if slash:
        if not prefix:
            return "the prefix must not be empty"
        error = dns_subdomain_error(prefix)
        if error:
            return f"prefix {prefix!r}: {error}"
    if not name:
        return "the name must not be empty"
    if len(name) > LABEL_MAX:
        return "the name " + _too_long(LABEL_MAX)
    if _LABEL_NAME.fullmatch(name) is None:
        return "the name must be letters, digits, '-', '_' or '.', alphanumeric at both ends"
    return ""


def label_key_errors(text: str) -> list[str]:
    """All that is wrong with a label key: each of its rules may be broken for itself."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return ["must be a name with an optional DNS subdomain prefix and '/'"]
    found = []
    if slash and not prefix:
        found.append("the prefix must not be empty")
    elif slash and (error := dns_subdomain_error(prefix)):
        found.append(f"prefix {prefix!r}: {error}")
    if not name:
        found.append("the name must not be empty")
    elif len(name) > LABEL_MAX:
        found.append("the name " + _too_long(LABEL_MAX))
    if _LABEL_NAME.fullmatch(name) is None:
        found.append("the name must be letters, digits, '-', '_' or '.', alphanumeric at both ends")
    return found


def label_value_error(text: str) -> str:
    """A label value: empty, or at most 63 of letters, digits, ``-_.``, alphanumeric at the ends."""
    if not text:
        return ""
    if len(text) > LABEL_MAX:
        return _too_long(LABEL_MAX)
    if _LABEL_NAME.fullmatch(text) is None:
        return "must be letters, digits, '-', '_' or '.', alphanumeric at both ends"
    return ""


def uid_error(text: str) -> str:
    """RFC 4122 text form, lower case, 36 characters (share ids)."""
    return "" if _UID.fullmatch(text) else "must be a lower case RFC 4122 UUID"


def semver_error(text: str) -> str:
    """Strict semantic version 2.0.0 (version attributes)."""
    if _SEMVER.fullmatch(text) is None:
        return "must be a semantic version 2.0.0: major.minor.patch[-pre][+build]"
    return ""


def is_dns_label(text: str) -> bool:
    """True for a DNS-1123 label."""
    return not dns_label_error(text)


def is_dns_subdomain(text: str) -> bool:
    """True for a DNS-1123 subdomain."""
    return not dns_subdomain_error(text)


def is_driver_name(text: str) -> bool:
    """True for a driver name that the server accepts (upper case included)."""
    return not driver_name_error(text)


def is_pool_name(text: str) -> bool:
    """True for a pool name."""
    return not pool_name_error(text)


def is_qualified_name(text: str) -> bool:
    """True for the name of an attribute or capacity, with or without domain."""
    return not qualified_name_error(text)


def is_c_identifier(text: str) -> bool:
    """True for a C identifier of at most 32 characters."""
    return not c_identifier_error(text)


def is_node_name(text: str) -> bool:
    """True for a node name."""
    return not node_name_error(text)
