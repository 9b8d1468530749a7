"""RBAC on the embedded server: the same answers, in the same words, as a real server gives."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pytest_dra.clusters.apiserver import ApiServerCluster
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.embedded.granular import NODE_NAME
from pytest_dra.spec import Json
from pytest_dra.timeline import Timeline
from tests.clients.conftest import AnyCluster

SCRIPT: Json = yaml.safe_load(Path(__file__).with_name("rights.yaml").read_text("utf-8"))

TIMEOUT_S = 30.0


def account(name: str, node: str) -> dict[str, tuple[str, ...]]:
    return {
        "Impersonate-User": (f"system:serviceaccount:gpu:{name}",),
        "Impersonate-Group": (
            "system:serviceaccounts",
            "system:serviceaccounts:gpu",
            "system:authenticated",
        ),
        f"Impersonate-Extra-{urllib.parse.quote(NODE_NAME, safe='')}": (node,),
    }


def kubelet(node: str) -> dict[str, tuple[str, ...]]:
    return {
        "Impersonate-User": (f"system:node:{node}",),
        "Impersonate-Group": ("system:nodes", "system:authenticated"),
    }


WHO: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "admin": {},
    "plugin": account("plugin", "node-a"),
    "other": account("other", "node-a"),
    "elsewhere": account("plugin", "node-b"),
    "stranger": {"Impersonate-User": ("somebody",), "Impersonate-Group": ("system:authenticated",)},
    "anonymous": {
        "Impersonate-User": ("system:anonymous",),
        "Impersonate-Group": ("system:unauthenticated",),
    },
    "kubelet": kubelet("node-a"),
    "other-kubelet": kubelet("node-b"),
}


class Asker:
    """Asks one server as anybody."""

    def __init__(self, cluster: AnyCluster) -> None:
        found = yaml.safe_load(cluster.admin_kubeconfig().read_text("utf-8"))
        self._url = urllib.parse.urlsplit(found["clusters"][0]["cluster"]["server"])

    def __call__(self, who: str, method: str, path: str, body: Any = None) -> tuple[int, str]:
        link = http.client.HTTPConnection(
            self._url.hostname or "", self._url.port, timeout=TIMEOUT_S
        )
        try:
            link.putrequest(method, f"{self._url.path}{path}")
            for name, values in WHO[who].items():
                for value in values:
                    link.putheader(name, value)
            data = b"" if body is None else json.dumps(body).encode()
            if data:
                kind = "merge-patch+json" if method == "PATCH" else "json"
                link.putheader("Content-Type", f"application/{kind}")
                link.putheader("Content-Length", str(len(data)))
            link.endheaders(data)
            answer = link.getresponse()
            return answer.status, answer.read().decode()
        finally:
            link.close()


def play(cluster: AnyCluster) -> list[str]:
    """A line for each request: its code and, of a refusal, its words and details."""
    ask = Asker(cluster)
    for name in ("gpu", "lost"):
        ask("admin", "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    for name in ("node-a", "node-b"):
        ask("admin", "POST", "/api/v1/nodes", {"metadata": {"name": name}})
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    ask("admin", "POST", claims, SCRIPT["claim"])
    ask("admin", "PATCH", f"{claims}/c/status", SCRIPT["status"])
    for obj in SCRIPT["objects"]:
        place = obj["metadata"].get("namespace")
        where = f"namespaces/{place}/" if place else ""
        root = f"/apis/rbac.authorization.k8s.io/v1/{where}{obj['kind'].lower()}s"
        code, text = ask("admin", "POST", root, obj)
        assert code == 201, text
    lines = []
    for _, who, method, path, *body in SCRIPT["requests"]:
        sent = body[0] if body else None
        code, text = ask(who, method, path, SCRIPT[sent] if isinstance(sent, str) else sent)
        lines.append(f"{who} {method} {path}: {code}{_refusal(code, text)}")
    return lines


def _refusal(code: int, text: str) -> str:
    if code not in (403, 422):
        return ""
    status = json.loads(text)
    details = status["details"]
    causes = sorted((each.get("field", ""), each["reason"]) for each in details.pop("causes", []))
    words = status["message"] if code == 403 else ""
    return f" {words} {json.dumps(details, sort_keys=True)} {causes}"


def test_each_request_is_answered_by_the_stored_roles(embedded: EmbeddedCluster) -> None:
    got = [line.partition(": ") for line in play(embedded)]
    wanted = [f"{each[0]}" for each in SCRIPT["requests"]]
    wrong = [
        f"{what}: {answer}, want {want}"
        for (what, _, answer), want in zip(got, wanted, strict=True)
        if not answer.startswith(want)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_real_server_answers_in_the_same_words(tmp_path: Path, real: ApiServerCluster) -> None:
    ours = EmbeddedCluster(tmp_path, kubernetes=real.kubernetes, timeline=Timeline())
    ours.start()
    try:
        assert play(ours) == play(real)
    finally:
        ours.stop()
