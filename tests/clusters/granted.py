"""A user who has the rights that the suite asks for, and no others, judges on a real cluster.

    python -m tests.clusters.granted --kubeconfig FILE [--output DIR] -- OPTION...

Makes a ServiceAccount with them by an administrator's kubeconfig, and judges the fake driver in its
name with ``--dra-disruptive``; the options are those of pytest that say which images there are. The
nodes have to have them: another run with the same options has loaded them. Exits 1 where a case
fails, breaks or is not run.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.clusters.apiserver import BINDINGS
from pytest_dra.commands.jobobjects import rules_of
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.live.needed import Need
from pytest_dra.live.needed import needs_of
from pytest_dra.liveplanning import partners_of
from pytest_dra.options import resolve
from pytest_dra.planning import plan_of
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.drivers.expecting import run
from tests.drivers.expecting import say

NAME: Final = "dra-granted"
NAMESPACE: Final = "default"

TOKEN_S: Final = 30.0
"""Longest wait for the token of a new account."""

EVERY_S: Final = 0.2

LIMIT_S: Final = 900.0
"""Longest run, on a busy machine."""

CASES: Final = "CLUSTER-CORE"
BAD: Final = ("failed", "errored", "not-run")
DESELECTED: Final = "deselected"

NO_INI: Final[Mapping[str, object]] = {}

ROLES: Final = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False
)


def asked(admin: Client, kubeconfig: Path, options: Sequence[str]) -> list[Need]:
    """All that a run asks for before it makes anything; what one may grant, one has oneself."""
    pairs = (each.removeprefix("--").partition("=") for each in options)
    flags = {name.replace("-", "_"): value for name, _, value in pairs}
    flags |= {"dra_cluster": "kubeconfig", "dra_dry_run": "true"}
    environ = {"KUBECONFIG": str(kubeconfig)}
    settings = resolve(flag=flags.get, ini=NO_INI.get, environ={}).within(environ)
    _, plan = plan_of(settings)
    if plan.live is None:
        raise RuntimeError("a whole cluster without its plan")
    objects = [*plan.live.objects, *partners_of(plan.live)]
    needs = needs_of(admin, objects, namespace="", disturbs=True)
    return [held for each in needs for held in (each.unless or (each,))]


@contextlib.contextmanager
def user(admin: Client, kubeconfig: Path, needs: Sequence[Need], folder: Path) -> Iterator[Path]:
    """The kubeconfig of a user who has these rights, and no others, until the end."""
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    named: Json = {"metadata": {"name": NAME}}
    noted = {"name": NAME, "annotations": {"kubernetes.io/service-account.name": NAME}}
    made: list[tuple[Resource, Json, str | None]] = [
        (resources.SERVICE_ACCOUNTS, named, NAMESPACE),
        (ROLES, {**named, "rules": rules_of(needs)}, None),
        (
            BINDINGS,
            {
                **named,
                "roleRef": {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": NAME},
                "subjects": [subject],
            },
            None,
        ),
        (
            resources.SECRETS,
            {"metadata": noted, "type": "kubernetes.io/service-account-token"},
            NAMESPACE,
        ),
    ]
    try:
        for resource, body, namespace in made:
            admin.create(resource, body, namespace=namespace)
        config = yaml.safe_load(kubeconfig.read_text("utf-8"))
        config["users"] = [{"name": config["users"][0]["name"], "user": {"token": _token(admin)}}]
        written = folder / "granted.kubeconfig"
        written.write_text(yaml.safe_dump(config), "utf-8")
        yield written
    finally:
        for resource, _, namespace in reversed(made):
            with contextlib.suppress(KubeError):
                admin.delete(resource, NAME, namespace=namespace)


def _token(admin: Client) -> str:
    found: list[str] = []

    def there() -> bool:
        data = admin.get(resources.SECRETS, NAME, namespace=NAMESPACE).get("data") or {}
        found.extend([data["token"]] if "token" in data else [])
        return bool(found)

    if not poll(there, Deadline.after(TOKEN_S), every_s=EVERY_S):
        raise TimeoutError(f"no token of {NAME} within {TOKEN_S:g} s")
    return base64.b64decode(found[0]).decode("ascii")


def main(arguments: Sequence[str]) -> int:
    """Judge in the name of such a user."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(prog="tests.clusters.granted")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=None)
    given = parser.parse_args(arguments[:split])
    driver = ["--dra-driver=fake", *arguments[split + 1 :]]
    admin = Client(given.kubeconfig)
    needs = asked(admin, given.kubeconfig, driver)
    options = [*driver, "--dra-cluster=kubeconfig", "--dra-disruptive", f"--dra-case={CASES}"]
    with tempfile.TemporaryDirectory(prefix="dra-granted-") as temporary:
        folder = Path(temporary)
        output = given.output.absolute() if given.output else folder / "report"
        with user(admin, given.kubeconfig, needs, folder) as kubeconfig:
            seen = run(options, output, environ={"KUBECONFIG": str(kubeconfig)}, limit_s=LIMIT_S)
    wrong = [
        id for id, state in seen.states.items() if state in BAD and seen.texts.get(id) != DESELECTED
    ]
    say(f"{len(needs)} rights: {seen.verdict} in {seen.seconds:.0f} s ({seen.counts})")
    for id in sorted(seen.states):
        if id in wrong or seen.states[id] == "unsupported-environment":
            say(f"  {id} {seen.states[id]}: {seen.texts[id]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
