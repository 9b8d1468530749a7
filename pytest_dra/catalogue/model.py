"""What the catalogue holds besides the cases themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from pytest_dra.catalogue.names import did_you_mean
from pytest_dra.spec import Case
from pytest_dra.spec import Depth
from pytest_dra.spec import Level


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """An optional part of DRA that a driver declares in its profile.

    ``since`` is the first Kubernetes minor where the feature is on by default (None while it is
    alpha), ``alpha_since`` the first one that has its gate. ``default``: declared unless the
    profile says otherwise. ``sign`` is how a run shows that the driver has it.
    """

    name: str
    since: str | None
    alpha_since: str | None
    default: bool
    sign: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConformanceProfile:
    """A set of cases that gets a verdict of its own, and the depth at which it is judged."""

    name: str
    depth: Depth
    text: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A part of the contract; ``name`` is the prefix of its case ids."""

    name: str
    title: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """A case that is judged no longer. Its id is never used again."""

    id: str
    title: str
    level_before: Level
    reason: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """All cases with the words they use. Every mapping is read only and in the file's order.

    Attributes:
        hash: the first 16 hex digits of the SHA-256 of the file, for reports.
        kubernetes: the minors that the cases speak of, oldest first.
        cases: by id; retired ones are in ``retired`` alone.
        also_fails: by case id, the other cases that fail with the same fault.
        also_depths: by case id, the depths that can judge it besides the least one.
        tolerates: by case id, the legal variants under which the case must stay green.
        checks: by case id, the steps of the judgement.
        inputs: by profile field, what the vendor gives there.
        variants: by id, a legal oddity of real drivers.
        terms: by name, an expression that the checks use.
    """

    hash: str
    kubernetes: tuple[str, ...]
    cases: Mapping[str, Case]
    retired: Mapping[str, Retired]
    features: Mapping[str, Feature]
    profiles: Mapping[str, ConformanceProfile]
    areas: Mapping[str, Area]
    inputs: Mapping[str, str]
    variants: Mapping[str, str]
    terms: Mapping[str, str]
    also_fails: Mapping[str, tuple[str, ...]]
    also_depths: Mapping[str, tuple[Depth, ...]]
    tolerates: Mapping[str, tuple[str, ...]]
    checks: Mapping[str, tuple[str, ...]]

    def case(self, case_id: str) -> Case:
        """The case of this id.

        Raises:
            KeyError: there is none; the message names the nearest ids, or says that it is retired.
        """
        found = self.cases.get(case_id)
        if found is not None:
            return found
        gone = self.retired.get(case_id)
        if gone is not None:
            raise KeyError(f"case {case_id} is retired: {gone.reason}")
        raise KeyError(f"no case {case_id!r} in the catalogue{did_you_mean(case_id, self.cases)}")

    def feature(self, name: str) -> Feature:
        """The feature of this name.

        Raises:
            KeyError: there is none; the message names the nearest ones.
        """
        found = self.features.get(name)
        if found is not None:
            return found
        raise KeyError(f"no feature {name!r} in the catalogue{did_you_mean(name, self.features)}")
