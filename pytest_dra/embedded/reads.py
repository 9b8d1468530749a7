"""GET and LIST: snapshots, versions, pages."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from typing import Final

from pytest_dra.embedded import errors
from pytest_dra.embedded import routing
from pytest_dra.embedded import selectors
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.errors import bad_request
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.options import ListOptions
from pytest_dra.embedded.selectors import Selector
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import Store
from pytest_dra.spec import Json

CATCH_UP_S: Final = 3.0
"""How long a read waits for a version that lies ahead before it answers 504."""

_LOOK_S: Final = 0.05
"""Pause between two looks at the version meanwhile."""


async def catch_up(store: Store, rv: int) -> ApiError | None:
    """Wait until the store has reached version ``rv``; the failure to answer if it does not."""
    loop = asyncio.get_running_loop()
    end = loop.time() + CATCH_UP_S
    while store.version < rv:
        if loop.time() >= end:
            return errors.too_large_version(rv, store.version)
        await asyncio.sleep(_LOOK_S)
    return None


def selector(kind: Kind, options: ListOptions) -> Selector:
    """The compiled selectors of a request.

    Raises:
        ApiError: 400.
    """
    return selectors.parse(
        options.field_selector,
        options.label_selector,
        kind.fields,
        lambda label: bad_request(
            f"field label not supported for {kind.resource.api_version}, "
            f"Kind={kind.resource.kind}: {label}"
        ),
    )


async def find(
    store: Store, kind: Kind, namespace: str | None, options: ListOptions
) -> tuple[list[Snapshot], Json]:
    """The objects of a LIST and the list's metadata.

    Raises:
        ApiError: 400, 410 or 504.
    """
    chosen = selector(kind, options)
    start: tuple[str, str] | None = None
    rv = options.rv
    if options.continued:
        if options.version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        rv, start = _read_token(options.continued)
        exact = True
    else:
        exact = options.match == "Exact" or (not options.match and options.limit > 0 and rv > 0)
        if rv > store.version:
            failure = await catch_up(store, rv)
            if failure:
                raise failure
    if exact and rv:
        found = store.as_of(kind.storage, rv, namespace)
        if found is None:
            raise errors.expired(
                "The provided continue parameter is too old to display a consistent list result."
                if start
                else f"The resourceVersion for the provided list is too old: {rv}"
            )
        every = found
        if not chosen.everything:
            found = [item for item in every if chosen.matches(item.lean)]
    else:
        rv = store.version
        every = store.sorted(kind.storage, namespace) if chosen.everything or options.limit else []
        found = every if chosen.everything else store.matching(kind.storage, namespace, chosen)
    if routing.named_in(options.field_selector):
        # one name is looked up, not looked for
        every = found
    last = (every[-1].namespace, every[-1].name) if every else ("", "")
    return _page(found, start, rv, options, counted=chosen.everything, end=last)


def _page(
    found: list[Snapshot],
    start: tuple[str, str] | None,
    rv: int,
    options: ListOptions,
    *,
    counted: bool,
    end: tuple[str, str],
) -> tuple[list[Snapshot], Json]:
    """One page; ``end`` is the last object there is, whether it is selected or not."""
    meta: Json = {"resourceVersion": str(rv)}
    if start is not None:
        found = [item for item in found if (item.namespace, item.name) > start]
    limit = options.limit
    # a reflector draws conclusions from a page in answer to version 0, so there are none
    if limit and not (options.version == "0" and start is None) and len(found) >= limit:
        last = (found[limit - 1].namespace, found[limit - 1].name)
        if last == end:
            return found, meta
        # what comes behind may all be of no interest: nobody has looked yet
        meta["continue"] = _token(rv, last)
        if counted:
            meta["remainingItemCount"] = len(found) - limit
        found = found[:limit]
    return found, meta


def _token(rv: int, last: tuple[str, str]) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": rv, "after": list(last)})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_token(text: str) -> tuple[int, tuple[str, str]]:
    try:
        data = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        namespace, name = data["after"]
        return int(data["rv"]), (str(namespace), str(name))
    except (binascii.Error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise bad_request("continue key is not valid") from error
