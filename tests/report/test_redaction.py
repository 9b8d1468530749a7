"""A report that is published gives no credentials away, and stays readable."""

from __future__ import annotations

import base64
import dataclasses
import json
from pathlib import Path
from typing import Final

import pytest

from pytest_dra.report.redaction import is_secret_name
from pytest_dra.report.redaction import redacted
from pytest_dra.report.redaction import redacted_data
from pytest_dra.report.results import Finding
from pytest_dra.report.results import Option
from pytest_dra.report.results import State
from pytest_dra.report.terminal import summary_lines
from pytest_dra.report.verdict import summarise
from pytest_dra.report.writing import write_reports
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import result
from tests.report.running import run_of


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Authorization: Bearer abc.def-ghi_123", "Authorization: Bearer <redacted>"),
        ("Authorization: Token abc", "Authorization: Token <redacted>"),
        ("x eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2ln y", "x <redacted> y"),
        ("https://me:pass@host/path", "https://<redacted>@host/path"),
        ("driver --token=abc --node=n", "driver --token=<redacted> --node=n"),
        ("driver --kubeconfig=/home/me/.kube/config -v", "driver --kubeconfig=<redacted> -v"),
        ("driver --kubeconfig /home/me/.kube/config", "driver --kubeconfig <redacted>"),
        ("KUBECONFIG=/tmp/dra-x/kubeconfig driver", "KUBECONFIG=<redacted> driver"),
        ('{"apiKey": "abc"}', '{"apiKey": "<redacted>"}'),
        ("PASSWORD=abc", "PASSWORD=<redacted>"),
        ('sent "{\\"apiToken\\":\\"abc\\"}"', 'sent "{\\"apiToken\\":\\"<redacted>\\"}"'),
        ('{"token" : "abc"}', '{"token" : "<redacted>"}'),
        ("password = abc", "password = <redacted>"),
        ('password: "two words" -v', 'password: "<redacted>" -v'),
        ("driver --password 'two words' -v", "driver --password '<redacted>' -v"),
        ("credentials=abc", "credentials=<redacted>"),
        ("redis://:pass@host/0", "redis://<redacted>@host/0"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
            "<redacted>",
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,01\n\n"
            "MIIE\n-----END RSA PRIVATE KEY----- and more",
            "<redacted> and more",
        ),
        ("-----BEGIN CERTIFICATE-----\nMIIE", "<redacted>"),
        ("pushed with ghp_" + "a" * 36, "pushed with <redacted>"),
        ("hf_" + "a" * 34 + " and dckr_pat_" + "a" * 27, "<redacted> and <redacted>"),
        ("AKIA" + "A" * 16 + " is used", "<redacted> is used"),
        ("client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURQ==", "client-key-data: <redacted>"),
    ],
)
def test_credentials_are_taken_out(text: str, wanted: str) -> None:
    assert redacted(text) == wanted
    assert redacted(wanted) == wanted, "a second pass changes nothing"


HUSH = "hunter2hunter2"
"""A secret without a form of its own: only what stands round it tells."""

BODY = "MHcCAQEEIDaLx8W3kq0YhPq7yQk2nqP5"
PEM = (
    f"-----BEGIN EC PRIVATE KEY-----\n{BODY}\noAoGCCqGSM49AwEH1Q==\n-----END EC PRIVATE KEY-----\n"
)
CLAIMS = "eyJpc3MiOiJrdWJlcm5ldGVzIn0"
TOKEN = f"eyJhbGciOiJSUzI1NiJ9.{CLAIMS}.c2lnbmF0dXJl"


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def folded(text: str) -> str:
    """In lines, as the command base64 prints it."""
    return base64.encodebytes(text.encode()).decode()


