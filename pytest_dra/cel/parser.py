"""The grammar of CEL: tokens to a tree, macros expanded."""

from __future__ import annotations

from typing import Final

from pytest_dra.cel import literals
from pytest_dra.cel import macros
from pytest_dra.cel.errors import Problem
from pytest_dra.cel.lexer import Token
from pytest_dra.cel.reader import Reader
from pytest_dra.cel.reader import Stop
from pytest_dra.cel.tree import Call
from pytest_dra.cel.tree import Const
from pytest_dra.cel.tree import Entry
from pytest_dra.cel.tree import Field
from pytest_dra.cel.tree import Ident
from pytest_dra.cel.tree import ListNode
from pytest_dra.cel.tree import MapNode
from pytest_dra.cel.tree import Message
from pytest_dra.cel.tree import Node
from pytest_dra.cel.tree import Select

_RECOVERY_MAX: Final = 65
"""Question marks up to which the reference recovers from an error in a chain of them."""

RESERVED: Final = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in",
    "let", "loop", "package", "namespace", "null", "return", "true", "var", "void", "while",
})  # fmt: skip
_RELATIONS: Final = frozenset({"<", "<=", ">=", ">", "==", "!=", "in"})
_OPERATORS: Final = {
    "<": "_<_", "<=": "_<=_", ">=": "_>=_", ">": "_>_", "==": "_==_", "!=": "_!=_", "in": "@in",
    "+": "_+_", "-": "_-_", "*": "_*_", "/": "_/_", "%": "_%_",
}  # fmt: skip
_FACTORS: Final = {"*": 2, "/": 2, "%": 2, "+": 1, "-": 1}
_LITERALS: Final = frozenset({"int", "uint", "double", "string", "bytes", "true", "false", "null"})


def parse(
    text: str, member_macros: dict[tuple[str, int], macros.Expander], *, escapes: bool
) -> tuple[Node | None, list[Problem]]:
    """The tree of an expression and what is wrong with it.

    ``escapes`` allows backtick fields. The tree is None if there is any problem.
    """
    parser = _Parser(text, member_macros, escapes=escapes)
    node: Node | None = None
    try:
        node = parser.start()
    except Stop:
        # The reference reads on after an error, into what is nested too deeply.
        if text.count("?") >= _RECOVERY_MAX and all(one.offset >= 0 for one in parser.problems):
            parser.report("limit", "too much to read after a syntax error", -1)
    return (None if parser.problems else node), parser.problems


