"""What secrets look like in running text: patterns, and what is left of each.

A pattern is bounded and finds nothing in what it has left, so that a second pass changes nothing.
"""

from __future__ import annotations

import re
from typing import Final

REDACTED: Final = "<redacted>"

_NAMES: Final = (
    "(?:token|secret|password|passwd|passphrase|credentials?|api[-_]?key|private[-_]?key"
    "|access[-_]?key|secret[-_]?key|account[-_]?key|signing[-_]?key|encryption[-_]?key|key-data"
    "|(?<![a-z])bearer)"
)
"""Ends of the names of secrets, in running text."""

_QUOTE: Final = r"\\{0,4}[\"']"
"""Also where quotes are escaped, as in a log that quotes JSON."""

_CLOSED: Final = rf"(?:{_QUOTE})?"
"""The quote after a name."""

_BETWEEN: Final = r"[ \t]{0,8}(?:=|:)[ \t]{0,8}"
"""What stands between a name and its value."""

_BASE64: Final = "[A-Za-z0-9+/]"
_SPACE: Final = r"(?:\s|\\{1,4}[nr])"
"""White space, also where line ends are escaped, as in a ``repr``."""

_MORE_LINES: Final = (
    rf"(?:{_SPACE}{{1,40}}{_BASE64}{{20,}}={{0,2}})*"
    rf"(?:{_SPACE}{{1,40}}{_BASE64}{{2,20}}={{1,2}})?"
)
"""Of base64 that is broken into lines."""

NAMED_AT_ALL: Final = re.compile(f"(?i){_NAMES}")
"""Found in each text with one of the forms in which a name goes before a secret."""

WITHOUT_NAMES: Final = (
    # Bearer xyz, also within a URL
    (
        re.compile(r"(?i)\b(bearer|basic)(\s+|%20|\+)[A-Za-z0-9._~+/=%-]{8,}"),
        rf"\1\2{REDACTED}",
    ),
    # Authorization: Bearer xyz, however short; and without a scheme what looks like a token
    (
        re.compile(rf"(?i)(authorization{_CLOSED}[:=]\s{{0,8}}{_CLOSED}digest\s+)[^\n]{{1,8192}}"),
        rf"\1{REDACTED}",
    ),
    (
        re.compile(
            rf"(?i)(authorization{_CLOSED}[:=]\s{{0,8}}\[?{_CLOSED}"
            r"(?:bearer|basic|token|apikey|negotiate)(?:\s+|%20))[^\s<\"',\]]{1,8192}"
        ),
        rf"\1{REDACTED}",
    ),
    (
        re.compile(
            rf"(?i)(authorization{_CLOSED}[:=]\s{{0,8}}\[?{_CLOSED})"
            r"(?=[a-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{12,}"
        ),
        rf"\1{REDACTED}",
    ),
    # Cookie: session=xyz
    (
        re.compile(
            rf"(?i)(\b(?:set-)?cookie{_CLOSED}\s{{0,4}}:\s{{0,8}}\[?{_CLOSED})"
            r"[^\s<\"'\[][^\n\"']{0,8192}"
        ),
        rf"\1{REDACTED}",
    ),
    # JSON web tokens, as service accounts have them; and the same, or a header, in base64
    (
        re.compile(
            r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))eyJ[A-Za-z0-9_-]{10,}(\.[A-Za-z0-9_-]*){0,2}"
        ),
        REDACTED,
    ),
    (
        re.compile(
            rf"(?:(?<![A-Za-z0-9+/])|(?<=\\[nrt]))(?:ZXlK|[QY]mVhcmVyI|[QY]mFzaWMg){_BASE64}{{6,}}={{0,2}}"
            f"{_MORE_LINES}"
        ),
        REDACTED,
    ),
    # https://user:password@host, in JSON that escapes slashes, too; https://token@host
    (
        re.compile(r"(:\\{0,4}/\\{0,4}/)[^\s/@:\"'<>]{0,256}:[^\s/\"'<>]{1,256}@"),
        rf"\1{REDACTED}@",
    ),
    (re.compile(r"(:\\{0,4}/\\{0,4}/)[A-Za-z0-9_.~%+-]{20,256}@"), rf"\1{REDACTED}@"),
    # https://user:passwo, cut off: what stands behind the colon is no port
    (
        re.compile(
            r"(:\\{0,4}/\\{0,4}/)[^\s/@:\"'<>\[]{1,256}:(?![0-9]{1,5}(?:[^0-9]|$)|[{$%<])[^\s/\"'<>]{4,256}"
        ),
        rf"\1{REDACTED}",
    ),
    # ?sig=xyz, by which a URL is a right
    (
        re.compile(r"(?i)([?&;](?:sig|signature|x-(?:amz|goog)-signature)=)[^\s&\"'<>]{8,8192}"),
        rf"\1{REDACTED}",
    ),
    # kubeconfig=/home/someone/.kube/config, but not kubeconfig={kubeconfig}, nor a context
    (
        re.compile(
            r"(?i)((?<!--dra-cluster=)kubeconfig(?:=|\s+|:\s*))(?=[^\s{}'\",]*[/\\])[^\s{}'\",]+"
        ),
        rf"\1{REDACTED}",
    ),
    # "auth": "dXNlcjpwYXNz", as registries have it
    (
        re.compile(
            rf"({_QUOTE}_?auth{_QUOTE}[ \t]{{0,8}}:[ \t]{{0,8}}{_QUOTE}){_BASE64}{{8,}}={{0,2}}"
        ),
        rf"\1{REDACTED}",
    ),
)

