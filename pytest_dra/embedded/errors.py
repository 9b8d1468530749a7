"""Failures as the API reports them: Status objects with code, reason, details and causes."""

from __future__ import annotations

import dataclasses
from typing import Any
from typing import Final

from pytest_dra.api.resources import Resource
from pytest_dra.spec import Json

RETRY_AFTER_S: Final = 1
"""What the server asks a client to wait that is ahead of it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """One reason why an object is invalid; ``reason`` is FieldValueRequired and the like."""

    field: str
    reason: str
    message: str

    def json(self) -> Json:
        """The cause as it stands in ``details.causes``."""
        shown = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in shown.items() if value}


class ApiError(Exception):
    """A request is answered with a Status instead of an object."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Json | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after_s = retry_after_s

    def status(self) -> Json:
        """The Status object."""
        out: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        }
        if self.reason:
            out["reason"] = self.reason
        if self.details is not None:
            out["details"] = self.details
        return out


class PlainNotFound(Exception):
    """No such group or root path: the real server answers in plain text."""


def details(resource: Resource, name: str = "", **more: Any) -> Json:
    """``details`` that name an object by the plural of its kind, as most failures do."""
    shown = {"name": name, "group": resource.group, "kind": resource.plural, **more}
    return {key: value for key, value in shown.items() if value}


def not_found(resource: Resource, name: str) -> ApiError:
    """404 for one object."""
    return ApiError(
        404,
        "NotFound",
        f'{resource.qualified} "{name}" not found',
        details=details(resource, name),
    )


def unknown_resource(resource: Resource | None = None, name: str = "") -> ApiError:
    """404 for a version or a resource that a served group does not have.

    ``resource`` and ``name`` are named where a kind that is defined lacks a subresource.
    """
    shown = {} if resource is None else details(resource, name)
    text = "the server could not find the requested resource"
    return ApiError(404, "NotFound", text, details=shown)


def already_exists(resource: Resource, name: str, *, generated: bool = False) -> ApiError:
    """409 on creation; one who asked for a generated name may try again."""
    retry = RETRY_AFTER_S if generated else None
    return ApiError(
        409,
        "AlreadyExists",
        f'{resource.qualified} "{name}" already exists',
        details=details(resource, name, retryAfterSeconds=retry),
        retry_after_s=retry,
    )


def not_acceptable(shape: str) -> ApiError:
    """406: a list was asked for as one object, or the other way round."""
    return ApiError(406, "NotAcceptable", f"you requested {shape}, which does not fit the result")


STALE: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
"""The classic words of an optimistic lock, which people search for."""


def conflict(resource: Resource, name: str, why: str = STALE) -> ApiError:
    """409 on an update."""
    return ApiError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}',
        details=details(resource, name),
    )


def precondition_failed(resource: Resource, name: str, why: str) -> ApiError:
    """409 on a delete: it names the kind where everything else names the plural."""
    shown = {"name": name, "group": resource.group, "kind": resource.kind}
    return ApiError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {resource.kind} "{name}": {why}',
        details={key: value for key, value in shown.items() if value},
    )


def invalid(group: str, kind: str, name: str, causes: list[Cause]) -> ApiError:
    """422 with its causes."""
    shown = {"name": name, "group": group, "kind": kind}
    listed = "; ".join(f"{cause.field}: {cause.message}" for cause in causes[:10])
    title = f"{kind}.{group}" if group else kind
    return ApiError(
        422,
        "Invalid",
        f'{title} "{name}" is invalid: {listed}',
        details={
            **{key: value for key, value in shown.items() if value},
            **({"causes": [cause.json() for cause in causes]} if causes else {}),
        },
    )


def invalid_options(kind: str, causes: list[Cause]) -> ApiError:
    """422 for query options (ListOptions, CreateOptions ...)."""
    return invalid("meta.k8s.io", kind, "", causes)


def bad_request(message: str) -> ApiError:
    """400."""
    return ApiError(400, "BadRequest", message)


def forbidden(
    resource: Resource, name: str, why: str, causes: list[Cause] | None = None
) -> ApiError:
    """403 about an object or a collection."""
    shown = details(resource, name)
    if causes:
        shown["causes"] = [cause.json() for cause in causes]
    about = f'{resource.qualified} "{name}"' if name else resource.qualified
    return ApiError(403, "Forbidden", f"{about} is forbidden: {why}", details=shown)


def method_not_allowed() -> ApiError:
    """405."""
    return ApiError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        details={},
    )


def method_not_supported(resource: Resource, verb: str) -> ApiError:
    """405 for a kind that is defined."""
    text = f'{verb} is not supported on resources of kind "{resource.qualified}"'
    return ApiError(405, "MethodNotAllowed", text, details=details(resource))


def internal(message: str) -> ApiError:
    """500 as the server gives it for its own failures: without a reason."""
    return ApiError(500, "", message)


def too_large_version(asked: int, current: int) -> ApiError:
    """504: the client has seen a version that this server has not reached."""
    return ApiError(
        504,
        "Timeout",
        f"Too large resource version: {asked}, current: {current}",
        details={
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": RETRY_AFTER_S,
        },
        retry_after_s=RETRY_AFTER_S,
    )


def expired(message: str) -> ApiError:
    """410: the version asked for is out of the history."""
    return ApiError(410, "Expired", message)
