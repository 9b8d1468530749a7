"""ValidatingAdmissionPolicies at work: which apply to a request, and what they say about it.

Policies and bindings are in force as soon as they are stored, where a real server takes up to some
seconds. Parameters, audit annotations and the authorizer of expressions are not evaluated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.embedded import beta
from pytest_dra.embedded import policycel
from pytest_dra.embedded import policyrules
from pytest_dra.embedded.access import User
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.errors import details
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.policycel import Evaluation
from pytest_dra.embedded.policycel import ExpressionError
from pytest_dra.embedded.store import Store
from pytest_dra.embedded.strategy import Context
from pytest_dra.spec import Json

_CODES: Final = {
    "Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422,
}  # fmt: skip

_MESSAGE_MAX: Final = 5 * 1024
"""Longest result of a messageExpression that is shown."""

_NOBODY: Final = User("")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a request is about to do; ``new`` is None for a deletion, ``old`` for a creation.

    Both are in the form in which they are stored. ``collective``: one of those of a
    deletecollection, which names none.
    """

    kind: Kind
    context: Context
    new: Json | None
    old: Json | None
    dry_run: bool
    collective: bool = False

    @property
    def operation(self) -> str:
        """CREATE, UPDATE or DELETE."""
        if self.new is None:
            return "DELETE"
        return "CREATE" if self.old is None else "UPDATE"

    @property
    def name(self) -> str:
        """The name of the object, "" if the request names none."""
        if self.collective:
            return ""
        meta: Json = (self.new or self.old or {})["metadata"]
        return str(meta.get("name", ""))

    @property
    def namespace(self) -> str:
        """Its namespace, "" if it has none."""
        return self.context.namespace if self.kind.resource.namespaced else ""

    def versions(self, match: Json) -> tuple[str, ...]:
        """The versions under which the request may be matched, its own first."""
        own = self.kind.resource
        if match["matchPolicy"] == "Exact":
            return (own.version,)
        others = (
            one.version
            for one in self.context.version.served
            if (one.group, one.plural) == (own.group, own.plural) and one.version != own.version
        )
        return (own.version, *others)

    def shown(self, obj: Json | None, version: str) -> Json | None:
        """An object as expressions see it, in the version that was matched."""
        if obj is None:
            return None
        resource = dataclasses.replace(self.kind.resource, version=version)
        view = self.kind.view
        if version != self.kind.resource.version:
            view = beta.VIEWS[resource.kind][0] if version == "v1beta1" else None
        body = view(obj) if view else obj
        return {"kind": resource.kind, "apiVersion": resource.api_version, **body}


def bound(store: Store) -> bool:
    """True if a policy may have something to say."""
    return bool(store.bucket(policyrules.BINDING).objects)


def judge(change: Change) -> list[str]:
    """Ask all policies; returns the warnings of those that only warn.

    Raises:
        ApiError: 422, or another code that the policy asks for.
    """
    store = change.context.store
    bindings = store.sorted(policyrules.BINDING)
    if not bindings or change.kind.resource.group == policyrules.GROUP:
        return []
    warnings: list[str] = []
    for policy in store.sorted(policyrules.POLICY):
        spec = policy.object["spec"]
        version = _matched(spec["matchConstraints"], change)
        if not version:
            continue
        for binding in bindings:
            bound = binding.object["spec"]
            if bound["policyName"] != policy.name:
                continue
            if bound.get("matchResources") and not _matched(bound["matchResources"], change):
                continue
            about = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
            for message, reason in _denials(spec, change, version):
                if "Deny" in bound["validationActions"]:
                    raise _refusal(change, f"{about} denied request: {message}", reason)
                if "Warn" in bound["validationActions"]:
                    warnings.append(f"Validation failed for {about}: {message}")
    return warnings


def _refusal(change: Change, message: str, reason: str) -> ApiError:
    resource, name = change.kind.resource, change.name or "Unknown"
    return ApiError(
        _CODES[reason],
        reason,
        f'{resource.qualified} "{name}" is forbidden: {message}',
        details={**details(resource, name), "causes": [{"message": message}]},
    )


def _denials(spec: Json, change: Change, version: str) -> Iterator[tuple[str, str]]:
    """Messages and reasons of a policy that applies, in its order."""
    minor = change.context.version.minor
    given = _inputs(change, version)
    fails = spec["failurePolicy"] == "Fail"
    try:
        if not _conditions(spec, Evaluation(minor, (), given)):
            return
    except ExpressionError as error:
        if fails:
            yield str(error), "Invalid"
        return
    evaluation = Evaluation(minor, policycel.variables_of(spec), given)
    for one in spec.get("validations") or ():
        try:
            if evaluation.value(one["expression"], policycel.BOOL) is not True:
                yield _message(one, evaluation), one.get("reason", "Invalid")
        except ExpressionError as error:
            if fails:
                yield str(error), "Invalid"


