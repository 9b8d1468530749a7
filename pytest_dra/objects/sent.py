"""Slices as a driver has sent them, judged by the static rules of the catalogue."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from types import MappingProxyType

from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.cel.releases import environment_of
from pytest_dra.checks import refusals
from pytest_dra.checks.flaws import Flaw
from pytest_dra.checks.slices import named
from pytest_dra.embedded.errors import Cause
from pytest_dra.embedded.gates import slice_gates
from pytest_dra.objects.fields import value_at
from pytest_dra.objects.reading import Given
from pytest_dra.objects.refusing import Judged
from pytest_dra.objects.refusing import Server
from pytest_dra.objects.rules import OF_SLICES
from pytest_dra.objects.rules import Objects
from pytest_dra.profile import DriverProfile
from pytest_dra.spec import Json


class Inspector:
    """Judges slices as a server of one version would, and as one with all feature gates on would.

    The second one sees what the first drops unseen: a driver sends it to clusters that have the
    gate on as well. What was judged once is not judged again.
    """

    def __init__(self, version: KubernetesVersion, profile: DriverProfile) -> None:
        self._version = version
        self._profile = profile
        self._server = Server(version)
        gates = dict.fromkeys(slice_gates(version), True)
        self._open_server = Server(version.with_gates(gates))
        self._known: dict[str, tuple[Judged | None, tuple[Cause, ...]]] = {}

    def look(self, sent: Iterable[Given], standing: Iterable[Given]) -> Inspection:
        """Judge slices.

        Args:
            sent: what was sent besides, in any version of the API.
            standing: what is published now.
        """
        found: list[Judged] = []
        refused: list[tuple[str, Flaw]] = []
        now: list[Judged] = []
        pairs = [*((each, True) for each in standing), *((each, False) for each in sent)]
        for given, stands in pairs:
            judged, causes = self._judge(given)
            if judged is None or judged.sent is None:
                continue
            found.append(judged)
            refused += self._refusals(judged.sent, causes)
            if stands:
                now.append(judged)
        return Inspection(found, now, refused, version=self._version, profile=self._profile)

    def _judge(self, given: Given) -> tuple[Judged | None, tuple[Cause, ...]]:
        key = json.dumps((given.api_version, given.body), sort_keys=True, default=str)
        if key not in self._known:
            judged = self._server.judge(given)
            causes = list(judged.refused) if judged is not None else []
            if judged is not None and judged.dropped:
                opened = self._open_server.judge(given)
                causes += opened.refused if opened is not None else ()
            self._known[key] = judged, tuple(dict.fromkeys(causes))
        known, refused = self._known[key]
        return (dataclasses.replace(known, given=given) if known else None), refused

    def _refusals(self, item: Json, causes: Sequence[Cause]) -> Iterator[tuple[str, Flaw]]:
        for cause in causes:
            flaw = Flaw(
                item=item,
                field=cause.field,
                where=f"{cause.field} of {named(item)}",
                got=cause.message,
                want=f"what the API server of Kubernetes {self._version.name} accepts",
            )
            yield refusals.case_of(cause.field, cause.message), flaw


class Inspection:
    """What there is to say about the slices of one moment."""

    def __init__(
        self,
        found: Sequence[Judged],
        standing: Sequence[Judged],
        refused: Sequence[tuple[str, Flaw]],
        *,
        version: KubernetesVersion,
        profile: DriverProfile,
    ) -> None:
        self._given = {id(one.sent): one for one in found}
        self._refused = refused
        slices = [one.sent for one in standing if one.sent is not None]
        spoiled = {id(flaw.item) for _, flaw in refused}
        self._objects = Objects(
            slices=slices,
            sound=[item for item in slices if id(item) not in spoiled],
            spelled=self._spelled,
            nodes=MappingProxyType({}),
            version=version,
            environment=environment_of(version, stored=True),
            profile=profile,
        )

    def flaw(self, case: str) -> Flaw | None:
        """The first flaw that a static case finds; None if there is none.

        Raises:
            NotApplicable: the slices have nothing that the case judges.
        """
        for id_, flaw in self._refused:
            if id_ == case:
                return flaw
        return next(iter(OF_SLICES[case](self._objects)), None)

    def given(self, flaw: Flaw) -> Given:
        """The slice that a flaw is in, as it was sent."""
        return self._given[id(flaw.item)].given

    def _spelled(self, item: Json, path: str) -> object:
        judged = self._given[id(item)]
        return value_at(judged.given, judged.path(path))
