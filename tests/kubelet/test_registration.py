from __future__ import annotations

import dataclasses
import os
import socket as sockets
import threading
from typing import Any

import pytest

from pytest_dra.kubelet import RegistrationClient
from pytest_dra.timeline import EndpointProbe
from pytest_dra.timeline import RegistrationCall
from pytest_dra.waiting import Deadline
from tests.kubelet.conftest import SMALL
from tests.kubelet.conftest import Node
from tests.kubelet.conftest import soon

DRIVER = "gpu.example.com"
INSIDE = "/var/lib/kubelet/plugins/gpu.example.com/dra.sock"


def test_a_good_plugin_is_registered_and_told_so(node: Node) -> None:
    plugin = node.plugin().start()
    kubelet = node.kubelet()
    found = kubelet.plugin(DRIVER, Deadline.after(10))
    assert found is not None
    assert found.client.is_connected
    assert (found.service, found.attempts) == ("v1.DRAPlugin", 1)
    [attempt] = soon(kubelet.attempts)
    assert attempt.registered
    assert plugin.notified == [(True, "")]
    calls = [entry.event for entry in node.timeline.entries(RegistrationCall)]
    assert [(call.method, call.code) for call in calls] == [
        ("GetInfo", "OK"),
        ("NotifyRegistrationStatus", "OK"),
    ]
    assert calls[0].response is not None
    assert calls[0].response["endpoint"] == str(plugin.endpoint)
    assert calls[1].request == {"plugin_registered": True, "error": ""}
    [probe] = node.timeline.entries(EndpointProbe)
    assert probe.event.connected


def test_the_authorities_are_those_of_the_kubelet(node: Node) -> None:
    plugin = node.plugin().start()
    kubelet = node.kubelet()
    assert kubelet.plugin(DRIVER, Deadline.after(10))
    kubelet.prepare(DRIVER, [])
    assert plugin.authorities == [
        ("registration", str(plugin.socket).replace("/", "%2F")),
        ("dra", "localhost"),
    ]


def test_the_first_known_version_of_the_plugins_own_list_is_chosen(node: Node) -> None:
    node.plugin(versions=("v2.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAPlugin")).start()
    found = node.kubelet().plugin(DRIVER, Deadline.after(10))
    assert found is not None
    assert found.service == "v1beta1.DRAPlugin"


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"type": "ResourcePlugin"}, "no handler registered for plugin type: ResourcePlugin at "),
        ({"versions": ()}, ": empty list of supported gRPC services (aka supported versions)"),
        (
            {"versions": ("1.0.0", "v1")},
            'none of services supported by the plugin (["1.0.0" "v1"]) are supported by the '
            'kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])',
        ),
    ],
)
def test_an_unusable_answer_is_refused_with_the_kubelets_text_and_tried_again(
    node: Node, wrong: dict[str, Any], text: str
) -> None:
    plugin = node.plugin(**wrong).start()
    kubelet = node.kubelet()
    soon(lambda: len(plugin.notified) >= 2)
    registered, error = plugin.notified[0]
    assert not registered
    assert error.startswith("RegisterPlugin error -- ")
    assert text in error
    assert kubelet.plugins() == ()
    plugin.type = "DRAPlugin"
    plugin.versions = ("v1.DRAPlugin",)
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None


def test_a_hanging_get_info_ends_at_its_deadline_and_hinders_no_other_socket(node: Node) -> None:
    hanging = node.plugin("a", name="slow.example.com", get_info_gate=threading.Event()).start()
    node.plugin("b").start()
    kubelet = node.kubelet(settings=dataclasses.replace(SMALL, get_info_s=0.2))
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    late = soon(lambda: [a for a in kubelet.attempts() if a.socket == hanging.socket])
    assert late[0].info is not None
    assert late[0].info.code == "DEADLINE_EXCEEDED"
    assert hanging.get_info_gate is not None
    hanging.get_info_gate.set()
    assert kubelet.plugin("slow.example.com", Deadline.after(10)) is not None


def test_an_error_of_get_info_is_tried_again_without_notify(node: Node) -> None:
    plugin = node.plugin(get_info_error=True).start()
    kubelet = node.kubelet()
    soon(lambda: plugin.infos >= 3)
    assert plugin.notified == []
    assert {a.info.code for a in kubelet.attempts() if a.info} == {"FAILED_PRECONDITION"}


@pytest.mark.parametrize("garbage", [b"\xff\xff\xff", b"\x0a\x02\xff\xfe"])
def test_bytes_that_are_no_message_are_a_failed_call(node: Node, garbage: bytes) -> None:
    node.plugin(get_info_bytes=garbage).start()
    kubelet = node.kubelet()
    attempt = soon(kubelet.attempts)[0]
    assert attempt.info is not None
    assert (attempt.info.code, attempt.info.info) == ("INTERNAL", None)


def test_a_failing_notify_deregisters_on_1_37(node: Node) -> None:
    plugin = node.plugin(notify_error=True).start()
    kubelet = node.kubelet()
    soon(lambda: len(plugin.notified) >= 2)
    plugin.notify_error = False
    soon(lambda: kubelet.attempts() and kubelet.attempts()[-1].registered)
    assert len(kubelet.plugins()) == 1
    assert [a.registered for a in kubelet.attempts()][:2] == [False, False]


def test_a_failing_notify_is_ignored_on_1_34(node: Node) -> None:
    plugin = node.plugin(notify_error=True).start()
    kubelet = node.kubelet(kubernetes="1.34")
    [attempt] = soon(kubelet.attempts)
    assert attempt.registered
    assert attempt.notify is not None
    assert attempt.notify.code == "INTERNAL"
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    assert plugin.infos == 1


