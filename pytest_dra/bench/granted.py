"""What the manifests of the profile grant to the driver, beside what it has asked."""

from __future__ import annotations

from pytest_dra.api.rbac import EVERY_ACCOUNT
from pytest_dra.api.rbac import Account
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.shipping import objects_of
from pytest_dra.checks.rights import Grant
from pytest_dra.checks.rights import grants_of
from pytest_dra.checks.workloads import workload_of
from pytest_dra.embedded.builtinroles import EVERYBODY
from pytest_dra.embedded.builtinroles import ROLES
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry


def requests_of(bench: Bench) -> list[Entry[ApiRequest]]:
    """All that the driver has asked in this run, on whichever bench; its starts and ends too."""
    return [
        entry
        for each in (bench, *bench.beside())
        for entry in each.timeline.entries(ApiRequest)
        if entry.event.identity in each.places
    ]


def shipped_to(bench: Bench) -> list[Grant]:
    """What the account of the driver's pods may do; of all pods where the profile names none.

    Raises:
        NotApplicable: the manifests have neither an account nor pods.
        UnsupportedEnvironment: they cannot be read.
    """
    objects = objects_of(bench)
    accounts = _accounts(bench, objects)
    if not accounts:
        raise NotApplicable("launch.service_account is not given, and the manifests make no pods")
    return grants_of(objects, accounts, {name: list(rules) for name, rules in ROLES.items()})


def everybodys() -> list[Grant]:
    """What every account may do."""
    names = [name for group, roles in EVERYBODY if group in EVERY_ACCOUNT for name in roles]
    return [Grant(rule) for name in names for rule in ROLES[name]]


def _accounts(bench: Bench, objects: list[Json]) -> set[Account]:
    named = bench.profile.launch.service_account
    if named:
        namespace, _, name = named.partition("/")
        return {(namespace, name)}
    workloads = [found for found in map(workload_of, objects) if found is not None]
    return {(each.namespace, each.account) for each in workloads}
