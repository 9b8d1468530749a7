"""Questions about identity and access, answered and not stored.

``authorization.k8s.io/v1`` and ``authentication.k8s.io/v1``.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from pytest_dra.embedded import byhand
from pytest_dra.embedded import errors
from pytest_dra.embedded import negotiation
from pytest_dra.embedded import typed
from pytest_dra.embedded.access import Attempt
from pytest_dra.embedded.access import Authorizer
from pytest_dra.embedded.access import Tokens
from pytest_dra.embedded.access import User
from pytest_dra.embedded.discovery import REVIEWS
from pytest_dra.embedded.errors import Cause
from pytest_dra.embedded.identities import AUDIENCE
from pytest_dra.embedded.identities import self_review
from pytest_dra.embedded.operations import Reply
from pytest_dra.embedded.rbac import Rbac
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.routing import Route
from pytest_dra.embedded.store import encode
from pytest_dra.spec import Json

AUTHORIZATION: Final = "authorization.k8s.io"
AUTHENTICATION: Final = "authentication.k8s.io"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request; ``minor`` is the Kubernetes version in whose words it is answered."""

    user: User
    route: Route
    method: str
    body: bytes
    media: str
    minor: int


class Reviews:
    """Answers the questions of one server; without ``rules`` everybody may do everything."""

    def __init__(self, authorize: Authorizer, tokens: Tokens, rules: Rbac | None) -> None:
        self._authorize = authorize
        self._tokens = tokens
        self._rules = rules

    def answer(self, question: Question) -> Reply:
        """Answer one.

        Raises:
            ApiError: 400, 404, 405 or 422.
        """
        route = question.route
        kind, placed = REVIEWS[route.group].get(route.plural, ("", False))
        if not kind or (placed and route.namespace is None):
            raise errors.unknown_resource()
        if question.method != "POST" or route.name:
            raise errors.method_not_allowed()
        version = f"{route.group}/v1"
        type_name = f"{route.group.partition('.')[0]}.{kind}"
        received = negotiation.read_object(question.body, question.media, type_name, (version,))
        obj = negotiation.to_typed(received.sent, type_name, typed.Notes())
        if kind == "SelfSubjectReview":
            obj = self_review(question.user)
        elif kind == "TokenReview":
            obj["status"] = self._token(obj["spec"])
        elif kind == "SelfSubjectRulesReview":
            obj["status"] = self._all_rules(question.user, obj["spec"].get("namespace", ""))
        else:
            obj["status"] = {"allowed": self._access(question, kind, obj["spec"])}
        answer = {"kind": kind, "apiVersion": version, **obj}
        return Reply(201, answer, encode(answer))

    def _access(self, question: Question, kind: str, spec: Json) -> bool:
        about, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
        report = Report()
        if (about is None) == (path is None):
            by_hand = question.minor < byhand.DECLARED_SINCE
            field = "spec.resourceAttributes" if by_hand else "spec"
            report.invalid(field, about, "exactly one of both attributes must be specified")
        elif kind == "LocalSubjectAccessReview":
            wanted = question.route.namespace
            if about is None or about.get("namespace", "") != wanted:
                field = "spec.resourceAttributes.namespace"
                report.invalid(field, wanted, "must match metadata.namespace")
        asking = question.user
        if kind != "SelfSubjectAccessReview":
            groups = tuple(spec.get("groups") or ())
            if not spec.get("user") and not groups:
                report.invalid("spec.user", "", "at least one of user or group must be specified")
            extra = {key: tuple(each) for key, each in (spec.get("extra") or {}).items()}
            asking = User(spec.get("user", ""), groups, extra, spec.get("uid", ""))
        if report.causes:
            raise errors.invalid(AUTHORIZATION, "", "", report.causes)
        return self._authorize(_attempt(asking, about, path or {}))

    def _token(self, spec: Json) -> Json:
        token = spec.get("token", "")
        if not token:
            cause = Cause("spec.token", "FieldValueRequired", "Required value")
            raise errors.invalid(AUTHENTICATION, "TokenReview", "", [cause])
        user = self._tokens.owner(token)
        if user is None:
            return {"user": {}, "error": "invalid bearer token"}
        about: Json = self_review(user)["status"]["userInfo"]
        return {"authenticated": True, "user": about, "audiences": [AUDIENCE]}

    def _all_rules(self, user: User, namespace: str) -> Json:
        if not namespace:
            raise errors.bad_request("no namespace on request")
        if self._rules is None:
            granted = [
                {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
                {"verbs": ["*"], "nonResourceURLs": ["*"]},
            ]
        else:
            granted = list(self._rules.rules(user, namespace))
        return {
            "resourceRules": [
                _picked(rule, "verbs", "apiGroups", "resources", "resourceNames")
                for rule in granted
                if rule.get("resources")
            ],
            "nonResourceRules": [
                _picked(rule, "verbs", "nonResourceURLs")
                for rule in granted
                if rule.get("nonResourceURLs")
            ],
            "incomplete": False,
        }


def _picked(rule: Json, *names: str) -> Json:
    return {name: list(rule[name]) for name in names if rule.get(name)}


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
        fields=(about.get("fieldSelector") or {}).get("rawSelector", ""),
    )
