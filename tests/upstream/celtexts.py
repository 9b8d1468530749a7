"""Random texts that functions take apart: quantities, versions, addresses, times, patterns...

Known ones are altered letter by letter and given to the functions that read them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any
from typing import Final

Kind = tuple[Sequence[str], str, Sequence[str]]
"""Texts to begin with, letters, and expressions with ``T`` and ``U`` for two such texts."""

KINDS: Final[dict[str, Kind]] = {
    "quantity": (
        ("1", "500m", "1Ki", "80Gi", "1.5", "-3", "1.5Gi", "1n", "9223372036854775807", "1E", "1Ei",
         "100000000000000000000", "0.000000001", "7Ei", "-8Ei", "+1.5M", "00012", "123.456Mi"),
        "0123456789.+-kKMGTPinum ",
        ("quantity(T)", "isQuantity(T)", "quantity(T).asInteger()", "quantity(T).isInteger()",
         "quantity(T).asApproximateFloat()", "sign(quantity(T))", "quantity(T).add(quantity(U))",
         "quantity(T).sub(quantity(U))", "quantity(T).compareTo(quantity(U))",
         "quantity(T) == quantity(U)", "quantity(T).add(9223372036854775807)",
         "quantity(T).sub(quantity(U)).asInteger()"),
    ),
    "semver": (
        ("1.2.3", "1.2.4-rc.1", "1.10.0", "2.0.0+b.7", "v1.2", "1", "01.2.3", "1.0.0-alpha.beta.1",
         "18446744073709551615.0.0", "1.2.3-0a.1+001", "v1.02.3-x"),
        "0123456789.+-vaZ ",
        ("semver(T)", "isSemver(T)", "isSemver(T, true)", "semver(T, true)", "semver(T).major()",
         "semver(T).compareTo(semver(U))", "semver(T, true) == semver(U, true)"),
    ),
    "address": (
        ("192.168.0.1", "::1", "fe80::1", "2001:DB8::1", "224.0.0.1", "::ffff:1.2.3.4",
         "fe80::1%eth0", "1:2:3:4:5:6:7:8", "10.0.0.0/8", "2001:db8::/32", "10.0.0.0/032"),
        "0123456789abfF.:%/ ",
        ("ip(T)", "isIP(T)", "ip.isCanonical(T)", "ip(T).family()", "ip(T).isGlobalUnicast()",
         "cidr(T)", "isCIDR(T)", "cidr(T).masked()", "cidr(T).containsCIDR(U)",
         "cidr('10.0.0.0/8').containsIP(T)", "string(cidr(T))"),
    ),
    "url": (
        ("https://u:p@example.com:80/a%20b?x=1&y=2&x=3#f", "http://[::1]:8080/", "/path", "urn:a:b",
         "mailto:a@b.c", "http://[fe80::1%25en0]/", "http://h/?a=b;c", "//host/p", "http://h\\p"),
        "abz/:@?#[]%25=&;+.-_~!$'()*,{}|^\\\"<> 0\u00e9",
        ("url(T)", "isURL(T)", "url(T).getHost()", "url(T).getHostname()", "url(T).getPort()",
         "url(T).getEscapedPath()", "url(T).getQuery()", "url(T) == url(U)"),
    ),
    "time": (
        ("2024-02-29T12:30:45Z", "2023-12-31T23:59:59.123456789Z", "2024-01-01T00:00:00+02:00",
         "9999-12-31T23:59:59Z", "2024-06-01T1:00:00Z", "2024-01-01T00:00:00,5Z", "1h30m15s", ".5s",
         "-1.5s", "2562047h47m16.854775807s", "1\u00b5s", "0"),
        "0123456789-:TZ.,+hmsun ",
        ("timestamp(T)", "string(timestamp(T))", "duration(T)", "string(duration(T))",
         "[T].map(t, int(timestamp(t)))", "[T].map(t, duration(t).getMilliseconds())",
         "timestamp(T) - timestamp(U)", "duration(T) + duration(U)", "dyn(T) == timestamp(U)"),
    ),
    "zone": (
        ("UTC", "Europe/Berlin", "+02:00", "-08:30", "America/New_York", "Local", "EST",
         "08:00", ""),
        "0123456789+-:/ABCa_ ",
        ("timestamp('2024-02-29T12:30:45Z').getHours(T)", "timestamp(0).getFullYear(T)",
         "timestamp('1900-01-01T00:00:00Z').getMinutes(T)"),
    ),
    "pattern": (
        ("a+", "^a", "[0-9]+", "(a|b)*", "x{2}", "\\d", "\\pL", "(?i)ab", "(?P<n>a)", "[[:alpha:]]",
         "\\bfoo\\b", "(?s).", "[^a-c]", "a*?b", "\\Qa.b\\E", "\\p{Greek}", "x{1001}", "\\1", "[a"),
        "ab(){}[]?*+|^$.\\-:,=!<>Pdwsbzx012 ",
        ("'abc 123'.matches(T)", "'foo bar'.find(T)", "'aab'.findAll(T)", "'A.b'.findAll(T, 1)",
         "['\u00e9\u017f'].map(x, x.find(T))", "[T].map(p, 'xx'.matches(p))"),
    ),
    "template": (
        ("%s", "%d", "%s-%s", "%f", "%.2f", "%x", "%b", "%e", "%%", "%o", "%X", "%.20e", "a%sb%dc"),
        "%sdfxboeX.0123- a",
        ("T.format([1])", "T.format(['a', 2.5])", "T.format([b'\\xff', null])",
         "dyn(T).format([[1, 'a', 1.5]])", "[T].map(t, t.format([duration('90m'), 7u]))",
         "T.format([{'b': 1, 'a': timestamp(0)}, 1e21])", "T.format([-0.0, true, int])"),
    ),
    "number": (
        ("1", "-1", "+1", "007", "1.5", "1e3", "Inf", "NaN", "0x1p4", "1_0", "true", "T", "0x10",
         "18446744073709551615", "9223372036854775808", "1e400", "5e-324", ".5"),
        "0123456789+-.eExXpPinfNaTtrueF_ ",
        ("int(T)", "uint(T)", "double(T)", "bool(T)", "[T].map(x, double(x))", "string(double(T))",
         "[T].map(x, int(x))", "double(T) == double(U)"),
    ),
}  # fmt: skip


def altered(chooser: random.Random, texts: Sequence[str], letters: str) -> str:
    """One of the texts with a few letters put in, taken out or changed."""
    text = chooser.choice(texts)
    for _ in range(chooser.choice((0, 1, 1, 1, 2, 3))):
        at = chooser.randrange(len(text) + 1)
        dropped = chooser.choice((0, 1, 1))
        inserted = chooser.choice(("", *[chooser.choice(letters)] * 2))
        text = text[:at] + inserted + text[at + dropped :]
    return text


def question(seed: int) -> dict[str, Any]:
    """The question of a seed, in the oracle's form."""
    chooser = random.Random(seed * 2)  # noqa: S311 - repeatable, not secret
    texts, letters, templates = KINDS[chooser.choice(sorted(KINDS))]
    one, two = (json.dumps(altered(chooser, texts, letters)) for _ in range(2))
    template = chooser.choice(templates)
    # A single letter between signs stands for a text; names have several.
    parts = [one if part == "T" else two if part == "U" else part for part in _split(template)]
    return {"id": f"x{seed}", "expression": "".join(parts), "kind": "value", "device": "gpu"}


def _split(template: str) -> list[str]:
    """The template with its capital letters T and U apart, where they stand alone."""
    found = [""]
    for at, letter in enumerate(template):
        beside = template[max(at - 1, 0) : at] + template[at + 1 : at + 2]
        if letter in "TU" and not any(char.isalnum() or char in "'\"-" for char in beside):
            found += [letter, ""]
        else:
            found[-1] += letter
    return found
