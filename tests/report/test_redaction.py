"""A report that is published gives no credentials away, and stays readable."""

from __future__ import annotations

import pytest

from pytest_dra.report.redaction import is_secret_name
from pytest_dra.report.redaction import redacted
from pytest_dra.report.redaction import redacted_data


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
