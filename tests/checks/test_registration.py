"""Judgements of what a driver says on its registration socket."""

from __future__ import annotations

import pytest

from pytest_dra.checks import registration
from pytest_dra.spec import Json
from pytest_dra.wire.answers import GetInfoReply
from pytest_dra.wire.answers import PluginInfo
from pytest_dra.wire.answers import Reply
from tests.checks.raising import Judgement
from tests.checks.raising import Said
from tests.checks.raising import said

NAME = "gpu.example.com"
V1, BETA = registration.KNOWN_SERVICES


def info(
    *,
    type: str = "DRAPlugin",
    name: str = NAME,
    endpoint: str = "/var/lib/kubelet/plugins/gpu.example.com/dra.sock",
    versions: tuple[str, ...] = (V1, BETA),
) -> PluginInfo:
    """A good answer to GetInfo but for what is given."""
    return PluginInfo(type=type, name=name, endpoint=endpoint, supported_versions=versions)


def published(driver: object, *, name: str | None = "node-a-gpu") -> Json:
    """A slice body of a driver."""
    return {"metadata": {"name": name}, "spec": {"driver": driver}}


def ended(code: str, details: str = "", *, after_s: float = 0.01, serial: int = 5) -> Reply:
    """How a call ended."""
    return Reply(code=code, details=details, duration_s=after_s, serial=serial)


def getinfo(code: str, *, after_s: float, serial: int) -> GetInfoReply:
    """How a GetInfo ended."""
    found = info() if code == "OK" else None
    return GetInfoReply(code=code, details="", duration_s=after_s, serial=serial, info=found)