NAMED: Final = (
    # name: DB_PASSWORD, value: x, as containers have it
    (
        re.compile(
            rf"(?i)(\bname{_CLOSED}{_BETWEEN}{_CLOSED}[a-z0-9_.-]{{0,80}}{_NAMES}{_CLOSED},?{_SPACE}{{0,80}}"
            rf"{_CLOSED}value{_CLOSED}{_BETWEEN})({_QUOTE})"
            r"(?!<redacted>|\{)((?!\2)[^\n]){1,8192}?(?=\2)"
        ),
        rf"\1\2{REDACTED}",
    ),
    (
        re.compile(
            rf"(?i)(\bname{_CLOSED}{_BETWEEN}{_CLOSED}[a-z0-9_.-]{{0,80}}{_NAMES}{_CLOSED},?{_SPACE}{{1,80}}"
            rf"value:[ \t]{{0,8}})(?!<redacted>|\{{)[^\s\"',}}]+"
        ),
        rf"\1{REDACTED}",
    ),
    # privateKey: | with lines below it
    (
        re.compile(
            rf"(?i)({_NAMES}{_CLOSED}:[ \t]{{0,8}})[|>][-+0-9]{{0,2}}[ \t]*"
            r"(?:(?:\n[ \t]+[^\n]{1,4096}){1,400}|(?:\\{1,4}[nr]|[ \t])[^\n]{1,8192})"
        ),
        rf"\1{REDACTED}",
    ),
    # "apiKey": "x y", --password "x y", and the same in a quoted text: \"apiKey\": \"x\"
    (
        re.compile(
            rf"(?i)({_NAMES}{_CLOSED}{_BETWEEN}|--[a-z-]{{0,40}}{_NAMES}[ \t]{{1,8}})"
            rf"({_QUOTE})(?!<redacted>|\{{)((?!\2)[^\n]){{1,8192}}?(?=\2)"
        ),
        rf"\1\2{REDACTED}",
    ),
    # ["--token", "x"]
    (
        re.compile(
            rf"(?i)(--[a-z-]{{0,40}}{_NAMES}{_QUOTE},\s{{0,8}}({_QUOTE}))"
            r"(?!<redacted>|\{|-)((?!\2)[^\n]){1,8192}?(?=\2)"
        ),
        rf"\1{REDACTED}",
    ),
    # --token=x, PASSWORD=x, token x, the token is x
    (
        re.compile(
            rf"(?i)({_NAMES}{_CLOSED}(?:{_BETWEEN}|\s+(?=[^\s-]{{16}}))[\"']?)"
            r"(?!\\{0,4}[\"']?(?:<redacted>|\{))[^\s\"',]+"
        ),
        rf"\1{REDACTED}",
    ),
    (
        re.compile(
            rf"(?i)({_NAMES}\s(?:is|was)\s[\"']?)(?=[^\s0-9]{{0,200}}[0-9])[^\s\"',]{{16,}}"
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
)

AT_LAST: Final = (
    # what well-known issuers make: their prefixes are given so that they can be found
    (
        re.compile(
            r"\b(?:gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{20,}"
            r"|xox[abprs]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}"
            r"|nvapi-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}|dckr_pat_[A-Za-z0-9_-]{20,}"
            r"|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|glsa_[A-Za-z0-9_]{40,}"
            r"|hvs\.[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}|SG\.[\w-]{22}\.[\w-]{43}"
            r"|sk-(?:ant-|proj-)[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{32,})"
        ),
        REDACTED,
    ),
    # keys and certificates, also in base64 as kubeconfig files and Secrets have them, wherever
    # they begin in three bytes
    (
        re.compile(
            rf"(?:\bLS0tLS1CRUdJTi|0tLS0tQkVHSU4|tLS0tLUJFR0lO){_BASE64}+={{0,2}}{_MORE_LINES}"
        ),
        REDACTED,
    ),
    (
        re.compile(
            r"-----BEGIN [A-Z ]{1,40}-----"
            r"(?:(?:(?!-----BEGIN)[\s\S]){0,8192}?-----END [A-Z ]{1,40}-----|[^-]*)"
        ),
        REDACTED,
    ),
)

END: Final = re.compile("-----END [A-Z ]{1,40}-----")
"""End of a key whose begin is cut off: logs are kept from their ends."""

HEADLESS: Final = 8192
"""Characters before such an end: as much as a key has."""

_NEWLINE: Final = r"(?:\s|[nr]\\{1,4})"
_SIGN: Final = r"(?:(?![nr]\\)[A-Za-z0-9+/=])"
BACKWARDS: Final = re.compile(rf"{_NEWLINE}*{_SIGN}+(?:{_NEWLINE}+{_SIGN}{{16,}})*")
"""Lines of base64, read from their end: the last one may be short."""

SECRET_OBJECT: Final = re.compile(rf"kind{_CLOSED}:\s{{0,8}}{_QUOTE}Secret(?:List)?\\{{0,4}}[\"']")
"""JSON of a Kubernetes Secret, or of several, in a text."""

HELD_OBJECT: Final = re.compile(
    rf"({_QUOTE}(?:data|stringData){_QUOTE}\s{{0,8}}:\s{{0,8}}\{{)([^{{}}]{{1,262144}})"
)
HELD_VALUE: Final = re.compile(rf"(:\s{{0,8}}({_QUOTE}))((?!\2)[^\n]){{1,262144}}?(?=\2)")
"""What is secret of it, and each value."""