PLANTED: Final = [
    (f"client-key-data: MIIEow{HUSH}", HUSH),
    (f'{{"client-key-data":"MIIEow{HUSH}"}}', HUSH),
    (coded(PEM), coded(PEM)[40:]),
    (coded(f"\n{PEM}"), coded(f"\n{PEM}")[40:]),
    (coded(f"ab{PEM}"), coded(f"ab{PEM}")[40:]),
    (folded(PEM), folded(PEM).splitlines()[1]),
    (PEM.replace("\n", "\\n"), BODY),
    (PEM.replace("\n", "\r\n"), BODY),
    (json.dumps(json.dumps({"key": PEM})), BODY),
    ("end of a log\n" + PEM.partition("\n")[2], BODY),
    (("end of a log\n" + PEM.partition("\n")[2]).replace("\n", "\\n"), BODY),
    (f"private-key: |\n  {HUSH}\n  {HUSH}\n", HUSH),
    (f"GET https://host/x?access_token={HUSH}&node=n", HUSH),
    (f"GET /x?authorization=Bearer%20{HUSH}", HUSH),
    (f"GET /x?auth=Bearer+{HUSH}", HUSH),
    (f"https://account.example/c?sv=1&sig={HUSH}%3D", HUSH),
    (f"https://bucket.example/x?X-Amz-Signature={HUSH}", HUSH),
    (f"https://me:p@{HUSH}@host/x", HUSH),
    (f'"https:\\/\\/me:{HUSH}@host"', HUSH),
    (f"https://{HUSH}{HUSH}@host/x", HUSH),
    (f"https://me:{HUSH}", HUSH),
    (f"https://me:{HUSH}... (512 characters in all)", HUSH),
    (f"postgres://me:a,b{HUSH}@host/db", HUSH),
    (f"aws_secret_access_key = {HUSH}", HUSH),
    (f"secretKey: {HUSH}", HUSH),
    (f'"SecretAccessKey":"{HUSH}"', HUSH),
    (f"AccountKey={HUSH}", HUSH),
    (TOKEN.replace(".", ".\n"), CLAIMS),
    (f"sa_{TOKEN}", "eyJhbGci"),
    (coded(TOKEN), coded(TOKEN)[8:]),
    (folded(TOKEN), folded(TOKEN).splitlines()[1]),
    (coded(f"Bearer {HUSH}"), coded(f"Bearer {HUSH}")[12:]),
    ("Authorization: Bearer abc", "abc"),
    ("Proxy-Authorization: Basic YTpi", "YTpi"),
    (f"map[Authorization:[Bearer {HUSH}]]", HUSH),
    (f"authorization: {HUSH}", HUSH),
    (f'Authorization: Digest username="me", response="{HUSH}"', HUSH),
    (f"Cookie: session={HUSH}", HUSH),
    (f"bearer: {HUSH}", HUSH),
    (f'{{"auths":{{"registry":{{"auth":"{coded(f"me:{HUSH}")}"}}}}}}', coded(f"me:{HUSH}")),
    (f'{{"name":"DB_PASSWORD","value":"{HUSH} {HUSH}"}}', HUSH),
    (f"- name: DB_PASSWORD\n  value: {HUSH}\n", HUSH),
    (f"{{Name:DB_PASSWORD Value:{HUSH} ValueFrom:nil}}", HUSH),
    (f"['--password', '{HUSH}']", HUSH),
    (f'["driver","--token","{HUSH} {HUSH}"]', HUSH),
    (f"credential: {HUSH}", HUSH),
    (f"the token is {HUSH}{HUSH}", HUSH),
    (json.dumps({"kind": "Secret", "data": {"any": coded(HUSH)}}), coded(HUSH)),
    (json.dumps(json.dumps({"kind": "Secret", "stringData": {"any": HUSH}})), HUSH),
    (f"sk-proj-{HUSH}{HUSH} npm_{'a' * 36}", HUSH),
]
"""Texts with secrets, and what must not be found afterwards."""


@pytest.mark.parametrize(("text", "secret"), PLANTED)
def test_planted_secrets_are_taken_out_in_the_forms_in_which_drivers_print_them(
    text: str, secret: str
) -> None:
    assert secret in text
    found = redacted(f"before {text} behind")
    assert secret not in found
    assert found.startswith("before ")
    assert redacted(found) == found, "a second pass changes nothing"


