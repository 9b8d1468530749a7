"""Random expressions and devices for the comparison with the Go package.

Expressions follow the signatures of the environment, with wrong types, ``dyn`` and macros mixed
in, so that every function is reached. The same seed gives the same questions.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from pytest_dra.cel import types
from pytest_dra.cel.environments import environment
from pytest_dra.cel.signatures import Overload
from pytest_dra.cel.types import CelType

LEAVES = ("model", "numa", "healthy", "driverVersion", "firmware", "word", "roots", "nums", "nope")
INTS = ("0", "1", "2", "-1", "7", "63", "9223372036854775807", "-9223372036854775808", "0x10")
DOUBLES = ("0.0", "1.0", "2.5", "-0.5", "1e3", "1e21", "1e-7", "3.0", "123456.789", "1e300")
STRINGS = (
    "''", "'a'", "'abc'", "'A100'", "'1'", "'a,b,c'", "'h\\u00e9llo'", "'\\U0001F600x'", "'1.2.3'",
    "'true'", "' x '", "'a.b/c'", "'x'", "'2'", "'gpu.example.com'", "'1.5'", "r'\\d+'", "'%s'",
)  # fmt: skip
QUANTITIES = (
    "1",
    "500m",
    "1Ki",
    "80Gi",
    "1.5",
    "0",
    "-3",
    "1e3",
    "1.5Gi",
    "5000m",
    "1n",
    "x",
    "1 ",
)
VERSIONS = ("1.2.3", "1.2.4-rc.1", "1.10.0", "2.0.0+b.7", "v1.2", "1", "01.2.3", "1.2", "x", "")
TIMES = (
    "2024-02-29T12:30:45Z", "1970-01-01T00:00:00Z", "2023-12-31T23:59:59.123456789Z",
    "2024-01-01T00:00:00+02:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "x",
    "2024-1-1T00:00:00Z", "2024-06-01T1:00:00Z",
)  # fmt: skip
DURATIONS = ("1h", "90m", "1.5s", "-3s", "0", "1h30m15s", "100ms", "1us", "250ns", "x", "2562047h")
ADDRESSES = ("192.168.0.1", "::1", "fe80::1", "10.0.0.0", "2001:DB8::1", "1.2.3", "224.0.0.1", "x")
PREFIXES = ("10.0.0.0/8", "192.168.0.1/24", "2001:db8::/32", "::/0", "10.0.0.0/33", "x")
URLS = (
    "https://u:p@example.com:80/a%20b?x=1&y=2&x=3#f", "http://[::1]:8080/", "/path", "mailto:a@b.c",
    "x", "https://example.com", "http://h:/p?", "https://e.com/ä?k=%zz&l", "*",
)  # fmt: skip
PATTERNS = ("a+", "^a", "[0-9]+", "(", ".*", "", "\\\\d", "(a|b)*", "x{2}")
ZONES = ("UTC", "Europe/Berlin", "+02:00", "-08:30", "America/New_York", "Nope", "")
FORMATS = (
    "'%s'",
    "'%d'",
    "'%s-%s'",
    "'%f'",
    "'%.2f'",
    "'%x'",
    "'%b'",
    "'%e'",
    "'%%'",
    "'%q'",
    "'%o'",
)

SCALARS = (
    types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES, types.DURATION,
    types.TIMESTAMP,
)  # fmt: skip
OPAQUE = (types.QUANTITY, types.SEMVER, types.IP, types.CIDR, types.URL)
LETTERS = ("x", "y", "z")


class Grammar:
    """Draws expressions. ``size`` bounds the number of sub-expressions."""

    def __init__(self, seed: int, size: int = 24) -> None:
        self.random = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self.left = size
        self.variables: list[tuple[str, CelType]] = []
        env = environment(37)
        self.overloads: list[Overload] = [
            one
            for group in env.functions.values()
            for one in group
            if not one.name.startswith(("@s", "cel.@", "_?._"))
            and not any("authorization" in str(kind) for kind in (*one.args, one.result))
        ]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def any_type(self) -> CelType:
        pick = self.random.random()
        if pick < 0.6:
            return self.random.choice(SCALARS)
        if pick < 0.72:
            return self.random.choice(OPAQUE)
        if pick < 0.84:
            return types.list_of(self.random.choice(SCALARS))
        if pick < 0.9:
            return types.map_of(types.STRING, self.random.choice(SCALARS))
        return types.optional_of(self.random.choice(SCALARS))

    def draw(self, kind: CelType) -> str:
        """An expression that mostly has the type."""
        self.left -= 1
        if self.chance(0.04):
            kind = self.any_type()
        if kind.kind == "param":
            kind = self.random.choice(SCALARS)
        code = self.leaf(kind) if self.left <= 0 or self.chance(0.3) else self.compound(kind)
        return f"dyn({code})" if self.chance(0.07) else code

    def leaf(self, kind: CelType) -> str:
        named = [name for name, known in self.variables if known == kind or known == types.DYN]
        if named and self.chance(0.6):
            return self.random.choice(named)
        if self.chance(0.12) or kind == types.DYN:
            return self.device_leaf()
        choose = self.random.choice
        made: dict[str, Callable[[], str]] = {
            "bool": lambda: choose(("true", "false")),
            "int": lambda: choose(INTS),
            "uint": lambda: choose(("0u", "1u", "2u", "18446744073709551615u")),
            "double": lambda: choose(DOUBLES),
            "string": lambda: choose(STRINGS),
            "bytes": lambda: choose(("b''", "b'a'", "b'\\xff'", "b'abc'")),
            "null_type": lambda: "null",
            "google.protobuf.Duration": lambda: f"duration('{choose(DURATIONS[:9])}')",
            "google.protobuf.Timestamp": lambda: f"timestamp('{choose(TIMES[:6])}')",
            "kubernetes.Quantity": self.quantity,
            "kubernetes.Semver": lambda: f"semver('{choose(VERSIONS)}')",
            "net.IP": lambda: f"ip('{choose(ADDRESSES)}')",
            "net.CIDR": lambda: f"cidr('{choose(PREFIXES)}')",
            "kubernetes.URL": lambda: f"url('{choose(URLS)}')",
            "kubernetes.NamedFormat": lambda: f"format.{choose(('uuid', 'date', 'byte'))}()",
            "list": lambda: self.list_literal(kind),
            "map": lambda: self.map_literal(kind),
            "optional_type": lambda: choose(
                ("optional.none()", f"optional.of({self.draw(kind.params[0])})")
            ),
            "type": lambda: choose(("int", "string", f"type({self.draw(self.any_type())})")),
        }
        maker = made.get(kind.name)
        return maker() if maker else self.device_leaf()

    def quantity(self) -> str:
        if self.chance(0.3):
            return f'device.capacity["gpu.example.com"].{self.random.choice(("memory", "cores"))}'
        return f"quantity('{self.random.choice(QUANTITIES)}')"

    def device_leaf(self) -> str:
        domain = self.random.choice(("gpu.example.com", "gpu.example.com", "pci.example.org", "no"))
        leaf = self.random.choice(LEAVES)
        return self.random.choice((
            f'device.attributes["{domain}"].{leaf}',
            f'device.attributes["{domain}"].{leaf}',
            f'device.attributes["{domain}"][?"{leaf}"]',
            f'device.attributes["{domain}"].?{leaf}',
            f'has(device.attributes["{domain}"].{leaf})',
            f'"{domain}" in device.attributes',
            "device.driver",
            "device.allowMultipleAllocations",
            f'device.attributes["{domain}"]',
        ))  # fmt: skip

    def list_literal(self, kind: CelType) -> str:
        inner = kind.params[0] if kind.params[0].kind != "param" else self.random.choice(SCALARS)
        items = [self.draw(inner) for _ in range(self.random.randrange(4))]
        return "[" + ", ".join(items) + "]"

    def map_literal(self, kind: CelType) -> str:
        key = kind.params[0] if kind.params[0].kind != "param" else types.STRING
        count = self.random.randrange(2)
        pairs = [f"{self.draw(key)}: {self.draw(kind.params[1])}" for _ in range(count)]
        return "{" + ", ".join(pairs) + "}"

    def compound(self, kind: CelType) -> str:
        if self.chance(0.22):
            return self.macro(kind)
        fitting = [one for one in self.overloads if one.result == kind]
        if not fitting or self.chance(0.15):
            generic = [one for one in self.overloads if one.result.kind == "param"]
            fitting = fitting + generic + [
                one for one in self.overloads
                if one.result.name == kind.name and one.result.kind == kind.kind and one.generic
            ]  # fmt: skip
        if not fitting:
            return self.leaf(kind)
        return self.call(self.random.choice(fitting), kind)

    def call(self, overload: Overload, wanted: CelType) -> str:
        bound: dict[str, CelType] = {}
        if overload.result.kind == "param":
            bound[overload.result.name] = wanted
        elif overload.generic:
            for param, given in zip(overload.result.params, wanted.params, strict=False):
                bound[param.name] = given
        args = [self.draw(self.instance(arg, bound)) for arg in overload.args]
        name = overload.name
        if name in ("matches", "find", "findAll") and self.chance(0.9):
            args[1] = f"'{self.random.choice(PATTERNS)}'"
        if name.startswith("get") and len(args) == 2 and self.chance(0.9):
            args[1] = f"'{self.random.choice(ZONES)}'"
        if name == "format":
            args = [self.random.choice(FORMATS), self.list_literal(types.list_of(self.any_type()))]
        if name == "lists.range":
            args = [self.random.choice(("0", "3", "-1", "12"))]
        return self.shown(overload, args)

    def instance(self, kind: CelType, bound: dict[str, CelType]) -> CelType:
        if kind.kind == "param":
            return bound.setdefault(kind.name, self.random.choice(SCALARS))
        params = tuple(self.instance(part, bound) for part in kind.params)
        return CelType(kind.kind, kind.name, params)

    def shown(self, overload: Overload, args: list[str]) -> str:
        name = overload.name
        if name == "_?_:_":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        if name in ("_[_]", "_[?_]"):
            return f"{args[0]}[{'?' if name == '_[?_]' else ''}{args[1]}]"
        if name == "@in":
            return f"({args[0]} in {args[1]})"
        if name in ("!_", "-_"):
            return f"{name[0]}({args[0]})"
        if name == "@not_strictly_false":
            return args[0]
        if name.startswith("_"):
            return f"({args[0]} {name.strip('_')} {args[1]})"
        if overload.member:
            return f"{args[0]}.{name}({', '.join(args[1:])})"
        return f"{name}({', '.join(args)})"

    def within(self, kind: CelType, *variables: tuple[str, CelType]) -> str:
        self.variables.extend(variables)
        code = self.draw(kind)
        del self.variables[-len(variables) :]
        return code

    def macro(self, kind: CelType) -> str:
        element = self.random.choice((*SCALARS, types.DYN))
        over = self.draw(types.list_of(element))
        name, other = self.random.sample(LETTERS, 2)
        variable = (name, element)
        choose = self.random.choice
        if self.chance(0.2):
            value = self.any_type()
            return f"cel.bind({name}, {self.draw(value)}, {self.within(kind, (name, value))})"
        if kind == types.BOOL:
            macro = choose(("all", "exists", "exists_one"))
            if self.chance(0.2):
                macro = choose(("all", "exists", "existsOne", "exists_one"))
                body = self.within(kind, (name, types.INT), (other, element))
                return f"{over}.{macro}({name}, {other}, {body})"
            return f"{over}.{macro}({name}, {self.within(kind, variable)})"
        if kind.kind == "list":
            return self.list_macro(kind, over, variable, other)
        if kind.kind == "map":
            body = self.within(kind.params[1], (name, types.INT), (other, element))
            return f"{over}.transformMap({name}, {other}, {body})"
        if types.is_optional(kind):
            source = self.draw(types.optional_of(element))
            macro = choose(("optMap", "optFlatMap"))
            body = self.within(kind if macro == "optFlatMap" else kind.params[0], variable)
            return f"{source}.{macro}({name}, {body})"
        return f"({self.draw(types.BOOL)} ? {self.draw(kind)} : {self.draw(kind)})"

    def list_macro(
        self, kind: CelType, over: str, variable: tuple[str, CelType], other: str
    ) -> str:
        name, inner = variable[0], kind.params[0]
        pick = self.random.randrange(5)
        if pick == 0:
            return f"{over}.map({name}, {self.within(inner, variable)})"
        if pick == 1:
            test = self.within(types.BOOL, variable)
            return f"{over}.map({name}, {test}, {self.within(inner, variable)})"
        if pick == 2:
            return f"{over}.filter({name}, {self.within(types.BOOL, variable)})"
        if pick == 3:
            return f"{over}.sortBy({name}, {self.within(self.random.choice(SCALARS), variable)})"
        body = self.within(inner, (name, types.INT), (other, variable[1]))
        return f"{over}.transformList({name}, {other}, {body})"


def device(chooser: random.Random) -> dict[str, Any]:
    """A device of a random shape."""
    values: list[dict[str, Any]] = [
        {"string": chooser.choice(("A100", "a", "", "h\u00e9llo"))},
        {"int": chooser.choice((0, 1, 7, 2**63 - 1, -5))},
        {"bool": chooser.choice((True, False))},
        {"version": chooser.choice(("1.2.3", "2.0.0-rc.1+b", "1.10.0"))},
        {"strings": chooser.choice(([], ["a", "b"], ["pci0"]))},
        {"ints": chooser.choice(([], [3, 1, 2]))},
        {"bools": [True, False]},
        {"versions": ["1.2.3", "1.0.0"]},
    ]
    attributes = {}
    for leaf in LEAVES[:-1]:
        if chooser.random() < 0.75:
            prefix = "pci.example.org/" if chooser.random() < 0.2 else ""
            attributes[prefix + leaf] = chooser.choice(values)
    if chooser.random() < 0.02:
        attributes["bad"] = chooser.choice(({}, {"version": "1.2"}))
    capacity = {
        name: {"value": chooser.choice(("1", "80Gi", "500m", "0", "1.5Gi"))}
        for name in ("memory", "cores")
        if chooser.random() < 0.8
    }
    made: dict[str, Any] = {"attributes": attributes, "capacity": capacity}
    if chooser.random() < 0.95:
        made["driver"] = "gpu.example.com"
    if chooser.random() < 0.5:
        made["allowMultipleAllocations"] = chooser.random() < 0.5
    return made


def question(seed: int) -> dict[str, Any]:
    """The question of a seed, in the oracle's form."""
    chooser = random.Random(seed * 2 + 1)  # noqa: S311 - repeatable, not secret
    grammar = Grammar(seed, chooser.choice((4, 8, 14, 24)))
    kind = chooser.choice(("value", "value", "value", "selector", "derived"))
    wanted = types.BOOL if kind == "selector" else grammar.any_type()
    made: dict[str, Any] = {
        "id": str(seed), "expression": grammar.draw(wanted), "kind": kind,
        "device": device(chooser),
    }  # fmt: skip
    if chooser.random() < 0.2 and kind != "value":
        made["mode"] = "new"
        made["features"] = chooser.choice(
            (
                [],
                ["ConsumableCapacity"],
                ["ListTypeAttributes"],
                ["ConsumableCapacity", "ListTypeAttributes"],
            )
        )
    if chooser.random() < 0.05:
        made["costLimit"] = chooser.choice((0, 1, 5, 20, 100))
    return made


def scalar(attribute: dict[str, Any]) -> dict[str, Any]:
    """The attribute with the first element in place of a list."""
    return {
        kind.removesuffix("s"): (value or [""])[0] if isinstance(value, list) else value
        for kind, value in attribute.items()
        if value != [] or kind == "strings"
    } or {"int": 1}


def lines(start: int, count: int, *, lists: bool = True) -> list[str]:
    """Questions as lines; releases without list attributes would fail most devices for them."""
    made = [question(seed) for seed in range(start, start + count)]
    for one in made if not lists else ():
        attributes = one["device"]["attributes"]
        for name in attributes if int(one["id"]) % 10 else ():
            attributes[name] = scalar(attributes[name]) if name != "bad" else attributes[name]
    return [json.dumps(one) for one in made]
