"""REFERENCE.md: options, profile fields, fixtures and hooks.

``python -m tests.documents.reference`` writes it anew.

It is made of what the code says of itself, and committed, so that a reader of the repository finds
it without running anything.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_dra import fixtures
from pytest_dra import hookspecs
from pytest_dra.catalogue import catalogue
from pytest_dra.option import Option
from pytest_dra.options import OPTIONS
from pytest_dra.profile.fields import BLOCKS
from pytest_dra.profile.fields import FIELDS
from pytest_dra.profile.fields import Field
from tests.catalogue.pages import table

PAGE: Final = Path(__file__).parents[2] / "REFERENCE.md"
COMMAND: Final = "python -m tests.documents.reference"

HEAD: Final = f"""\
# Reference

<!-- Generated: {COMMAND} -->

[Options](#options), [fields of the profile](#fields-of-the-profile), [features](#features),
[fixtures](#fixtures), [hooks](#hooks). The cases have a page of their own: [CASES.md](CASES.md).
"""

OPTIONS_HEAD: Final = """\
## Options

An option `--dra-x-y` is also an ini value `dra_x_y` and an environment variable `PYTEST_DRA_X_Y`.
The command line wins over the environment, that over the ini file, that over the profile; the
header of a run says where each value came from. Given empty on the command line it has its default
again. A switch takes no value there, and `true` or `false` elsewhere.
"""

FIELDS_HEAD: Final = """\
## Fields of the profile

[PROFILE.md](PROFILE.md) shows a whole one. The examples are YAML; where a field has a default, the
example is that.
"""

FEATURES_HEAD: Final = """\
## Features

In the profile below `features`, each as `NAME: { supported: true }`. "On by default" is the first
Kubernetes with its gate on; "declared" is what counts as supported unless the profile says no.
"""

FIXTURES_HEAD: Final = """\
## Fixtures

[WORKLOADS.md](WORKLOADS.md) shows them at work.
"""

HOOKS_HEAD: Final = """\
## Hooks

A function of this name in a conftest or plugin does what the command in the profile's field does;
[PROFILE.md](PROFILE.md#hooks) says how they are called.
"""


def render() -> str:
    """The whole page."""
    lines = [HEAD, OPTIONS_HEAD, *_options(), FIELDS_HEAD, *_fields()]
    lines += [FEATURES_HEAD, *_features(), FIXTURES_HEAD, *_fixtures(), HOOKS_HEAD, *_hooks()]
    return "\n".join(lines).rstrip("\n") + "\n"


def _options() -> Iterator[str]:
    rows = []
    for option in OPTIONS:
        rows.append([_code(option.name), _values(option), _default(option), _sentence(option.help)])
    yield from table(("Option", "Value", "Default", "What it does"), rows)


def _values(option: Option) -> str:
    if option.flag:
        return "a switch"
    return ", ".join(_code(each) for each in option.choices or (option.metavar,))


def _default(option: Option) -> str:
    if option.flag:
        return "off"
    return _code(option.default) if option.default else ""


def _fields() -> Iterator[str]:
    for block, text in BLOCKS.items():
        fields = [field for field in FIELDS if field.block == block]
        if not fields:
            continue
        yield f"### `{block}`"
        yield ""
        if text:
            yield text
            yield ""
        yield from table(("Field", "What it says", "Example"), [_field(each) for each in fields])


def _field(field: Field) -> list[str]:
    return [_code(field.path), field.text, _code(field.example)]


def _features() -> Iterator[str]:
    data = catalogue()
    rows = []
    for name, feature in data.features.items():
        ids = [case.id for case in data.cases.values() if name in case.features]
        on = feature.since or f"alpha, {feature.alpha_since}"
        declared = "declared" if feature.default else ""
        rows.append([_code(name), on, declared, feature.sign, ", ".join(ids)])
    yield from table(("Feature", "On by default", "Unasked", "Seen by", "Cases"), rows)


def _fixtures() -> Iterator[str]:
    rows = []
    for name, scope, gives, text in _declared(Path(inspect.getfile(fixtures))):
        rows.append([_code(name), scope, _code(gives), text])
    yield from table(("Fixture", "Scope", "Gives", "What it is"), rows)


def _declared(file: Path) -> Iterator[tuple[str, str, str, str]]:
    for node in ast.parse(file.read_text("utf-8")).body:
        if not isinstance(node, ast.FunctionDef) or not node.decorator_list:
            continue
        words = {
            keyword.arg: ast.literal_eval(keyword.value)
            for each in node.decorator_list
            if isinstance(each, ast.Call)
            for keyword in each.keywords
        }
        gives = ast.unparse(node.returns) if node.returns else ""
        gives = re.sub(r"^Iterator\[(.*)\]$", r"\1", gives)
        text = _single(ast.get_docstring(node) or "")
        yield node.name, words.get("scope", "function"), gives, text


def _hooks() -> Iterator[str]:
    data = catalogue()
    rows = []
    for name in hookspecs.NAMES:
        function = getattr(hookspecs, f"{hookspecs.PREFIX}{name}")
        field = f"launch.{name}" if name == "previous" else f"hooks.{name}"
        ids = [case.id for case in data.cases.values() if field in case.inputs]
        told = ", ".join(_code(each) for each in inspect.signature(function).parameters)
        text = _single(inspect.getdoc(function) or "")
        rows.append([_code(f"{hookspecs.PREFIX}{name}"), _code(field), told, text, ", ".join(ids)])
    yield from table(("Function", "Field", "Arguments", "What it does", "Cases"), rows)


def _code(text: str) -> str:
    return f"`{text}`"


def _single(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def main(arguments: Sequence[str] = ()) -> int:
    """Write the page."""
    PAGE.write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
