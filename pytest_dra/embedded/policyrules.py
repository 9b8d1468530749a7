"""ValidatingAdmissionPolicies and their bindings: defaults, and what may be stored.

Parameters are not evaluated, so a policy that has some is refused rather than ignored.
"""

from __future__ import annotations

from typing import ClassVar
from typing import Final

from pytest_dra.api import names
from pytest_dra.embedded import policycel
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.spec import Json

POLICY: Final = "admissionregistration.ValidatingAdmissionPolicy"
BINDING: Final = "admissionregistration.ValidatingAdmissionPolicyBinding"

GROUP: Final = "admissionregistration.k8s.io"

_FAILURES: Final = ("Fail", "Ignore")
_MATCHES: Final = ("Equivalent", "Exact")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")

_NO_PARAMETERS: Final = "pytest-dra evaluates no parameters: write the values into the policy"


class Policies(Strategy):
    """ValidatingAdmissionPolicies."""

    generation: ClassVar[bool] = True
    status: ClassVar[bool] = True

    def default(self, obj: Json) -> None:
        """Errors refuse; every namespace, object and scope is meant."""
        obj["spec"].setdefault("failurePolicy", "Fail")
        _default_match(obj["spec"].get("matchConstraints"))

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Something is matched and said, in expressions that compile."""
        spec = obj["spec"]
        if spec["failurePolicy"] not in _FAILURES:
            report.not_supported("spec.failurePolicy", spec["failurePolicy"], _FAILURES)
        if spec.get("paramKind"):
            report.forbidden("spec.paramKind", _NO_PARAMETERS)
        match = spec.get("matchConstraints")
        if match is None:
            report.required("spec.matchConstraints")
        else:
            _validate_match(match, "spec.matchConstraints", report)
            if not match.get("resourceRules"):
                report.required("spec.matchConstraints.resourceRules")
        if not spec.get("validations") and not spec.get("auditAnnotations"):
            why = "validations or auditAnnotations must contain at least one item"
            report.required("spec.validations", why)
            report.required("spec.auditAnnotations", why)
        _Expressions(spec, ctx.version.minor, report).judge()


class Bindings(Strategy):
    """ValidatingAdmissionPolicyBindings."""

    generation: ClassVar[bool] = True

    def default(self, obj: Json) -> None:
        """As in policies."""
        _default_match(obj["spec"].get("matchResources"))

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """A policy is named, and what is to be done."""
        spec = obj["spec"]
        policy, actions = spec.get("policyName", ""), spec.get("validationActions") or []
        if not policy:
            report.required("spec.policyName")
        else:
            report.format("spec.policyName", policy, names.dns_subdomain_error(policy))
        if spec.get("paramRef"):
            report.forbidden("spec.paramRef", _NO_PARAMETERS)
        if spec.get("matchResources"):
            _validate_match(spec["matchResources"], "spec.matchResources", report)
        if not actions:
            report.required("spec.validationActions", "at least one validation action is required")
        for index, action in enumerate(actions):
            path = f"spec.validationActions[{index}]"
            if action not in _ACTIONS:
                report.not_supported(path, action, _ACTIONS)
            elif action in actions[:index]:
                report.duplicate(path, action)
        if {"Deny", "Warn"} <= set(actions):
            why = "must not contain both Deny and Warn (repeating the same validation failure)"
            report.invalid("spec.validationActions", actions, why)


def _default_match(match: Json | None) -> None:
    if match is None:
        return
    match.setdefault("matchPolicy", "Equivalent")
    for name in ("namespaceSelector", "objectSelector"):
        match.setdefault(name, {})
    for name in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(name) or ():
            rule.setdefault("scope", "*")


def _validate_match(match: Json, path: str, report: Report) -> None:
    if match["matchPolicy"] not in _MATCHES:
        report.not_supported(f"{path}.matchPolicy", match["matchPolicy"], _MATCHES)
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(name) or ()):
            _validate_rule(rule, f"{path}.{name}[{index}]", report)


def _validate_rule(rule: Json, path: str, report: Report) -> None:
    for name in ("operations", "apiGroups", "apiVersions", "resources"):
        values = rule.get(name) or []
        if not values:
            report.required(f"{path}.{name}")
        elif "*" in values and sum("/" not in value for value in values) > 1:
            report.invalid(f"{path}.{name}", values, "if '*' is present, must not specify others")
    for index, operation in enumerate(rule.get("operations") or ()):
        if operation not in _OPERATIONS:
            report.not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS)
    if rule["scope"] not in _SCOPES:
        report.not_supported(f"{path}.scope", rule["scope"], _SCOPES)


class _Expressions:
    """The expressions of a policy: they are there, and compile."""

    def __init__(self, spec: Json, minor: int, report: Report) -> None:
        self._spec = spec
        self._minor = minor
        self._report = report

    def judge(self) -> None:
        seen: set[str] = set()
        for index, one in enumerate(self._spec.get("matchConditions") or ()):
            path = f"spec.matchConditions[{index}]"
            if not one["name"]:
                self._report.required(f"{path}.name")
            elif one["name"] in seen:
                self._report.duplicate(f"{path}.name", one["name"])
            seen.add(one["name"])
            self._expression(one["expression"], f"{path}.expression", policycel.BOOL, ())
        variables = policycel.variables_of(self._spec)
        for index, (name, text) in enumerate(variables):
            path = f"spec.variables[{index}]"
            if not name.isidentifier() or not name.isascii():
                self._report.invalid(f"{path}.name", name, "name is not a valid CEL identifier")
            self._expression(text, f"{path}.expression", policycel.ANY, variables[:index])
        for index, one in enumerate(self._spec.get("validations") or ()):
            self._validation(one, f"spec.validations[{index}]", variables)

    def _validation(self, one: Json, path: str, variables: policycel.Variables) -> None:
        self._expression(one["expression"], f"{path}.expression", policycel.BOOL, variables)
        if one.get("messageExpression"):
            text = one["messageExpression"]
            self._expression(text, f"{path}.messageExpression", policycel.STRING, variables)
        message = one.get("message", "")
        if message and not message.strip():
            self._report.invalid(f"{path}.message", message, "must be non-empty if specified")
        elif "\n" in message.strip():
            self._report.invalid(f"{path}.message", message, "must not contain line breaks")
        if one.get("reason", "Invalid") not in _REASONS:
            self._report.not_supported(f"{path}.reason", one["reason"], _REASONS)

    def _expression(
        self, text: str, path: str, wanted: str, variables: policycel.Variables
    ) -> None:
        if not text.strip():
            self._report.required(path, "expression is not specified")
            return
        why = policycel.problem(text, wanted, self._minor, variables)
        if why:
            self._report.invalid(path, text, why)
