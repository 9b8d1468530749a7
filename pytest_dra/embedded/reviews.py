"""``authorization.k8s.io/v1``: questions about access, answered and not stored."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from pytest_dra.embedded import byhand
from pytest_dra.embedded import errors
from pytest_dra.embedded import negotiation
from pytest_dra.embedded import typed
from pytest_dra.embedded.access import Attempt
from pytest_dra.embedded.access import Authorizer
from pytest_dra.embedded.access import User
from pytest_dra.embedded.operations import Reply
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.routing import Route
from pytest_dra.embedded.store import encode
from pytest_dra.spec import Json

_KINDS: Final = {
    "selfsubjectaccessreviews": "SelfSubjectAccessReview",
    "subjectaccessreviews": "SubjectAccessReview",
}


def review(
    authorize: Authorizer,
    user: User,
    route: Route,
    body: bytes,
    request: web.BaseRequest,
    *,
    minor: int,
) -> Reply:
    """Answer an access review, in the words of Kubernetes 1.``minor``.

    Raises:
        ApiError: 400, 404, 405 or 422.
    """
    kind = _KINDS.get(route.plural)
    if kind is None:
        raise errors.unknown_resource()
    if request.method != "POST" or route.name:
        raise errors.method_not_allowed()
    type_name = f"authorization.{kind}"
    received = negotiation.read_object(
        body, request.headers.get("Content-Type", ""), type_name, ("authorization.k8s.io/v1",)
    )
    obj = negotiation.to_typed(received.sent, type_name, typed.Notes())
    spec = obj["spec"]
    about, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (about is None) == (path is None):
        report = Report()
        by_hand = minor < byhand.DECLARED_SINCE
        field = "spec.resourceAttributes" if by_hand else "spec"
        report.invalid(field, about, "exactly one of both attributes must be specified")
        raise errors.invalid("authorization.k8s.io", "", "", report.causes)
    asking = user
    if kind == "SubjectAccessReview":
        asking = User(spec.get("user", ""), tuple(spec.get("groups") or ()))
    obj["status"] = {"allowed": authorize(_attempt(asking, about, path or {}))}
    answer = {"kind": kind, "apiVersion": "authorization.k8s.io/v1", **obj}
    return Reply(201, answer, encode(answer))


def _attempt(user: User, about: Json | None, path: Json) -> Attempt:
    if about is None:
        return Attempt(user=user, verb=path.get("verb", ""), path=path.get("path", ""))
    return Attempt(
        user=user,
        verb=about.get("verb", ""),
        group=about.get("group", ""),
        resource=about.get("resource", ""),
        subresource=about.get("subresource", ""),
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
    )