class _Parser(Reader):
    def __init__(
        self, text: str, member_macros: dict[tuple[str, int], macros.Expander], *, escapes: bool
    ) -> None:
        super().__init__(text)
        self.macros = member_macros
        self.escapes = escapes
        # What there is of the expression at a position, should it break off.
        self.broken: dict[int, Node | None] = {}

    def start(self) -> Node:
        node = self.expr()
        if self.token.kind != "end":
            raise self.unexpected("want an operator or the end")
        return node

    def expr(self) -> Node:
        self.enter("expr")
        start = self.position
        node = self.logic("||", "_||_")
        if self.token.kind == "?":
            offset = self.advance().offset
            made = self.next_id()
            self.broken[start] = Call(made, offset, "_?_:_", None, [node])
            yes = self.logic("||", "_||_")
            self.take(":")
            no = self.expr()
            node = self.raised(
                Call(made, offset, "_?_:_", None, [node, yes, no]), node, yes, no, by=1
            )
        self.leave("expr")
        return node

    def logic(self, operator: str, function: str) -> Node:
        """Terms joined by ``||`` or ``&&``, as a balanced tree."""
        marks: list[tuple[int, int]] = []
        start = self.position
        terms = [self.logic("&&", "_&&_") if operator == "||" else self.relation()]
        while self.token.kind == operator:
            offset = self.advance().offset
            self.broken[start] = Call(0, offset, function, None, terms)
            terms.append(self.logic("&&", "_&&_") if operator == "||" else self.relation())
            marks.append((self.next_id(), offset))
        return self.balanced(function, terms, marks) if marks else terms[0]

    def balanced(self, function: str, terms: list[Node], marks: list[tuple[int, int]]) -> Node:
        if not marks:
            return terms[0]
        middle = len(marks) // 2
        left = self.balanced(function, terms[: middle + 1], marks[:middle])
        right = self.balanced(function, terms[middle + 1 :], marks[middle + 1 :])
        made, offset = marks[middle]
        return self.raised(Call(made, offset, function, None, [left, right]), left, right, by=0)

    def relation(self) -> Node:
        self.enter("relation")
        start = self.position
        node = self.calc(1)
        while self.token.kind in _RELATIONS:
            operator = self.advance()
            made = self.next_id()
            self.broken[start] = Call(made, operator.offset, operator.kind, None, [node])
            self.enter("relation")
            right = self.calc(1)
            self.leave("relation")
            function = _OPERATORS[operator.kind]
            node = self.raised(
                Call(made, operator.offset, function, None, [node, right]), node, right, by=1
            )
        self.leave("relation")
        return node

    def calc(self, least: int) -> Node:
        self.enter("calc")
        start = self.position
        node = self.unary()
        while _FACTORS.get(self.token.kind, 0) >= least:
            operator = self.advance()
            made = self.next_id()
            self.broken[start] = Call(made, operator.offset, operator.kind, None, [node])
            right = self.calc(_FACTORS[operator.kind] + 1)
            function = _OPERATORS[operator.kind]
            node = self.raised(
                Call(made, operator.offset, function, None, [node, right]), node, right, by=1
            )
        self.leave("calc")
        return node

    def unary(self) -> Node:
        sign = self.token
        if sign.kind not in ("!", "-"):
            return self.member()
        following = self.tokens[self.position + 1].kind
        if sign.kind == "-" and following in ("int", "double"):
            return self.member()
        count = 0
        self.broken[self.position] = Call(0, sign.offset, sign.kind, None, [])
        while self.token.kind == sign.kind:
            self.advance()
            count += 1
        if count % 2 == 0:
            return self.member()
        made = self.next_id()
        node = self.member()
        function = "!_" if sign.kind == "!" else "-_"
        return self.raised(Call(made, sign.offset, function, None, [node]), node, by=0)

    def member(self) -> Node:
        start = self.position
        node: Node | None = None
        try:
            node = self.primary()
            while self.token.kind in (".", "["):
                node = self.dotted(node) if self.token.kind == "." else self.indexed(node)
        except Stop:
            self.broken[start] = node
            raise
        return node

    def indexed(self, node: Node) -> Node:
        operator = self.advance()
        optional = self.token.kind == "?"
        if optional:
            self.advance()
        made = self.next_id()
        index = self.expr()
        self.take("]")
        function = "_[?_]" if optional else "_[_]"
        call = Call(made, operator.offset, function, None, [node, index])
        return self.raised(call, node, index, by=1)

    def dotted(self, node: Node) -> Node:
        dot = self.advance()
        if self.token.kind == "?":
            self.advance()
            name = self.field_name()
            key = Const(self.next_id(), name.offset, _bare(name))
            call = Call(self.next_id(), dot.offset, "_?._", None, [node, key])
            return self.raised(call, node, by=1)
        name = self.field_name()
        if name.kind == "ident" and self.token.kind == "(":
            opened = self.advance()
            return self.call(self.next_id(), opened.offset, name.text, node)
        return self.raised(Select(self.next_id(), dot.offset, node, _bare(name)), node, by=1)

    def field_name(self) -> Token:
        if self.token.kind not in ("ident", "escaped"):
            raise self.unexpected("want a field")
        name = self.advance()
        if name.kind == "escaped" and not self.escapes:
            self.report("unsupported-syntax", "backticks are not supported", name.offset)
        return name

    def call(self, made: int, offset: int, name: str, target: Node | None) -> Node:
        args: list[Node] = []
        starts: list[int] = []
        try:
            self.arguments(args, starts)
        except Stop:
            # The reference reads on after an error and looks at the macros that it met.
            begun = self.broken.get(starts[-1]) if len(starts) > len(args) else None
            if args or begun is not None:
                self.expanded(made, offset, name, target, [*args, begun] if begun else args)
            raise
        return self.expanded(made, offset, name, target, args)

    def arguments(self, args: list[Node], starts: list[int]) -> None:
        """Arguments and, for each that was begun, its position."""
        if self.token.kind != ")":
            starts.append(self.position)
            args.append(self.expr())
            while self.token.kind == ",":
                self.advance()
                starts.append(self.position)
                args.append(self.expr())
        self.take(")")

    def expanded(
        self, made: int, offset: int, name: str, target: Node | None, args: list[Node]
    ) -> Node:
        """A call, or what its macro makes of it."""
        table = macros.GLOBAL if target is None else self.macros
        parts = args if target is None else [target, *args]
        by = 0 if target is None else 1
        expander = table.get((name, len(args)))
        node: Node | None = None
        if expander is not None:
            maker = macros.Maker(self, offset)
            try:
                node = expander(maker, target or args[0], args)
            except macros.MacroError as error:
                node = self.report(error.kind, f"{name}(): {error}", error.offset)
        if node is None:
            node = Call(made, offset, name, target, args)
        return self.raised(node, *parts, by=by)

    def primary(self) -> Node:
        token = self.token
        kind = token.kind
        if kind == "ident" or (kind == "." and self.tokens[self.position + 1].kind == "ident"):
            return self.named()
        if kind == "(":
            self.advance()
            node = self.expr()
            self.take(")")
            return node
        if kind == "[":
            return self.list_literal()
        if kind == "{":
            return self.map_literal()
        if kind in _LITERALS:
            return self.literal(self.advance(), negative=False)
        if kind == "-" and self.tokens[self.position + 1].kind in ("int", "double"):
            self.advance()
            return self.literal(self.advance(), negative=True)
        if kind == ".":
            self.advance()
        raise self.unexpected("want an expression")

    def literal(self, token: Token, *, negative: bool) -> Node:
        offset = token.offset
        if negative:
            offset = self.tokens[self.position - 2].offset
        try:
            return Const(
                self.next_id(), offset, literals.value(token.kind, token.text, negative=negative)
            )
        except literals.LiteralError as error:
            return self.report(str(error), f"{token.text[:40]} has no value", offset)

    def named(self) -> Node:
        """A name, a global call or a message literal."""
        start = self.token
        dot = ""
        if self.token.kind == ".":
            self.advance()
            dot = "."
        name = self.advance()
        end = self.message_brace()
        if end:
            return self.message_literal(dot, name, end)
        if name.text in RESERVED:
            if self.token.kind == "(":
                self.advance()
                self.arguments([], [])
            return self.report("reserved", f"{name.text!r} is a reserved word", start.offset)
        if self.token.kind == "(":
            opened = self.advance()
            return self.call(self.next_id(), opened.offset, dot + name.text, None)
        return Ident(self.next_id(), name.offset, dot + name.text)

    def message_brace(self) -> int:
        """Index of the brace of a message literal whose name was begun, else 0."""
        at = self.position
        while self.tokens[at].kind == "." and self.tokens[at + 1].kind == "ident":
            at += 2
        return at if self.tokens[at].kind == "{" else 0

    def message_literal(self, dot: str, name: Token, brace: int) -> Node:
        parts = [name.text] + [
            token.text for token in self.tokens[self.position : brace] if token.kind == "ident"
        ]
        self.position = brace
        self.token = self.tokens[brace]
        opened = self.advance()
        made = self.next_id()
        fields: list[Field] = []
        while self.token.kind not in ("}", ","):
            optional = self.token.kind == "?"
            if optional:
                self.advance()
            field = self.field_name()
            colon = self.take(":")
            value = self.expr()
            fields.append(Field(self.next_id(), colon.offset, _bare(field), value, optional))
            if not self.more():
                break
        self.closing("}")
        node = Message(made, opened.offset, dot + ".".join(parts), fields)
        return self.raised(node, *[field.value for field in fields], by=0)

    def list_literal(self) -> Node:
        opened = self.advance()
        made = self.next_id()
        elements: list[Node] = []
        optionals: set[int] = set()
        while self.token.kind not in ("]", ","):
            if self.token.kind == "?":
                self.advance()
                optionals.add(len(elements))
            elements.append(self.expr())
            if not self.more():
                break
        self.closing("]")
        node = ListNode(made, opened.offset, elements, frozenset(optionals))
        return self.raised(node, *elements, by=0)

    def map_literal(self) -> Node:
        opened = self.advance()
        made = self.next_id()
        entries: list[Entry] = []
        while self.token.kind not in ("}", ","):
            optional = self.token.kind == "?"
            if optional:
                self.advance()
            key = self.expr()
            colon = self.take(":")
            entry = self.next_id()
            entries.append(Entry(entry, colon.offset, key, self.expr(), optional))
            if not self.more():
                break
        self.closing("}")
        parts = [part for entry in entries for part in (entry.key, entry.value)]
        return self.raised(MapNode(made, opened.offset, entries), *parts, by=0)

    def more(self) -> bool:
        """True after a comma that is followed by another element."""
        if self.token.kind != ",":
            return False
        if self.tokens[self.position + 1].kind in ("]", "}"):
            return False
        self.advance()
        if self.token.kind == ",":
            raise self.unexpected("want an expression")
        return True

    def closing(self, bracket: str) -> None:
        if self.token.kind == ",":
            self.advance()
        self.take(bracket)


def _bare(token: Token) -> str:
    return token.text[1:-1] if token.kind == "escaped" else token.text
