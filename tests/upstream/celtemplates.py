"""Random selectors from templates: what users write, nested and varied, over the named devices."""

from __future__ import annotations

import random
import re
from typing import Any
from typing import Final

from tests.upstream.cel import NAMED

GPU: Final = 'device.attributes["gpu.example.com"]'
SIZE_MAX: Final = 40
"""Templates that are filled before only the simplest are."""

LENGTH_MAX: Final = 1500

TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    "id": (
        "model", "numa", "healthy", "ready", "driverVersion", "firmware", "uuid", "big", "small",
        "empty", "word", "roots", "nums", "flags", "versions", "none", "one", "n", "nope", "v", "w",
    ),
    "domain": ("gpu.example.com",) * 4 + ("pci.example.org", "nope", "nic.example.com", ""),
    "literal": (
        "1", "0", '"a100"', '"x"', "true", "false", 'semver("1.2.3")', "dyn(1)", "[]", '""', "null",
        'quantity("1")', "1.0", "2u", '["pci1"]', 'dyn("a")', 'duration("1s")', 'b"a"', "-1",
        "9223372036854775807",
    ),
    "leaf": ('device.attributes["<domain>"].<id>',) * 5 + ("<variable>",) * 6 + (
        'device.attributes["<domain>"]["<id>"]', "device.driver",
        'device.attributes["<domain>"].?<id>.orValue(<literal>)',
        'device.attributes[?"<domain>"].?<id>.orValue(<literal>)',
        'device.?attributes["<domain>"].<id>.value()', 'dyn(device).attributes["<domain>"].<id>',
        "device.attributes[device.driver].<id>", 'dyn(device.attributes)["<domain>"].<id>',
        'cel.bind(a, device.attributes["<domain>"], a.<id>)',
        'device.attributes["<domain>"][?"<id>"].value()', f"[{GPU}.?<id>].unwrapOpt()[0]",
        f"{GPU}.?<id>.optMap(x, x).orValue(<literal>)", f'{{?"k": {GPU}.?<id>}}.k',
        f"{GPU}.?<id>.optFlatMap(x, optional.of(x)).value()", f"[?{GPU}.?<id>].first().value()",
        f"optional.ofNonZeroValue({GPU}.<id>).orValue(<literal>)",
    ),
    "amount": (
        'device.capacity["gpu.example.com"].memory', 'device.capacity["gpu.example.com"].half',
        'device.capacity["gpu.example.com"].nope', 'device.capacity["net.example.org"].bandwidth',
        'quantity("80Gi")', 'device.capacity["gpu.example.com"].?memory.orValue(quantity("0"))',
        'device.capacity["gpu.example.com"].memory.add(quantity("1"))',
        'device.capacity["gpu.example.com"].cores.sub(5)',
    ),
    "value": ("<literal>",) * 6 + ("<leaf>",) * 8 + (
        "(<value> + <value>)", "(<value> - <value>)", "(<value> * <value>)", "(<value> / <value>)",
        "(<value> % <value>)", "size(<leaf>)", "<leaf>.size()", "int(<leaf>)", "double(<leaf>)",
        "string(<leaf>)", "<amount>.asInteger()", "<leaf>.major()", "-<leaf>", "<leaf>.sum()",
        "(<test> ? <value> : <value>)", "<amount>.compareTo(<amount>)", "<leaf>.max()",
        "<leaf>.indexOf(<literal>)", '<leaf>.find("[0-9]+")', "<leaf>.upperAscii()",
        '<leaf>.split("0")[0]', '"%s".format([<leaf>])', '"%d".format([<leaf>])', "<leaf>[0]",
        "<leaf>.substring(1)", '<leaf>.replace("a", "b")', '<leaf>.join(",")', "<leaf>[<value>]",
        "<leaf>.first().orValue(<literal>)", "cel.bind(t, <value>, [t, t])", "<leaf>.slice(0, 1)",
        "<leaf>.sort()", "<leaf>.distinct()", "<leaf>.reverse()", "[<value>, <value>]",
        '{"a": <value>}', '{"a": <value>}.a', "[<value>, <value>][0]", "<leaf>.flatten()",
        "lists.range(3)", "<leaf>.sortBy(e, -e)", "optional.of(<value>)", "<value>.map(e, e)",
        "<leaf>.lowerAscii().charAt(0)", "<leaf>.min()", "type(<value>)", "dyn(<value>)",
        "<leaf>.last().value()",
    ),
    "test": ("<simple>",) * 3 + ("<value> <order> <value>",) * 4 + ("<macro>",) * 3 + (
        "(<test> && <test>)", "(<test> || <test>)", "(<test> && <test>)", "(<test> || <test>)",
        "!(<test>)", "(<test> ? <test> : <test>)", "<leaf> <order> <literal>",
        "<leaf> in [<literal>, <literal>]", "<leaf> in <leaf>", "<value> in [<value>]",
        '<leaf>.startsWith("a")', '"a100".startsWith(<leaf>)', '<leaf>.contains("1")',
        '<leaf>.matches("^a")', '"a1".matches(<leaf>)', "<amount>.isGreaterThan(<amount>)",
        '<leaf>.isGreaterThan(semver("1.0.0"))', "<leaf>.includes(<literal>)",
        "<leaf>.includes(<value>)", "sets.contains(<leaf>, [<literal>])", "isQuantity(<leaf>)",
        "sets.intersects(<leaf>, <leaf>)", "<leaf>.isSorted()", "type(<leaf>) == type(<literal>)",
        "<amount> == <amount>", "<amount> in [<amount>]",
    ),
    "order": ("==", "!=", "<", ">", "<=", ">=", "=="),
    "simple": (
        "true", "false", "<leaf>", "device.allowMultipleAllocations", f'"<id>" in {GPU}',
        '"<domain>" in device.attributes', 'has(device.attributes["<domain>"].<id>)',
        'has(device.capacity["gpu.example.com"].memory)', "has(device.attributes.<id>)",
        'device.attributes["<domain>"].?<id>.hasValue()',
        'has(dyn(device.attributes)["<domain>"].<id>)', "<variable>",
    ),
    "range": (
        "<leaf>", "<leaf>", GPU, GPU, "device.attributes",
        '["a", "b"]', "[1, 2, 3]", 'device.capacity["gpu.example.com"]',
        "[<literal>, <literal>]", '{"a": <literal>, "b": <value>}', "lists.range(3)",
        "<leaf>.filter(q, q != <literal>)", "<leaf>.map(q, q)", f"{GPU}.transformMap(q, r, r)",
        f"{GPU}.transformList(q, r, r)", "dyn(<value>)", "optional.of(<value>)",
        "[<value>].map(e, <test>)",
    ),
}  # fmt: skip
ONE_VARIABLE: Final = (
    "{over}.all({a}, {body})", "{over}.exists({a}, {body})", "{over}.exists_one({a}, {body})",
    "{over}.filter({a}, {body}).size() > 0", "{over}.map({a}, {body}) == [true]",
    "{over}.map({a}, {body}, {value}).size() == 1", "{over}.map({a}, {value}) == [1]",
    "cel.bind({a}, {over}, {body})", "{over}.optMap({a}, {value}).hasValue()",
    "{over}.sortBy({a}, {value}) == []",
)  # fmt: skip
TWO_VARIABLES: Final = (
    "{over}.all({a}, {b}, {body})", "{over}.exists({a}, {b}, {body})",
    "{over}.existsOne({a}, {b}, {body})", "{over}.exists_one({a}, {b}, {body})",
    "{over}.transformList({a}, {b}, {body}, {value}) == []",
    "{over}.transformMap({a}, {b}, {value}).size() == 1",
    "{over}.transformMap({a}, {b}, {body}, {value}) == {{}}",
)  # fmt: skip


