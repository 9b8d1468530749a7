"""The judgement of captured objects: what a server refuses, and the static cases."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final
from typing import TypeVar

from pytest_dra.api import resources
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.catalogue import catalogue
from pytest_dra.cel.releases import environment_of
from pytest_dra.checks import refusals
from pytest_dra.checks.flaws import Flaw
from pytest_dra.embedded.errors import Cause
from pytest_dra.objects.fields import line_of
from pytest_dra.objects.fields import value_at
from pytest_dra.objects.findings import DROPPED
from pytest_dra.objects.findings import NOT_SERVED
from pytest_dra.objects.findings import OF_LEVEL
from pytest_dra.objects.findings import REFUSED
from pytest_dra.objects.findings import REPEATED_FIELD
from pytest_dra.objects.findings import UNKNOWN_FIELD
from pytest_dra.objects.findings import Finding
from pytest_dra.objects.findings import Severity
from pytest_dra.objects.reading import Given
from pytest_dra.objects.refusing import GROUP
from pytest_dra.objects.refusing import Judged
from pytest_dra.objects.refusing import Server
from pytest_dra.objects.rules import OF_SLICES
from pytest_dra.objects.rules import Objects
from pytest_dra.objects.shipped import OF_MANIFESTS
from pytest_dra.objects.shipped import Shipped
from pytest_dra.objects.usage import CLASSES
from pytest_dra.objects.usage import OF_USERS
from pytest_dra.objects.usage import Shop
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import missing_inputs
from pytest_dra.profile import not_applicable
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable

SHIPPED: Final = "ATTR-013"
"""The case of refused classes and templates."""

SLICE: Final = resources.RESOURCE_SLICES.kind
CLASS: Final = resources.DEVICE_CLASSES.kind
CLAIM: Final = resources.RESOURCE_CLAIMS.kind
TEMPLATE: Final = resources.RESOURCE_CLAIM_TEMPLATES.kind

_Input = TypeVar("_Input")

PER_RULE_MAX: Final = 200
"""Findings of one rule that are told; a rule that breaks everywhere says the same of each."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What came out for one version of Kubernetes.

    Attributes:
        findings: in the order of files and lines.
        not_applicable: case ids with the reason why they concern nothing here.
        not_run: case ids with the reason why they could not be judged.
        judged: ids of the cases that were judged; those without an error or warning passed.
        objects: how many objects of resource.k8s.io there were.
        drivers: names of the drivers whose slices are among them.
    """

    findings: tuple[Finding, ...]
    not_applicable: Mapping[str, str]
    not_run: Mapping[str, str]
    judged: frozenset[str]
    objects: int
    drivers: tuple[str, ...] = ()


def review(
    given: Sequence[Given],
    version: KubernetesVersion,
    profile: DriverProfile = DEFAULT_PROFILE,
) -> Review:
    """Judge objects as they would fare on one version of Kubernetes."""
    return _Review(given, version, profile).run()


class _Review:
    def __init__(
        self, given: Sequence[Given], version: KubernetesVersion, profile: DriverProfile
    ) -> None:
        self._version = version
        self._profile = profile
        self._every = given
        self._given = [one for one in given if one.api_version.startswith(GROUP)]
        self._server = Server(version, _namespaces(given))
        self._nodes = _nodes(given)
        self._findings: list[Finding] = []
        self._counts: dict[str, int] = {}
        self._refused: set[tuple[str, int]] = set()
        self._by_item: dict[int, Judged] = {}
        self._not_applicable: dict[str, str] = {}
        self._not_run: dict[str, str] = {}
        self._judged: set[str] = set()
        self._drivers: set[str] = set()

    def run(self) -> Review:
        """All of it."""
        good: dict[str, list[Judged]] = {}
        kinds = set()
        for given in self._given:
            kinds.add(given.kind)
            judged = self._validate(given)
            if judged is not None and judged.sent is not None:
                self._by_item[id(judged.sent)] = judged
                good.setdefault(given.kind, []).append(judged)
        self._judge_slices(good.get(SLICE, []), there=SLICE in kinds)
        self._judge_users(good, kinds)
        self._judge_manifests()
        found = sorted(self._findings, key=lambda one: (one.file, one.line, one.rule, one.message))
        return Review(
            findings=tuple(found),
            not_applicable=self._not_applicable,
            not_run=self._not_run,
            judged=frozenset(self._judged),
            objects=len(self._given),
            drivers=tuple(sorted(self._drivers)),
        )

    # what a server says

    def _validate(self, given: Given) -> Judged | None:
        judged = self._server.judge(given)
        for line, field in given.repeated:
            self._add(given, REPEATED_FIELD, Severity.WARNING, f"{field} is given twice", "", line)
        if judged is None:
            text = f"there is no {given.kind} in {given.api_version}"
            self._add(given, NOT_SERVED, Severity.ERROR, text, "apiVersion")
            return None
        if not self._server.serves(given):
            text = f"{given.api_version} is not served unless it is enabled"
            self._add(given, NOT_SERVED, Severity.WARNING, text, "apiVersion")
        for cause in judged.refused:
            case = self._case_of(given, cause, formed=judged.sent is not None)
            self._refused.add((case, id(judged.sent)))
            text = f"{cause.field}: {cause.message}" if cause.field else cause.message
            self._add(given, case, Severity.ERROR, text, cause.field)
        for field in judged.unknown:
            text = f"{field}: {given.kind} has no such field"
            self._add(given, UNKNOWN_FIELD, Severity.WARNING, text, field)
        for field in judged.dropped:
            text = f"{judged.path(field)} is dropped silently: its feature gate is off"
            self._add(given, DROPPED, Severity.WARNING, text, judged.path(field))
        return judged

    @staticmethod
    def _case_of(given: Given, cause: Cause, *, formed: bool) -> str:
        if given.kind == SLICE:
            return refusals.case_of(cause.field, cause.message) if formed else refusals.REFUSED
        return SHIPPED if given.kind in CLASSES else REFUSED

    # the cases

    def _judge_slices(self, found: list[Judged], *, there: bool) -> None:
        slices = [one.sent for one in found if one.sent is not None]
        self._drivers = {item["spec"]["driver"] for item in slices}
        objects = Objects(
            slices=slices,
            sound=_sound(found),
            spelled=self._spelled,
            nodes=self._nodes,
            version=self._version,
            environment=environment_of(self._version, stored=True),
            profile=self._profile,
        )
        for id_, rule in OF_SLICES.items():
            if not there:
                self._not_applicable[id_] = "there is no ResourceSlice among the objects"
            elif self._is_open(id_):
                self._apply(id_, rule, objects)

    def _judge_users(self, good: Mapping[str, list[Judged]], kinds: set[str]) -> None:
        shop = Shop(
            slices=_sound(good.get(SLICE, [])),
            classes=_sound(good.get(CLASS, [])),
            claims=_sound(good.get(CLAIM, [])),
            templates=_sound(good.get(TEMPLATE, [])),
            environment=environment_of(self._version, stored=True),
            wanted=self._profile.driver.device_classes,
        )
        for id_, kind, rule in OF_USERS:
            if id_ not in catalogue().cases:
                self._tell(id_, Severity.WARNING, rule(shop))
            elif not kinds & set(kind):
                self._not_applicable[id_] = f"there is no {' or '.join(kind)} among the objects"
            elif self._is_open(id_, inputs=False):
                self._apply(id_, rule, shop)

    def _judge_manifests(self) -> None:
        """Roles and pods among the objects; of classes and templates it has been said already."""
        names = sorted(self._drivers)
        driver = self._profile.driver.name or (names[0] if names else "")
        shipped = Shipped(self._every, self._profile, driver=driver)
        for one, body in zip(self._every, shipped.objects, strict=True):
            self._by_item[id(body)] = Judged(given=one, sent=body)
        for id_, rule in OF_MANIFESTS.items():
            if id_ != SHIPPED and self._is_open(id_, inputs=False):
                self._apply(id_, rule, shipped)

    def _is_open(self, id_: str, *, inputs: bool = True) -> bool:
        """Note why a case is not judged; true if it is."""
        case = catalogue().case(id_)
        reason = not_applicable(case, self._profile, kubernetes=self._version.name)
        if reason:
            self._not_applicable[id_] = reason
            return False
        missing = missing_inputs(case, self._profile) if inputs else ()
        if missing:
            self._not_run[id_] = f"input missing: {', '.join(missing)}"
        return not missing

    def _apply(self, id_: str, rule: Callable[[_Input], Iterable[Flaw]], objects: _Input) -> None:
        case = catalogue().case(id_)
        try:
            self._tell(id_, OF_LEVEL[case.level], rule(objects))
        except NotApplicable as reason:
            self._not_applicable[id_] = str(reason)
        else:
            self._judged.add(id_)

    def _tell(self, rule: str, severity: Severity, flaws: Iterable[Flaw]) -> None:
        """Add what a rule has found, unless the server refuses the object for the same."""
        for flaw in flaws:
            if self._counts.get(rule, 0) >= PER_RULE_MAX:
                return
            judged = self._by_item[id(flaw.item)]
            if (rule, id(flaw.item)) not in self._refused:
                text = f"{flaw.where}: got {_text(flaw.got)}, want {flaw.want}"
                self._add(judged.given, rule, severity, text, judged.path(flaw.field))

    def _spelled(self, item: Json, path: str) -> object:
        judged = self._by_item[id(item)]
        return value_at(judged.given, judged.path(path))

    def _add(
        self,
        given: Given,
        rule: str,
        severity: Severity,
        message: str,
        field: str,
        line: int = 0,
    ) -> None:
        count = self._counts[rule] = self._counts.get(rule, 0) + 1
        if count > PER_RULE_MAX:
            return
        if count == PER_RULE_MAX:
            message = f"{message} (and more of this kind, which are not shown)"
        finding = Finding(
            rule=rule,
            severity=severity,
            message=message,
            file=given.file,
            line=line or line_of(given, field),
            object=f"{given.kind} {given.name}".rstrip(),
            field=field,
            versions=(self._version.name,),
        )
        self._findings.append(finding)


def _sound(found: Iterable[Judged]) -> list[Json]:
    """What an API server accepts: one defect shall not be told as several."""
    return [one.sent for one in found if one.sent is not None and not one.refused]


def _text(value: object) -> str:
    return value if isinstance(value, str) and value else repr(value)


def _metadata(given: Given) -> Json:
    found = given.body.get("metadata")
    return found if isinstance(found, dict) else {}


def _nodes(given: Iterable[Given]) -> dict[str, str]:
    """Uids of the Nodes among the objects."""
    nodes = [_metadata(one) for one in given if (one.api_version, one.kind) == ("v1", "Node")]
    return {
        meta["name"]: meta["uid"]
        for meta in nodes
        if isinstance(meta.get("name"), str) and isinstance(meta.get("uid"), str)
    }


def _namespaces(given: Iterable[Given]) -> dict[str, Json]:
    """Labels of the Namespaces among the objects."""
    found = {}
    for one in given:
        meta = _metadata(one)
        if (one.api_version, one.kind) == ("v1", "Namespace") and isinstance(meta.get("name"), str):
            labels = meta.get("labels")
            found[meta["name"]] = labels if isinstance(labels, dict) else {}
    return found


def merged(reviews: Iterable[Review]) -> list[Finding]:
    """The findings of several versions; the same one of several is told once."""
    found: dict[object, Finding] = {}
    for one in reviews:
        for finding in one.findings:
            known = found.get(finding.place)
            if known is None:
                found[finding.place] = finding
            elif finding.versions[0] not in known.versions:
                versions = (*known.versions, *finding.versions)
                found[finding.place] = dataclasses.replace(known, versions=versions)
    return sorted(found.values(), key=lambda one: (one.file, one.line, one.rule, one.message))