def _conditions(spec: Json, evaluation: Evaluation) -> bool:
    """True if all match conditions hold; one that does not outweighs one that fails."""
    failures: list[str] = []
    for one in spec.get("matchConditions") or ():
        try:
            if evaluation.value(one["expression"], policycel.BOOL) is not True:
                return False
        except ExpressionError as error:
            failures.append(str(error))
    if failures:
        shown = failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
        raise ExpressionError(shown)
    return True


def _message(validation: Json, evaluation: Evaluation) -> str:
    text = ""
    if validation.get("messageExpression"):
        try:
            value = evaluation.value(validation["messageExpression"], policycel.STRING)
        except ExpressionError:
            value = ""
        text = value.strip() if isinstance(value, str) else ""
        if len(text.encode()) > _MESSAGE_MAX or "\n" in text:
            text = ""
    text = text or str(validation.get("message", "")).strip()
    return text or f"failed expression: {validation['expression'].strip()}"


def _inputs(change: Change, version: str) -> Mapping[str, Any]:
    namespace = change.namespace
    place = change.context.store.get("core.Namespace", "", namespace) if namespace else None
    return {
        "object": change.shown(change.new, version),
        "oldObject": change.shown(change.old, version),
        "request": _request(change, version),
        "namespaceObject": None if place is None else place.object,
        "params": None,
    }


def _request(change: Change, version: str) -> Json:
    """The AdmissionRequest, without what is empty."""
    resource, user = change.kind.resource, change.context.user or _NOBODY
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    plural = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    about: Json = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {name: list(values) for name, values in user.extra.items()},
    }
    optional = {
        "subResource": change.context.subresource,
        "requestSubResource": change.context.subresource,
        "name": change.name,
        "namespace": change.namespace,
    }
    return {
        "uid": "",
        "kind": {**kind, "version": version},
        "resource": {**plural, "version": version},
        "requestKind": kind,
        "requestResource": plural,
        "operation": change.operation,
        "userInfo": {name: value for name, value in about.items() if value},
        "dryRun": change.dry_run,
        **{name: value for name, value in optional.items() if value},
    }


def _matched(match: Json, change: Change) -> str:
    """The version under which the request is matched, "" if it is not."""
    if not _selected(match, change):
        return ""
    versions = change.versions(match)
    for rule in match.get("excludeResourceRules") or ():
        if any(_covers(rule, change, version) for version in versions):
            return ""
    rules = match.get("resourceRules")
    if not rules:
        return change.kind.resource.version
    return next((one for one in versions for rule in rules if _covers(rule, change, one)), "")


def _selected(match: Json, change: Change) -> bool:
    namespace = change.namespace
    if change.kind.type == "core.Namespace":
        namespace = change.name
    if namespace and match["namespaceSelector"]:
        place = change.context.store.get("core.Namespace", "", namespace)
        if place is None or not selects(match["namespaceSelector"], place.object):
            return False
    wanted = match["objectSelector"]
    states = [state for state in (change.new, change.old) if state is not None]
    return not wanted or any(selects(wanted, state) for state in states)


def _covers(rule: Json, change: Change, version: str) -> bool:
    resource, sub = change.kind.resource, change.context.subresource
    scope = "Namespaced" if resource.namespaced else "Cluster"
    wanted = rule.get("resourceNames")
    return (
        _any(rule["operations"], change.operation)
        and _any(rule["apiGroups"], resource.group)
        and _any(rule["apiVersions"], version)
        and rule["scope"] in ("*", scope)
        and any(_names(one, resource.plural, sub) for one in rule["resources"])
        and (not wanted or change.name in wanted)
    )


def _any(values: list[str], value: str) -> bool:
    return "*" in values or value in values


def _names(pattern: str, plural: str, subresource: str) -> bool:
    resource, slash, sub = pattern.partition("/")
    return resource in ("*", plural) and (sub in ("*", subresource) if slash else not subresource)


def selects(selector: Json, obj: Json) -> bool:
    """True if a LabelSelector selects an object."""
    labels = obj["metadata"].get("labels") or {}
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    return all(_requirement(one, labels) for one in selector.get("matchExpressions") or ())


def _requirement(one: Json, labels: Json) -> bool:
    key, values = one["key"], one.get("values") or []
    found = {
        "In": key in labels and labels[key] in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }
    return found.get(one["operator"], False)