@pytest.mark.parametrize(
    "text",
    [
        "driver --kubeconfig={kubeconfig} --node={node}",
        "--dra-cluster=kubeconfig:my-context",
        "--dra-cluster=kubeconfig:arn:aws:eks:eu-1:1:cluster/gpus",
        "--dra-cluster=kubeconfig: --dra-pod-image=registry.example/busybox",
        "the token of the claim is wrong",
        "a bearer of news",
        "api create resourceslices -> 201",
        "driver --token={token}",
        "authorization: forbidden by policy",
        "the driver's --authorization-mode=Node,RBAC is usual",
        "https://10.96.0.1:443/api and http://localhost:8080, unix:///run/x.sock",
        "http://[::1]:8080/x http://{host}:{port} http://host:$PORT/",
        "name: gpu-0, value: 3",
        '{"kind":"ConfigMap","data":{"any":"text"}}',
        "a cookie of its own, the basic case, bearer is missing",
        "uid 0a1b2c3d-0000-4000-8000-00000000000a of registry.example/gpu@sha256:" + "a" * 64,
        "-----END of the log",
    ],
)
def test_ordinary_texts_stay(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("name", ["apiToken", "DB_PASSWORD", "--client-secret", "private_key"])
def test_names_of_secrets_are_recognised(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["canary_field", "tokenizer", "monkey", "secretary", "node"])
def test_other_names_are_not(name: str) -> None:
    assert not is_secret_name(name)


def test_data_is_redacted_by_name_and_by_place() -> None:
    data = {
        "env": {"API_TOKEN": "abc", "NODE": "n", "EMPTY_TOKEN": ""},
        "command": ["driver", "--token", "abc", "--kubeconfig", "/x/y", "--secret", "--node", "n"],
        "numbers": [1, 2.5, True, None],
    }
    assert redacted_data(data) == {
        "env": {"API_TOKEN": "<redacted>", "NODE": "n", "EMPTY_TOKEN": ""},
        "command": [
            "driver",
            "--token",
            "<redacted>",
            "--kubeconfig",
            "<redacted>",
            "--secret",
            "--node",
            "n",
        ],
        "numbers": [1, 2.5, True, None],
    }


def test_placeholders_stay_after_an_option() -> None:
    assert redacted_data(["--kubeconfig", "{kubeconfig}"]) == ["--kubeconfig", "{kubeconfig}"]


def test_what_a_kubernetes_secret_holds_is_taken_out() -> None:
    secret = {
        "kind": "Secret",
        "metadata": {"name": "a"},
        "data": {"anything": "aHVzaA=="},
        "stringData": {"word": "hush hush"},
    }
    assert redacted_data({"body": secret}) == {
        "body": {
            "kind": "Secret",
            "metadata": {"name": "a"},
            "data": {"anything": "<redacted>"},
            "stringData": {"word": "<redacted>"},
        }
    }


def test_values_beside_names_in_lists_and_as_numbers_are_taken_out() -> None:
    coded_pair = coded(f"me:{HUSH}")
    data = {
        "env": [{"name": "DB_PASSWORD", "value": HUSH}, {"name": "NODE", "value": "n"}],
        "tokens": [HUSH],
        "password": 12345678,
        "tokenSeconds": 3600,
        "auth": coded_pair,
        "last": json.dumps({"kind": "Secret", "data": {"any": coded_pair}}),
    }
    assert redacted_data(data) == {
        "env": [{"name": "DB_PASSWORD", "value": "<redacted>"}, {"name": "NODE", "value": "n"}],
        "tokens": ["<redacted>"],
        "password": "<redacted>",
        "tokenSeconds": 3600,
        "auth": "<redacted>",
        "last": '{"kind": "Secret", "data": {"any": "<redacted>"}}',
    }


def test_each_of_a_list_of_secrets_is_one() -> None:
    held = {"kind": "SecretList", "items": [{"data": {"any": HUSH}}, "odd"]}
    assert HUSH not in str(redacted_data(held))
    assert redacted_data({"kind": "SecretList", "items": None})


@pytest.mark.parametrize(("text", "secret"), PLANTED)
def test_planted_secrets_are_in_no_form_of_the_report(
    text: str, secret: str, tmp_path: Path
) -> None:
    """Where quoted, cut, escaped or put into one line before they are redacted."""
    finding = Finding(where=f"at {text}", got=repr(text), want=text, source="proto: x")
    excerpt, error = (f"+1.000 s #3 {text[:280]}",), f"Traceback\n{text}"
    broken = result(MUST_ID, State.FAILED, finding=finding, excerpt=excerpt, notes=(text,))
    run = dataclasses.replace(
        run_of(results=(broken, result(OTHER_MUST_ID, State.ERRORED, error=error))),
        launched=f"exec:{text}",
        options=(Option(name="--dra-driver", value=f"exec:{text}", source="command line"),),
    )
    summary = summarise(run)
    write_reports(run, summary, tmp_path, summaries=[tmp_path / "summary.md"])
    files = {each.name: each.read_text("utf-8") for each in tmp_path.iterdir()}
    assert len(files) == 7
    told = {**files, "terminal": "\n".join(summary_lines(run, summary))}
    assert [name for name, content in told.items() if secret in content] == []