@pytest.mark.parametrize(
    "judgement",
    [
        pytest.param(lambda: registration.type_must_be_dra_plugin(info()), id="type"),
        pytest.param(
            lambda: registration.name_must_be_the_drivers(info(), slices=(), given=None),
            id="a legal name, nothing published yet",
        ),
        pytest.param(
            lambda: registration.name_must_be_the_drivers(
                info(), slices=[published(NAME), published(None), {}, {"spec": None}], given=NAME
            ),
            id="the name of every slice that has one",
        ),
        pytest.param(
            lambda: registration.name_must_be_the_drivers(
                info(name="GPU.example.com"), slices=[published("GPU.example.com")], given=None
            ),
            id="upper case, which the server takes",
        ),
        pytest.param(
            lambda: registration.a_known_service_must_be_advertised(
                info(versions=("9.9.9", BETA, "v1alpha7.Unheard")), kubernetes="1.37"
            ),
            id="one known service among unknown ones (V07, V08)",
        ),
        pytest.param(
            lambda: registration.service_must_be_advertised(info(), BETA), id="service advertised"
        ),
        *(
            pytest.param(
                lambda code=code: registration.must_be_implemented(
                    ended(code), service=V1, method="NodePrepareResources"
                ),
                id=f"an empty batch answered {code}",
            )
            for code in ("OK", "INVALID_ARGUMENT", "INTERNAL", "UNKNOWN")
        ),
        *(
            pytest.param(
                lambda endpoint=endpoint: registration.endpoint_must_be_absolute(
                    info(endpoint=endpoint)
                ),
                id=f"endpoint {endpoint!r}",
            )
            for endpoint in ("", "/run/dra.sock")
        ),
        pytest.param(
            lambda: registration.getinfo_must_be_in_time(
                [getinfo("OK", after_s=0.9, serial=1)] * 5, limit_s=1.0
            ),
            id="five answers",
        ),
        pytest.param(
            lambda: registration.notify_must_be_acknowledged(ended("OK"), limit_s=5.0),
            id="notification acknowledged",
        ),
    ],
)
def test_a_good_registration_is_let_pass(judgement: Judgement) -> None:
    assert said(judgement) is None


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        *(
            pytest.param(
                lambda type=type: registration.type_must_be_dra_plugin(info(type=type)),
                Said("GetInfo.type", type, "exactly 'DRAPlugin'"),
                id=f"type-{type!r}",
            )
            for type in ("", "draplugin", "ResourcePlugin", "DRAPlugin ")
        ),
        *(
            pytest.param(
                lambda name=name: registration.name_must_be_the_drivers(
                    info(name=name), slices=(), given=None
                ),
                Said("GetInfo.name", name, f"a legal driver name: {rule}"),
                id=f"name-{label}",
            )
            for label, name, rule in (
                ("empty", "", "must not be empty"),
                ("too-long", "x" * 64, "must be no more than 63 bytes"),
                (
                    "form",
                    "gpu_0.example.com",
                    "must be a DNS-1123 subdomain: lower case letters, digits, '-' or '.', every "
                    "part starting and ending with a letter or digit",
                ),
            )
        ),
        pytest.param(
            lambda: registration.name_must_be_the_drivers(
                info(), slices=(), given="npu.example.com"
            ),
            Said("GetInfo.name", NAME, "the given driver name 'npu.example.com'"),
            id="name-not-the-given-one",
        ),
        pytest.param(
            lambda: registration.name_must_be_the_drivers(
                info(), slices=[published(NAME), published("GPU.example.com")], given=None
            ),
            Said(
                "spec.driver of ResourceSlice node-a-gpu",
                "GPU.example.com",
                f"the registered name {NAME!r}, case included",
            ),
            id="name-other-in-a-slice",
        ),
        pytest.param(
            lambda: registration.name_must_be_the_drivers(
                info(), slices=[published("x", name=None)], given=None
            ),
            Said(
                "spec.driver of ResourceSlice (generated name)",
                "x",
                f"the registered name {NAME!r}, case included",
            ),
            id="name-other-in-a-slice-without-name",
        ),
        *(
            pytest.param(
                lambda versions=versions: registration.a_known_service_must_be_advertised(
                    info(versions=versions), kubernetes="1.36"
                ),
                Said(
                    "GetInfo.supported_versions",
                    list(versions),
                    "at least one of v1.DRAPlugin, v1beta1.DRAPlugin (kubelet 1.36)",
                ),
                id=f"versions-{label}",
            )
            for label, versions in (
                ("none", ()),
                ("semantic", ("1.0.0",)),
                ("health-only", ("v1.DRAResourceHealth",)),
                ("case", ("V1.DRAPlugin",)),
            )
        ),
        pytest.param(
            lambda: registration.service_must_be_advertised(info(versions=(BETA,)), V1),
            Said(
                "GetInfo.supported_versions",
                [BETA],
                "v1.DRAPlugin too, or driver.kubelets in the profile without kubelets that need it",
            ),
            id="service-missing",
        ),
        *(
            pytest.param(
                lambda code=code: registration.must_be_implemented(
                    ended(code, "no"), service=BETA, method="NodeUnprepareResources"
                ),
                Said(
                    "v1beta1.DRAPlugin/NodeUnprepareResources with an empty claim list",
                    f"{code}: no",
                    "an answer, since GetInfo advertises the service",
                    (5,),
                ),
                id=f"implemented-{code}",
            )
            for code in ("UNIMPLEMENTED", "DEADLINE_EXCEEDED", "UNAVAILABLE")
        ),
        *(
            pytest.param(
                lambda endpoint=endpoint: registration.endpoint_must_be_absolute(
                    info(endpoint=endpoint)
                ),
                Said(
                    "GetInfo.endpoint",
                    endpoint,
                    "empty, or the absolute path of a Unix socket without a URI scheme",
                ),
                id=f"endpoint-{endpoint}",
            )
            for endpoint in ("dra.sock", "./dra.sock", "unix:///run/dra.sock", " /run/dra.sock")
        ),
        pytest.param(
            lambda: registration.getinfo_must_be_in_time(
                [
                    getinfo("OK", after_s=0.1, serial=1),
                    getinfo("DEADLINE_EXCEEDED", after_s=1.0012, serial=2),
                ],
                limit_s=1.0,
            ),
            Said(
                "GetInfo, call 2 of 2",
                "DEADLINE_EXCEEDED after 1.00 s: ",
                "an answer within 1 s",
                (2,),
            ),
            id="getinfo-late",
        ),
        pytest.param(
            lambda: registration.notify_must_be_acknowledged(
                ended("UNKNOWN", "do not care", after_s=0.25), limit_s=5.0
            ),
            Said(
                "NotifyRegistrationStatus(plugin_registered=true)",
                "UNKNOWN after 0.25 s: do not care",
                "OK within 5 s",
                (5,),
            ),
            id="notify-refused",
        ),
    ],
)
def test_a_bad_registration_is_told_with_place_value_and_wish(
    judgement: Judgement, expected: Said
) -> None:
    assert said(judgement) == expected


@pytest.mark.parametrize(
    ("oldest", "newest", "needed"),
    [
        pytest.param(None, None, (V1, BETA), id="no range"),
        pytest.param("1.32", "1.37", (V1, BETA), id="old and new"),
        pytest.param("1.32", None, (V1, BETA), id="old to the newest"),
        pytest.param("1.34", "1.37", (V1,), id="new only"),
        pytest.param("v1.34.2", None, (V1,), id="new, written as a tag"),
        pytest.param("1.32", "1.33", (BETA,), id="old only"),
        pytest.param(None, "1.36", (V1, BETA), id="an upper end alone"),
        pytest.param(None, "1.33", (BETA,), id="an old upper end alone"),
    ],
)
def test_the_range_of_kubelets_decides_which_services_are_needed(
    oldest: str | None, newest: str | None, needed: tuple[str, ...]
) -> None:
    assert registration.needed_services(oldest, newest) == needed


def test_a_slow_getinfo_in_time_is_a_warning() -> None:
    replies = [getinfo("OK", after_s=each, serial=1) for each in (0.01, 0.72, 0.5)]
    assert registration.slow_getinfo(replies, above_s=0.5, limit_s=1.0) == (
        "GetInfo, the slowest of 3 calls, took 0.7 s; "
        "want less than 0.5 s: a kubelet gives up after 1 s"
    )
    assert registration.slow_getinfo(replies[::2], above_s=0.5, limit_s=1.0) == ""
    assert registration.slow_getinfo([], above_s=0.5, limit_s=1.0) == ""
