"""The language of the oracle's request scripts: variables, edits, generated values, tables."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.spec import Json

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD")
"""Keys of a step that make it an HTTP request; the value is the path."""

_RESOURCE: Final = "/apis/resource.k8s.io/v1"
_PLACED: Final = f"{_RESOURCE}/namespaces/${{ns}}"

SHORT_PATHS: Final[Mapping[str, str]] = {
    "slices": f"{_RESOURCE}/resourceslices",
    "classes": f"{_RESOURCE}/deviceclasses",
    "rules": f"{_RESOURCE}/devicetaintrules",
    "claims": f"{_PLACED}/resourceclaims",
    "templates": f"{_PLACED}/resourceclaimtemplates",
    "nss": "/api/v1/namespaces",
    "nodes": "/api/v1/nodes",
    "core": "/api/v1/namespaces/${ns}",
}
"""What a path may start with instead."""

_VARIABLE: Final = re.compile(r"\$\{(\w+)([+-]\d+)?\}")
_LONE_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_DOT: Final = re.compile(r"(?<!\\)\.")
_INDEXED: Final = re.compile(r"(.*?)((?:\[\d+\])*)", re.DOTALL)

Way = list["str | int"]
"""A path taken apart: keys and indexes."""


def way(path: str) -> Way:
    """Take a dotted path apart; ``[n]`` is an index, ``\\.`` a dot within a key."""
    steps: Way = []
    for part in _DOT.split(path.lstrip(".")):
        match = _INDEXED.fullmatch(part.replace("\\.", "."))
        assert match is not None
        if match[1]:
            steps.append(match[1])
        steps += [int(index) for index in re.findall(r"\[(\d+)\]", match[2])]
    return steps


def look(value: Any, path: str) -> Any:
    """What stands at a path, None if there is nothing."""
    for step in way(path):
        if isinstance(value, dict):
            value = value.get(str(step))
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def edit(value: Any, path: str, new: Any) -> None:
    """Set what stands at a path, making what is missing on the way; ``$unset`` removes it."""
    *before, last = way(path)
    for step, following in zip(before, [*before, last][1:], strict=True):
        fresh: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int):
            value.extend(copy.deepcopy(fresh) for _ in range(step + 1 - len(value)))
        elif value.get(step) is None:
            value[step] = fresh
        value = value[step]
    if isinstance(last, int):
        value.extend([None] * (last + 1 - len(value)))
    if not (isinstance(new, dict) and new.get("$unset")):
        value[last] = new
    elif isinstance(value, dict):
        value.pop(last, None)
    else:
        value.pop(last)


def fill(text: str, variables: Json) -> Any:
    """Put variables in; ``${n+2}`` adds, and a lone ``${name}`` keeps its type."""
    lone = _LONE_VARIABLE.fullmatch(text)
    if lone and lone[1] in variables:
        return variables[lone[1]]

    def one(match: re.Match[str]) -> str:
        if match[1] not in variables:
            return match[0]
        value = variables[match[1]]
        return str(int(value) + int(match[2])) if match[2] else str(value)

    return _VARIABLE.sub(one, text)


def evaluate(value: Any, variables: Json, bodies: Json) -> Any:
    """A value with its ``$`` forms carried out; always a fresh one."""
    if isinstance(value, str):
        return fill(value, variables)
    if isinstance(value, list):
        return [evaluate(part, variables, bodies) for part in value]
    if not isinstance(value, dict) or "$unset" in value:
        return value
    for form in value:
        if form in _FORMS:
            return _FORMS[form](value, variables, bodies)
    return {
        fill(key, variables) if isinstance(key, str) else key: evaluate(part, variables, bodies)
        for key, part in value.items()
    }


def _repeat(value: Json, variables: Json, bodies: Json) -> Any:
    text, count = value["$repeat"]
    return evaluate(text, variables, bodies) * count


def _join(value: Json, variables: Json, bodies: Json) -> Any:
    return "".join(str(evaluate(part, variables, bodies)) for part in value["$join"])


def _list(value: Json, variables: Json, bodies: Json) -> Any:
    count, item = value["$list"]
    return [evaluate(item, {**variables, "i": index}, bodies) for index in range(count)]


def _map(value: Json, variables: Json, bodies: Json) -> Any:
    count, key, item = value["$map"]
    numbered = [{**variables, "i": index} for index in range(count)]
    return {str(fill(key, known)): evaluate(item, known, bodies) for known in numbered}


def _body(value: Json, variables: Json, bodies: Json) -> Any:
    made = copy.deepcopy(evaluate(bodies[value["$def"]], variables, bodies))
    for path, new in (value.get("set") or {}).items():
        edit(made, fill(path, variables), evaluate(new, variables, bodies))
    return made


def _text(value: Json, variables: Json, bodies: Json) -> Any:
    return json.dumps(evaluate(value["$json"], variables, bodies))


_FORMS: Final[Mapping[str, Any]] = {
    "$repeat": _repeat,
    "$join": _join,
    "$list": _list,
    "$map": _map,
    "$def": _body,
    "$json": _text,
}


def steps(script: Json) -> Iterator[Json]:
    """The steps of a script, tables written out: one request, many edits of one body."""
    for block in script["steps"]:
        if "table" not in block:
            yield block
            continue
        shared = {key: part for key, part in block.items() if key not in ("table", "cases")}
        for name, case in block["cases"].items():
            case = case or {}
            step = {**shared, "id": f"{block['table']}/{name}"}
            edits = case
            if not case.keys().isdisjoint(("set", "body", "query")):
                step |= {key: part for key, part in case.items() if key != "set"}
                edits = case.get("set") or {}
            if "body" not in case:
                step["body"] = {"$def": block["body"], "set": edits}
            yield step
