"""Patch algorithms: JSON merge, JSON patch, strategic merge, and a merge for apply."""

from __future__ import annotations

import copy
from typing import Any
from typing import Final

from pytest_dra.embedded import typetable
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.errors import bad_request
from pytest_dra.embedded.scalars import is_number
from pytest_dra.embedded.typetable import Field
from pytest_dra.spec import Json

OPERATIONS_MAX: Final = 10_000
"""Most operations of one JSON patch, as on the real server."""


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386: objects are merged, null deletes, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    out = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        else:
            out[name] = merge(out.get(name), value)
    return out


def json_patch(target: Json, operations: Any) -> Json:
    """RFC 6902.

    Raises:
        ApiError: 400 not a list of operations, 422 an operation fails.
    """
    if not isinstance(operations, list) or len(operations) > OPERATIONS_MAX:
        raise bad_request("want a JSON list of at most 10000 operations")
    root: Any = {"": copy.deepcopy(target)}
    for operation in operations:
        if not isinstance(operation, dict):
            raise bad_request("want a JSON list of operations")
        try:
            _apply_operation(root, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise _failed(
                "the server rejected our request due to an error in our request"
            ) from error
    result = root.get("")
    if not isinstance(result, dict):
        raise _failed("the patch does not leave an object")
    return result


def _failed(message: str) -> ApiError:
    return ApiError(422, "Invalid", message, details={})


def _apply_operation(root: Any, operation: Json) -> None:
    name, path = operation.get("op"), operation.get("path")
    if not isinstance(path, str):
        raise ValueError("an operation without path")
    if name == "test":
        if _member(root, path) != operation.get("value"):
            raise ValueError(f"testing value {path} failed")
    elif name == "remove":
        _remove(root, path)
    elif name == "add":
        _add(root, path, copy.deepcopy(operation["value"]))
    elif name == "replace":
        _replace(root, path, copy.deepcopy(operation["value"]))
    elif name in ("move", "copy"):
        source = operation["from"]
        if not isinstance(source, str):
            raise ValueError("from is no path")
        value = copy.deepcopy(_member(root, source))
        if name == "move":
            _remove(root, source)
        _add(root, path, value)
    else:
        raise ValueError(f"unexpected kind: {name}")


def _tokens(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise ValueError(f"not a JSON pointer: {path[:80]}")
    parts = path.split("/") if path else [""]
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def _step(place: Any, token: str) -> Any:
    if isinstance(place, list):
        return place[_index(token, len(place) - 1)]
    return place[token]


def _index(token: str, last: int) -> int:
    if not is_number(token) or int(token) > last:
        raise IndexError(f"invalid index {token[:20]}")
    return int(token)


def _member(root: Any, path: str) -> Any:
    """What stands there; a member that an object does not have is null."""
    place, last = _parent(root, path)
    return place.get(last) if isinstance(place, dict) else _step(place, last)


def _replace(root: Any, path: str, value: Any) -> None:
    """As the server's library has it: a member may be missing, an item may not."""
    place, last = _parent(root, path)
    if isinstance(place, list):
        place[_index(last, len(place) - 1)] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise TypeError("cannot replace in a scalar")


def _parent(root: Any, path: str) -> tuple[Any, str]:
    *way, last = _tokens(path)
    place = root
    for token in way:
        place = _step(place, token)
    return place, last


def _remove(root: Any, path: str) -> None:
    place, last = _parent(root, path)
    if isinstance(place, list):
        del place[_index(last, len(place) - 1)]
    else:
        del place[last]


def _place(token: str, count: int) -> int:
    """Where to insert: -1 is behind the last item, as the server's library counts."""
    if token.startswith("-") and is_number(token[1:]) and int(token) >= -count - 1:
        return int(token) + count + 1
    return _index(token, count)


def _add(root: Any, path: str, value: Any) -> None:
    place, last = _parent(root, path)
    if isinstance(place, list):
        place.insert(len(place) if last == "-" else _place(last, len(place)), value)
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise TypeError("cannot add into a scalar")


def strategic(kind: str, target: Json, patch: Json) -> Json:
    """Strategic merge patch of an object of table type ``kind``.

    Raises:
        ApiError: 400, an item of a merged list lacks its key.
    """
    return _strategic(typetable.message(kind).by_name, target, patch)


_DIRECTIVE: Final = "$patch"


def _strategic(fields: Any, target: Any, patch: Json) -> Json:
    if patch.get(_DIRECTIVE) == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if patch.get(_DIRECTIVE) == "delete":
        return {}
    out = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if name.startswith("$deleteFromPrimitiveList/"):
            listed = name.partition("/")[2]
            there = out.get(listed) or []
            if not isinstance(value or [], list) or not isinstance(there, list):
                raise bad_request(f"{name[:80]}: want a list")
            out[listed] = [part for part in there if part not in (value or [])]
        elif name.startswith("$"):
            continue
        elif value is None:
            out.pop(name, None)
        else:
            out[name] = _strategic_value(fields.get(name), out.get(name), value)
    return out


def _strategic_value(field: Field | None, old: Any, value: Any) -> Any:
    if isinstance(value, dict):
        if field is not None and field.base == "message" and not field.container:
            return _strategic(typetable.message(field.message).by_name, old, value)
        if field is not None and field.base in ("raw", "fields"):
            return merge(old, value)
        return _strategic({}, old, value)
    if isinstance(value, list) and field is not None and field.merge is not None:
        return _merge_list(field, old or [], value)
    return value


def _merge_list(field: Field, old: list[Any], items: list[Any]) -> list[Any]:
    if field.base != "message":
        added = [item for item in items if item not in old]
        return added + list(old)
    key = field.merge or ""
    fields = typetable.message(field.message).by_name
    if any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" for item in items):
        return [item for item in items if not (isinstance(item, dict) and _DIRECTIVE in item)]
    out = list(old)
    fresh: list[Any] = []
    for item in items:
        if not isinstance(item, dict) or key not in item:
            raise bad_request(f"map: {item!r:.80} does not contain declared merge key: {key}")
        at = next((n for n, there in enumerate(out) if there.get(key) == item[key]), None)
        if item.get(_DIRECTIVE) == "delete":
            if at is not None:
                del out[at]
        elif at is None:
            fresh.append(_strategic(fields, {}, item))
        else:
            out[at] = _strategic(fields, out[at], item)
    return fresh + out


def apply(kind: str, target: Json, applied: Json) -> Json:
    """Merge an applied configuration: maps and keyed lists are merged, the rest replaced.

    What a manager no longer applies stays; :mod:`managers` takes it out.
    """
    return _apply(typetable.message(kind).by_name, target, applied)


def _apply(fields: Any, target: Any, applied: Json) -> Json:
    out = dict(target) if isinstance(target, dict) else {}
    for name, value in applied.items():
        field: Field | None = fields.get(name)
        if value is None:
            if field is None or field.container != "map":
                out.pop(name, None)
            continue
        old = out.get(name)
        if field is not None and field.base == "free":
            out[name] = _apply_free(old, value)
        elif field is None or field.atomic or field.base in ("raw", "fields"):
            out[name] = value
        elif isinstance(value, dict) and field.container == "map":
            out[name] = {**(old or {}), **value}
        elif isinstance(value, dict) and field.base == "message":
            out[name] = _apply(typetable.message(field.message).by_name, old, value)
        elif isinstance(value, list) and field.keys:
            out[name] = _apply_list(field, old or [], value)
        elif isinstance(value, list) and field.is_set:
            out[name] = [*(old or []), *[item for item in value if item not in (old or [])]]
        else:
            out[name] = value
    return out


def _apply_free(old: Any, value: Any) -> Any:
    """Objects are merged, lists and scalars replaced."""
    if not isinstance(old, dict) or not isinstance(value, dict):
        return value
    return {**old, **{key: _apply_free(old.get(key), item) for key, item in value.items()}}


def _apply_list(field: Field, old: list[Any], items: list[Any]) -> list[Any]:
    fields = typetable.message(field.message).by_name
    out = list(old)
    for item in items:
        identity = [item.get(key) for key in field.keys]
        at = next(
            (n for n, there in enumerate(out) if [there.get(k) for k in field.keys] == identity),
            None,
        )
        if at is None:
            out.append(item)
        else:
            out[at] = _apply(fields, out[at], item)
    return out
