"""Between aiohttp and the verbs: request bodies, and replies as HTTP responses."""

from __future__ import annotations

import dataclasses
import json
from typing import Final

import yaml
from aiohttp import web

from pytest_dra.embedded import negotiation
from pytest_dra.embedded.blocks import Blocks
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.negotiation import JSON
from pytest_dra.embedded.negotiation import YAML
from pytest_dra.embedded.operations import Reply
from pytest_dra.embedded.store import encode
from pytest_dra.spec import Json

TEXT: Final = "text/plain"
"""Media type of the few answers that are no objects."""


async def read_body(request: web.BaseRequest) -> bytes:
    """The whole body.

    Raises:
        ApiError: 413.
    """
    length = request.content_length or 0
    if length <= negotiation.BODY_MAX:
        parts: list[bytes] = []
        size = 0
        async for part in request.content.iter_any():
            size += len(part)
            if size > negotiation.BODY_MAX:
                break
            parts.append(part)
        else:
            return b"".join(parts)
    raise ApiError(
        413,
        "RequestEntityTooLarge",
        f"Request entity too large: limit is {negotiation.BODY_MAX}",
    )


def as_json(answer: Json, *, media: str = JSON, code: int = 200) -> Reply:
    """An object, with 200 unless said otherwise."""
    return Reply(code, answer, encode(answer), media=media)


def failure(error: ApiError) -> Reply:
    """The Status of a failure."""
    status = error.status()
    return Reply(error.code, status, encode(status), retry_after_s=error.retry_after_s)


def in_yaml(reply: Reply) -> Reply:
    """The same reply in YAML."""
    if reply.answer is None:
        return reply
    body = reply.body.whole() if isinstance(reply.body, Blocks) else reply.body
    text = yaml.safe_dump(json.loads(body), sort_keys=False, allow_unicode=True)
    return dataclasses.replace(reply, body=text.encode(), media=YAML)


def respond(reply: Reply) -> web.Response:
    """The HTTP response of a reply."""
    # text answers are labelled with a charset, as the real server does it
    media = f"{reply.media}; charset=utf-8" if reply.media == TEXT else reply.media
    body = reply.body.sent() if isinstance(reply.body, Blocks) else reply.body
    response = web.Response(status=reply.code, body=body, headers={"Content-Type": media})
    if reply.retry_after_s is not None:
        response.headers["Retry-After"] = str(reply.retry_after_s)
    for text in reply.warnings:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{quoted}"')
    return response