class Drawing:
    """Fills templates."""

    def __init__(self, chooser: random.Random) -> None:
        self.random = chooser
        self.variables: list[str] = []
        self.filled = 0

    def fill(self, name: str) -> str:
        """An expression of a kind."""
        if name == "variable":
            name = "leaf" if not self.variables else name
            if self.variables:
                return self.random.choice(self.variables)
        if name == "macro":
            return self.macro()
        self.filled += 1
        if self.filled > SIZE_MAX:
            name = {"value": "literal", "test": "simple"}.get(name, name)
        template = self.random.choice(TEMPLATES[name])
        return re.sub("<([a-z]+)>", lambda match: self.fill(match[1]), template)

    def macro(self) -> str:
        """A comprehension, with its variables in the body."""
        over = self.fill("range")
        first, second = self.random.sample("xyzkim", 2)
        pair = self.random.random() < 0.35
        before = len(self.variables)
        self.variables += [first, second] if pair else [first]
        body = self.fill("test")
        value = self.fill("value") if self.random.random() < 0.4 else first
        del self.variables[before:]
        template = self.random.choice(TWO_VARIABLES if pair else ONE_VARIABLE)
        return template.format(over=over, a=first, b=second, body=body, value=value)


def question(seed: int) -> dict[str, Any]:
    """The question of a seed, in the oracle's form."""
    chooser = random.Random(seed * 2)  # noqa: S311 - repeatable, not secret
    expression = ""
    while not 8 <= len(expression) <= LENGTH_MAX:
        expression = Drawing(chooser).fill("test")
    made: dict[str, Any] = {
        "id": f"t{seed}", "expression": expression,
        "kind": chooser.choice(("selector", "selector", "selector", "value")),
        "device": chooser.choice((*NAMED, "gpu", "gpu", "lists", "lists")),
    }  # fmt: skip
    if chooser.random() < 0.3:
        made["mode"] = "new"
    features = [
        name for name in ("ConsumableCapacity", "ListTypeAttributes") if chooser.random() < 0.4
    ]
    if features:
        made["features"] = features
    if chooser.random() < 0.15:
        made["costLimit"] = chooser.choice((0, 1, 3, 5, 8, 13, 20, 40, 80))
    return made
