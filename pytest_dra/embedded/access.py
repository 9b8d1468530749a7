"""Who asks, and whether it may: bearer tokens, and an authorizer that a test may replace."""

from __future__ import annotations

import dataclasses
import threading
import urllib.parse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from multidict import MultiMapping

from pytest_dra.embedded.errors import ApiError


@dataclasses.dataclass(frozen=True)
class User:
    """An identity. ``extra`` may hold the node name of a pod-bound token, as on a real cluster.

    ``label`` is what the timeline shows instead of the name: several processes may be one user.
    """

    name: str
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = dataclasses.field(
        default_factory=lambda: MappingProxyType({})
    )
    uid: str = ""
    label: str = ""

    @property
    def shown(self) -> str:
        """What stands on the timeline."""
        return self.label or self.name


AUTHENTICATED: Final = "system:authenticated"
"""The group of everybody who has a token."""

ACCOUNT: Final = "system:serviceaccount:"
ACCOUNTS: Final = "system:serviceaccounts"
"""What names of ServiceAccounts begin with, and their group."""

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
        self._users = {token: _known(user) for token, user in tokens.items()}

    def add(self, token: str, user: User) -> None:
        """Accept one more token."""
        with self._lock:
            self._users[token] = _known(user)

    def owner(self, token: str) -> User | None:
        """The user of a token; None if it is not known."""
        with self._lock:
            return self._users.get(token)

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
        user = self.owner(token)
        if user is None:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        return user


def _known(user: User) -> User:
    if AUTHENTICATED in user.groups or user.name == ANONYMOUS.name:
        return user
    return dataclasses.replace(user, groups=(*user.groups, AUTHENTICATED))


def account_groups(name: str) -> tuple[str, ...]:
    """The groups of a ServiceAccount by its user name; none for other users."""
    if not name.startswith(ACCOUNT):
        return ()
    namespace = name[len(ACCOUNT) :].partition(":")[0]
    return (ACCOUNTS, f"{ACCOUNTS}:{namespace}")


def impersonated(user: User, headers: MultiMapping[str], allows: Authorizer) -> User:
    """The user that another one acts as, if the request names one.

    Raises:
        ApiError: 400, groups without a user; 403, the user may not do so.
    """
    name = headers.get("Impersonate-User", "")
    groups = tuple(headers.getall("Impersonate-Group", ()))
    extra: dict[str, tuple[str, ...]] = {}
    for header in headers:
        if header.lower().startswith(_EXTRA):
            key = urllib.parse.unquote(header[len(_EXTRA) :].lower())
            extra[key] = tuple(headers.getall(header))
    if not name:
        if groups or extra:
            raise ApiError(400, "BadRequest", "impersonation without Impersonate-User")
        return user
    for attempt in _impersonations(user, name, groups, extra):
        if not (MASTERS in user.groups or allows(attempt)):
            raise refused(attempt)
    uid = headers.get("Impersonate-Uid", "")
    return _known(User(name, groups or account_groups(name), MappingProxyType(extra), uid))


_EXTRA: Final = "impersonate-extra-"


def _impersonations(
    user: User, name: str, groups: tuple[str, ...], extra: Mapping[str, tuple[str, ...]]
) -> Iterator[Attempt]:
    if name.startswith(ACCOUNT) and name.count(":") == _ACCOUNT_COLONS:
        namespace, _, account = name[len(ACCOUNT) :].partition(":")
        place = {"resource": "serviceaccounts", "namespace": namespace, "name": account}
    else:
        place = {"resource": "users", "name": name}
    yield Attempt(user=user, verb="impersonate", **place)
    for group in groups:
        yield Attempt(user=user, verb="impersonate", resource="groups", name=group)
    for key, values in extra.items():
        for value in values:
            yield Attempt(
                user=user,
                verb="impersonate",
                group="authentication.k8s.io",
                resource="userextras",
                subresource=key,
                name=value,
            )


_ACCOUNT_COLONS: Final = 3


def refused(attempt: Attempt, why: str = "") -> ApiError:
    """403 in the words of the API server; ``why`` is what the authorizer adds."""
    details = {"name": attempt.name, "group": attempt.group, "kind": attempt.resource}
    shown = {key: value for key, value in details.items() if value}
    what = f'User "{attempt.user.name}" cannot {attempt.verb} '
    reason = f": {why}" if why else ""
    if not attempt.resource:
        text = f'forbidden: {what}path "{attempt.path}"{reason}'
        return ApiError(403, "Forbidden", text, details={})
    full = f"{attempt.resource}.{attempt.group}" if attempt.group else attempt.resource
    resource = attempt.resource
    if attempt.subresource:
        resource += f"/{attempt.subresource}"
    what += f'resource "{resource}" in API group "{attempt.group}"'
    place = f'in the namespace "{attempt.namespace}"' if attempt.namespace else ""
    about = f'{full} "{attempt.name}"' if attempt.name else full
    text = f"{about} is forbidden: {what} {place or 'at the cluster scope'}{reason}"
    return ApiError(403, "Forbidden", text, details=shown)
