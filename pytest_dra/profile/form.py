"""The form of a profile: its JSON schema, and what a breach of it is called.

Imports jsonschema, so it is imported only where a profile file is read.
"""

from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Iterator

import jsonschema

from pytest_dra.catalogue import did_you_mean
from pytest_dra.profile.document import Document
from pytest_dra.profile.problems import Path
from pytest_dra.profile.problems import Problem
from pytest_dra.profile.problems import shown
from pytest_dra.spec import Json

SCHEMA = pathlib.Path(__file__).with_name("schema.json")

LENGTH_RULES = frozenset({"minLength", "maxLength"})


@functools.cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def breaches(document: Document) -> Iterator[Problem]:
    """Every place where the document has not the form of ``schema.json``."""
    for error in _validator().iter_errors(document.data):
        path: Path = tuple(error.absolute_path)
        yield from _told(document, path, error)


def _told(document: Document, path: Path, error: jsonschema.ValidationError) -> Iterator[Problem]:
    schema: Json = error.schema if isinstance(error.schema, dict) else {}
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = schema.get("properties", {})
        for key in error.instance:
            if key not in known:
                message = f"unknown field{did_you_mean(key, known) or _fields(known)}"
                yield document.problem((*path, key), message)
    elif error.validator == "required" and isinstance(error.instance, dict):
        # jsonschema reports each missing field apart, and names it in the message alone
        missing = [key for key in schema["required"] if error.message.startswith(f"{key!r} ")]
        for key in missing:
            yield document.problem(path, f"the field {key} is missing")
    elif error.validator == "const":
        yield document.problem(path, f"got {shown(error.instance)}, want {error.validator_value}")
    else:
        want = str(schema.get("description") or error.validator)
        yield document.problem(path, f"got {_got(error)}, want {want}")


def _got(error: jsonschema.ValidationError) -> str:
    """The value, with its length where that is what is wrong."""
    if error.validator in LENGTH_RULES and isinstance(error.instance, str):
        return f"{len(error.instance)} characters"
    return shown(error.instance)


def _fields(known: Json) -> str:
    return f"; there are {', '.join(known)}" if known else ""
