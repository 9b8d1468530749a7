"""Who asks, and whether it may: bearer tokens, and an authorizer that a test may replace."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_dra.embedded.errors import ApiError


@dataclasses.dataclass(frozen=True)
class User:
    """An identity. ``extra`` may hold the node name of a pod-bound token, as on a real cluster."""

    name: str
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = dataclasses.field(
        default_factory=lambda: MappingProxyType({})
    )
    uid: str = ""


ANONYMOUS: Final = User("system:anonymous", ("system:unauthenticated",))
"""Whoever sends no token."""

MASTERS: Final = "system:masters"
"""The group of administrators."""

OPEN_PATHS: Final = ("/version", "/healthz", "/livez", "/readyz")
"""What everyone may read."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What a user is about to do; ``path`` is set instead of a resource for other URLs.

    ``fields`` is the field selector of a list, watch or deletecollection.
    """

    user: User
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    fields: str = ""


IDENTITY_PATH: Final = "/as/"
"""Start of a path that carries the token: ``/as/<token>/api/v1/...``.

client-go drops the credentials of a kubeconfig whose server is not HTTPS, but keeps the path of
the server's URL; so over plain HTTP the path tells who is asking.
"""


def split_token(path: str) -> tuple[str, str]:
    """Token ("" if there is none) and the path proper."""
    if not path.startswith(IDENTITY_PATH):
        return "", path
    token, _, rest = path[len(IDENTITY_PATH) :].partition("/")
    return token, f"/{rest}"


Authorizer = Callable[[Attempt], bool]
"""True if the attempt is allowed."""


def everyone_known(attempt: Attempt) -> bool:
    """The default: whoever has a token may do everything."""
    return attempt.user is not ANONYMOUS


class Tokens:
    """The bearer tokens of one server; may be used from any thread."""

    def __init__(self, tokens: Mapping[str, User]) -> None:
        self._lock = threading.Lock()
        self._users = dict(tokens)

    def add(self, token: str, user: User) -> None:
        """Accept one more token."""
        with self._lock:
            self._users[token] = user

    def user(self, header: str | None, token: str = "") -> User:
        """The user of an Authorization header, or else of the token of the path.

        Raises:
            ApiError: 401, the token is not known.
        """
        if not header and not token:
            return ANONYMOUS
        if header:
            scheme, _, sent = header.partition(" ")
            token = sent.strip() if scheme.lower() == "bearer" else ""
        with self._lock:
            user = self._users.get(token)
        if user is None:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        return user


def impersonated(user: User, headers: Mapping[str, str]) -> User:
    """The user that an administrator acts as, if the request names one.

    Raises:
        ApiError: 403, the user may not do so.
    """
    name = headers.get("Impersonate-User")
    if not name:
        return user
    if MASTERS not in user.groups:
        raise refused(Attempt(user=user, verb="impersonate", resource="users", name=name))
    return User(name, ("system:authenticated",))


def refused(attempt: Attempt) -> ApiError:
    """403 in the words of the API server."""
    details = {"name": attempt.name, "group": attempt.group, "kind": attempt.resource}
    shown = {key: value for key, value in details.items() if value}
    what = f'User "{attempt.user.name}" cannot {attempt.verb} '
    if attempt.resource:
        full = f"{attempt.resource}.{attempt.group}" if attempt.group else attempt.resource
        what += f'resource "{attempt.resource}" in API group "{attempt.group}"'
        where = f' in the namespace "{attempt.namespace}"' if attempt.namespace else ""
        about = f'{full} "{attempt.name}"' if attempt.name else full
        return ApiError(403, "Forbidden", f"{about} is forbidden: {what}{where}", details=shown)
    return ApiError(403, "Forbidden", f'forbidden: {what}path "{attempt.path}"', details={})
