"""Secrets taken out of what a report quotes: command lines, environment, profile, logs.

A report is meant to be published. What looks like a credential is replaced; what merely might be
one (a driver's own parameter) is left, because a report must also be readable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

REDACTED = "<redacted>"

SECRET_NAME = re.compile(
    r"(?i)(^|[-_.])(token|secret|password|passwd|passphrase|credentials?|api[-_]?key"
    r"|private[-_]?key|access[-_]?key|key[-_]?data|authorization)($|[-_.])"
)
"""Names of fields, variables and options whose value is a secret."""

HOLDER = "Secret"
"""The kind of object whose content is secret."""

HELD = frozenset({"data", "stringData"})
"""Fields of it whose values are secret, whatever their names are."""

CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
"""Where a word begins inside of a camelCase name."""

_NAMES = (
    "(?:token|secret|password|passwd|passphrase|credentials|api[-_]?key|private[-_]?key"
    "|access[-_]?key)"
)
"""Ends of the names of secrets, in running text."""

_CLOSED = r"\\{0,4}[\"']?"
"""The quote after a name, also where quotes are escaped, as in a log that quotes JSON."""

_BETWEEN = r"[ \t]{0,8}(?:=|:)[ \t]{0,8}"
"""What stands between a name and its value."""

PATTERNS = (
    # Authorization: Bearer xyz
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"), rf"\1 {REDACTED}"),
    (
        re.compile(
            r"(?i)(authorization[\"']?[:=]\s{0,8}[\"']?(?:token|apikey|negotiate)\s+)[^\s<\"',]{1,8192}"
        ),
        rf"\1{REDACTED}",
    ),
    # JSON web tokens, as service accounts have them
    (re.compile(r"\beyJ[A-Za-z0-9_-]{10,}(\.[A-Za-z0-9_-]*){0,2}"), REDACTED),
    # https://user:password@host
    (re.compile(r"(?<=://)[^\s/@:]{0,256}:[^\s/@]{1,256}@"), f"{REDACTED}@"),
    # kubeconfig=/home/someone/.kube/config, but not kubeconfig={kubeconfig}, nor a context
    (
        re.compile(
            r"(?i)((?<!--dra-cluster=)kubeconfig(?:=|\s+|:\s*))(?=[^\s{}'\",]*[/\\])[^\s{}'\",]+"
        ),
        rf"\1{REDACTED}",
    ),
    # "apiKey": "x y", --password "x y", and the same in a quoted text: \"apiKey\": \"x\"
    (
        re.compile(
            rf"(?i)({_NAMES}{_CLOSED}{_BETWEEN}|--[a-z-]{{0,40}}{_NAMES}[ \t]{{1,8}})"
            r"(\\{0,4}[\"'])(?!<redacted>|\{)((?!\2)[^\n]){1,8192}?(?=\2)"
        ),
        rf"\1\2{REDACTED}",
    ),
    # --token=x, PASSWORD=x, token x
    (
        re.compile(
            rf"(?i)({_NAMES}{_CLOSED}(?:{_BETWEEN}|\s+(?=[^\s-]{{16}}))[\"']?)"
            r"(?!\\{0,4}[\"']?(?:<redacted>|\{))[^\s\"',]+"
        ),
        rf"\1{REDACTED}",
    ),
    # --token x
    (
        re.compile(
            rf"(?i)(--[a-z-]{{0,40}}{_NAMES}\s+)(?!\\{{0,4}}[\"']?<redacted>|[-{{])[^\s\"',]+"
        ),
        rf"\1{REDACTED}",
    ),
    # what well-known issuers make: their prefixes are given so that they can be found
    (
        re.compile(
            r"\b(?:gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{20,}"
            r"|xox[abprs]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}"
            r"|nvapi-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}|dckr_pat_[A-Za-z0-9_-]{20,})"
        ),
        REDACTED,
    ),
    # keys and certificates, also in base64 as kubeconfig files and Secrets have them
    (re.compile(r"\bLS0tLS1CRUdJTi[A-Za-z0-9+/=]+"), REDACTED),
    (
        re.compile(
            r"-----BEGIN [A-Z ]{1,40}-----"
            r"(?:(?:(?!-----BEGIN)[\s\S]){0,8192}?-----END [A-Z ]{1,40}-----|[^-]*)"
        ),
        REDACTED,
    ),
)


def redacted(text: str) -> str:
    """``text`` without tokens, passwords, keys and paths of kubeconfig files."""
    for pattern, replacement in PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def redacted_data(value: object) -> object:
    """Plain data (mappings, lists, scalars) with every string redacted.

    Of a field whose name says that it is secret (``apiToken``, ``DB_PASSWORD``) nothing is left;
    the element after an option such as ``--token`` or ``--kubeconfig`` in a list is replaced too,
    and everything that a Kubernetes Secret holds.
    """
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        if value.get("kind") == HOLDER:
            value = {key: _emptied(each) if key in HELD else each for key, each in value.items()}
        return {
            key: REDACTED
            if isinstance(each, str) and each and is_secret_name(str(key))
            else redacted_data(each)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return _list(value)
    return value


def _emptied(held: object) -> object:
    return dict.fromkeys(held, REDACTED) if isinstance(held, Mapping) else REDACTED


def is_secret_name(name: str) -> bool:
    """True if a field, variable or option of this name holds a credential."""
    return SECRET_NAME.search(CAMEL.sub("_", name)) is not None


def _list(items: list[object] | tuple[object, ...]) -> list[object]:
    found: list[object] = []
    after_secret = False
    for item in items:
        literal = isinstance(item, str) and not item.startswith(("-", "{"))
        found.append(REDACTED if after_secret and literal else redacted_data(item))
        after_secret = isinstance(item, str) and _takes_secret(item)
    return found


def _takes_secret(word: str) -> bool:
    """True if the next word of a command line is the value of this secret option."""
    if not word.startswith("-") or "=" in word:
        return False
    return is_secret_name(word) or word.lstrip("-").lower() == "kubeconfig"