def test_an_endpoint_is_not_given_to_a_second_plugin_of_the_driver(node: Node) -> None:
    first = node.plugin("a").start()
    kubelet = node.kubelet()
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    second = node.plugin("b", endpoint=first.endpoint)
    second.serve_registration()
    soon(lambda: second.notified)
    assert second.notified[0] == (
        False,
        "RegisterPlugin error -- plugin registration failed with err: endpoint "
        f"{first.endpoint} already registered for DRA driver plugin {DRIVER}",
    )
    other = node.plugin("c", name="other.example.com", endpoint=first.endpoint)
    other.serve_registration()
    assert kubelet.plugin("other.example.com", Deadline.after(10)) is not None


def test_a_taken_endpoint_is_never_tried_again_on_1_34(node: Node) -> None:
    first = node.plugin("a").start()
    kubelet = node.kubelet(kubernetes="1.34")
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    second = node.plugin("b", endpoint=first.endpoint)
    second.serve_registration()
    soon(lambda: len(kubelet.attempts()) == 2)
    other = node.plugin("c", name="other.example.com").start()
    assert kubelet.plugin("other.example.com", Deadline.after(10)) is not None
    soon(lambda: other.notified)
    assert len(second.notified) == 1


def test_an_empty_endpoint_is_the_registration_socket(node: Node) -> None:
    plugin = node.plugin(said_endpoint="")
    plugin.serve_registration()
    found = node.kubelet().plugin(DRIVER, Deadline.after(10))
    assert found is not None
    assert found.endpoint == plugin.socket
    assert found.client.is_connected


@pytest.mark.parametrize("said", ["/tmp/no-such/dra.sock", "dra.sock", "/" + "x" * 200, "/tmp/\0"])
def test_any_endpoint_is_registered_and_a_wrong_one_is_unavailable(node: Node, said: str) -> None:
    plugin = node.plugin(said_endpoint=said)
    plugin.serve_registration()
    kubelet = node.kubelet()
    soon(lambda: plugin.notified)
    assert plugin.notified == [(True, "")]
    [probe] = node.timeline.entries(EndpointProbe)
    assert not probe.event.connected
    assert probe.event.error
    assert kubelet.prepare(DRIVER, []).code == "UNAVAILABLE"
    assert kubelet.plugin(DRIVER, Deadline.after(0.05)) is not None


def test_a_driver_that_listens_late_is_registered_within_one_attempt(node: Node) -> None:
    plugin = node.plugin()
    plugin.serve_dra()
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as bound:
        bound.bind(str(node.root / "early"))
    (node.root / "early").rename(plugin.socket)
    kubelet = node.kubelet()
    soon(lambda: not kubelet.attempts() and threading.Event().wait(0.3) is False)
    plugin.serve_registration()
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None


def test_a_stale_socket_file_costs_an_attempt_and_nothing_else(node: Node) -> None:
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as bound:
        bound.bind(str(node.registry / "stale.sock"))
    node.plugin().start()
    kubelet = node.kubelet(settings=dataclasses.replace(SMALL, dial_s=0.2))
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    stale = soon(lambda: [a for a in kubelet.attempts() if a.socket.name == "stale.sock"])
    assert stale[0].info is None
    assert not stale[0].registered


def test_a_socket_that_accepts_and_never_answers_costs_an_attempt(node: Node) -> None:
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as mute:
        mute.bind(str(node.registry / "mute.sock"))
        mute.listen()
        kubelet = node.kubelet(settings=dataclasses.replace(SMALL, dial_s=0.2))
        attempt = soon(kubelet.attempts)[0]
        kubelet.stop()
    assert attempt.info is None


def test_an_authority_of_ones_own_choice_can_be_sent(node: Node) -> None:
    plugin = node.plugin().start()
    with RegistrationClient(
        plugin.socket, timeline=node.timeline, instance="A", authority="localhost"
    ) as client:
        reply = client.get_info(timeout_s=5.0)
    assert reply.ok
    assert node.timeline.all()[reply.serial].event.method == "GetInfo"
    assert plugin.authorities == [("registration", "localhost")]


def test_file_names_that_are_no_text_are_no_trouble(node: Node) -> None:
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as bound:
        bound.bind(os.fsencode(node.registry) + b"/\xff%41.sock")
    kubelet = node.kubelet(settings=dataclasses.replace(SMALL, dial_s=0.1))
    assert soon(kubelet.attempts)[0].info is None


def test_a_refusal_names_a_socket_whose_name_is_no_text(node: Node) -> None:
    plugin = node.plugin(versions=(), said_endpoint="")
    plugin.socket = node.root / "new.sock"
    plugin.serve_registration()
    plugin.socket.rename(node.registry / os.fsdecode(b"\xff.sock"))
    node.kubelet()
    soon(lambda: plugin.notified)
    assert "/\ufffd.sock: empty list of supported" in plugin.notified[0][1]


def test_the_probe_can_be_left_out(node: Node) -> None:
    node.plugin().start()
    kubelet = node.kubelet(settings=dataclasses.replace(SMALL, probe_s=0.0))
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    assert node.timeline.entries(EndpointProbe) == []


def test_an_endpoint_is_looked_for_where_it_lies_for_us(node: Node) -> None:
    plugin = node.plugin(said_endpoint=INSIDE).start()
    kubelet = node.kubelet(locate=lambda path: plugin.endpoint if str(path) == INSIDE else path)
    found = kubelet.plugin(DRIVER, Deadline.after(10))
    assert found is not None
    assert found.client.is_connected
    assert (found.info.endpoint, found.endpoint) == (INSIDE, plugin.endpoint)
