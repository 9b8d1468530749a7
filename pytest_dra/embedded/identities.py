"""``authentication.k8s.io/v1``: who am I, and tokens of ServiceAccounts."""

from __future__ import annotations

import datetime
import secrets
import uuid
from typing import Final

from pytest_dra.embedded import errors
from pytest_dra.embedded.access import ACCOUNT
from pytest_dra.embedded.access import AUTHENTICATED
from pytest_dra.embedded.access import Tokens
from pytest_dra.embedded.access import User
from pytest_dra.embedded.access import account_groups
from pytest_dra.embedded.errors import Cause
from pytest_dra.embedded.scalars import now
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import Store
from pytest_dra.spec import Json

VERSION: Final = "authentication.k8s.io/v1"

AUDIENCE: Final = "https://kubernetes.default.svc"
"""Who a token is for unless it says otherwise."""

_LIFE_S: Final = 3600
_LIFE_MIN_S: Final = 600
_TOKEN_BYTES: Final = 32
_EXTRA: Final = "authentication.kubernetes.io/"


def self_review(user: User) -> Json:
    """SelfSubjectReview: the identity that the server sees."""
    about: Json = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        about["uid"] = user.uid
    if user.extra:
        about["extra"] = {name: list(user.extra[name]) for name in sorted(user.extra)}
    return {
        "kind": "SelfSubjectReview",
        "apiVersion": VERSION,
        "metadata": {"creationTimestamp": now()},
        "status": {"userInfo": about},
    }


def request_token(store: Store, tokens: Tokens, namespace: str, name: str, sent: Json) -> Json:
    """TokenRequest: a new bearer token of a ServiceAccount, bound to a pod where one is named.

    Raises:
        ApiError: 404 no such account or pod, 409 another pod of that name, 422.
    """
    account = store.get("core.ServiceAccount", namespace, name)
    if account is None:
        found = {"name": name, "kind": "serviceaccounts"}
        raise errors.ApiError(404, "NotFound", f'serviceaccounts "{name}" not found', details=found)
    spec = dict(sent.get("spec") or {})
    life_s = spec.get("expirationSeconds") or _LIFE_S
    if life_s < _LIFE_MIN_S:
        why = f"Invalid value: {life_s}: may not specify a duration less than 10 minutes"
        cause = Cause("spec.expirationSeconds", "FieldValueInvalid", why)
        raise errors.invalid("authentication.k8s.io", "TokenRequest", name, [cause])
    extra: dict[str, tuple[str, ...]] = {
        f"{_EXTRA}credential-id": (f"JTI={uuid.uuid4()}",),
    }
    bound = spec.get("boundObjectRef")
    if bound and bound.get("kind") == "Pod":
        extra |= _of_pod(store, namespace, bound, name)
    text = secrets.token_urlsafe(_TOKEN_BYTES)
    tokens.add(text, account_user(account, extra))
    ends = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=life_s)
    return {
        "kind": "TokenRequest",
        "apiVersion": VERSION,
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": now()},
        "spec": {
            "audiences": spec.get("audiences") or [AUDIENCE],
            "expirationSeconds": life_s,
            "boundObjectRef": bound or None,
        },
        "status": {"token": text, "expirationTimestamp": ends.strftime("%Y-%m-%dT%H:%M:%SZ")},
    }


def account_user(account: Snapshot, extra: dict[str, tuple[str, ...]]) -> User:
    """The identity of a ServiceAccount."""
    name = f"{ACCOUNT}{account.namespace}:{account.name}"
    return User(
        name=name,
        groups=(*account_groups(name), AUTHENTICATED),
        extra=extra,
        uid=account.object["metadata"]["uid"],
    )


def _of_pod(store: Store, namespace: str, bound: Json, account: str) -> dict[str, tuple[str, ...]]:
    name = str(bound.get("name", ""))
    pod = store.get("core.Pod", namespace, name)
    if pod is None:
        found = {"name": name, "kind": "pods"}
        raise errors.ApiError(404, "NotFound", f'pods "{name}" not found', details=found)
    if pod.object["spec"].get("serviceAccountName", "") != account:
        raise errors.bad_request(
            f'cannot bind token for serviceaccount "{account}" to pod running with different '
            "serviceaccount name."
        )
    uid = pod.object["metadata"]["uid"]
    if bound.get("uid") not in (None, "", uid):
        raise errors.ApiError(
            409, "Conflict", f"the UID in the bound object reference ({bound['uid']}) is not {uid}"
        )
    extra: dict[str, tuple[str, ...]] = {
        f"{_EXTRA}pod-name": (name,),
        f"{_EXTRA}pod-uid": (uid,),
    }
    node = pod.object["spec"].get("nodeName")
    if node:
        extra[f"{_EXTRA}node-name"] = (node,)
        found_node = store.get("core.Node", "", node)
        if found_node is not None:
            extra[f"{_EXTRA}node-uid"] = (found_node.object["metadata"]["uid"],)
    return extra
