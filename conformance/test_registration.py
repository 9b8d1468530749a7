"""REG: registration with the kubelet."""

from __future__ import annotations

from contextlib import suppress

from pytest_dra.bench import Bench
from pytest_dra.cases import case
from pytest_dra.checks import prepare
from pytest_dra.checks import registration
from pytest_dra.spec import Blocked
from pytest_dra.spec import Level
from pytest_dra.spec import Violation
from pytest_dra.timeline import EndpointProbe
from pytest_dra.timeline import RegistrationCall
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import pause
from pytest_dra.waiting import until
from pytest_dra.wire.answers import GetInfoReply
from pytest_dra.wire.answers import PluginInfo

GET_INFO_S = 1.0
"""The kubelet's deadline of GetInfo (contract 3.3)."""

GET_INFO_SLOW_S = 0.5
"""Half of that: a slower answer is a warning."""

NOTIFY_S = 5.0
"""The kubelet's deadline of NotifyRegistrationStatus (contract 3.3)."""

EMPTY_BATCH_S = 10.0
"""Deadline of an empty batch: it must be cheap, but how cheap is not judged."""

AFTER_REFUSAL_S = 2.0
REFUSAL = "refused by pytest-dra: the registration is tried again"

GET_INFO_CALLS = 5
REGISTRATIONS = 3
KUBELET_RESTARTS = 3

KUBELET_AWAY_S = 0.5
"""A restarted kubelet calls GetInfo no sooner (recorded: 0.5 to 1.2 s after the restart)."""


@case("REG-001", Level.MUST)
def test_reg_001_socket(dra_bench: Bench) -> None:
    """the driver offers a socket in the kubelet's plugin registry"""
    dra_bench.registration()


@case("REG-002", Level.MUST)
def test_reg_002_type(dra_bench: Bench) -> None:
    """GetInfo answers with the DRA plugin type"""
    registration.type_must_be_dra_plugin(dra_bench.get_info())


@case("REG-003", Level.MUST, settles=True)
def test_reg_003_name(dra_bench: Bench) -> None:
    """the registered name is the driver name in the slices"""
    info = dra_bench.answering().info()
    dra_bench.published()
    registration.name_must_be_the_drivers(
        info, slices=dra_bench.slices_as_sent(), given=dra_bench.driver_name_given
    )


@case("REG-004", Level.MUST)
def test_reg_004_known_service(dra_bench: Bench) -> None:
    """the driver advertises a DRA service that the kubelet speaks"""
    registration.a_known_service_must_be_advertised(
        dra_bench.answering().info(), kubernetes=dra_bench.kubernetes
    )


@case("REG-005", Level.SHOULD)
def test_reg_005_both_services(dra_bench: Bench) -> None:
    """a driver serves both DRAPlugin versions"""
    kubelets = dra_bench.profile.driver.kubelets
    needed = registration.needed_services(
        kubelets.min if kubelets else None, kubelets.max if kubelets else None
    )
    found = dra_bench.answering()
    for service in needed:
        registration.service_must_be_advertised(found.info(), service)
    with found.dra() as client:
        for service in needed:
            reply = client.prepare([], service=service, timeout_s=EMPTY_BATCH_S)
            registration.must_be_implemented(reply, service=service, method=prepare.PREPARE)


@case("REG-006", Level.MUST)
def test_reg_006_advertised_is_implemented(dra_bench: Bench) -> None:
    """every advertised DRAPlugin version is implemented"""
    found = dra_bench.answering()
    known = [
        service
        for service in found.info().supported_versions
        if service in registration.KNOWN_SERVICES
    ]
    with found.dra() as client:
        for service in dict.fromkeys(known):
            reply = client.prepare([], service=service, timeout_s=EMPTY_BATCH_S)
            registration.must_be_implemented(reply, service=service, method=prepare.PREPARE)
            reply = client.unprepare([], service=service, timeout_s=EMPTY_BATCH_S)
            registration.must_be_implemented(reply, service=service, method=prepare.UNPREPARE)


@case("REG-007", Level.SHOULD)
def test_reg_007_endpoint_listens(dra_bench: Bench) -> None:
    """the DRA endpoint accepts connections when GetInfo answers"""
    instance = dra_bench.instance
    timeline = dra_bench.timeline
    found = dra_bench.answering()
    if found.info().endpoint[:1] not in ("", "/"):
        # The kubelet cannot find it, which is the matter of REG-017.
        with found.dra():
            return

    def probes() -> list[EndpointProbe]:
        return [
            entry.event
            for entry in timeline.entries(EndpointProbe, disturbed=False)
            if entry.event.instance == instance.name
        ]

    until(timeline, probes, Deadline.after(instance.budgets.start))
    for probe in probes():
        registration.endpoint_must_listen(probe)
    with found.patient_client() as client:
        client.get_info(timeout_s=EMPTY_BATCH_S)
    with found.dra_at_once() as dra:
        reply = dra.prepare([], service=_known_service(found.info()), timeout_s=EMPTY_BATCH_S)
    registration.must_be_available(reply, what="an empty Prepare straight after GetInfo")


@case("REG-008", Level.SHOULD, apart_s=2)
def test_reg_008_refused(dra_bench: Bench) -> None:
    """the driver survives a refused registration"""
    instance = dra_bench.instance
    found = dra_bench.answering()
    with found.patient_client() as client:
        first = client.get_info(timeout_s=NOTIFY_S).info or found.info()
        reply = client.notify(registered=False, error=REFUSAL, timeout_s=NOTIFY_S)
        registration.refusal_must_be_answered(reply, limit_s=NOTIFY_S)
    until(dra_bench.timeline, lambda: instance.over, Deadline.after(AFTER_REFUSAL_S))
    with found.patient_client() as client:
        answer = client.get_info(timeout_s=NOTIFY_S)
        registration.refusal_must_be_survived(
            first,
            answer.info,
            ended=instance.over,
            got=instance.obituary() or f"{answer.code}: {answer.details}",
        )
        # Patiently: how long a driver takes for it is the matter of REG-015.
        reply = client.notify(registered=True, timeout_s=EMPTY_BATCH_S)
    registration.notify_must_be_acknowledged(reply, limit_s=EMPTY_BATCH_S)


@case("REG-009", Level.MUST, apart_s=2)
def test_reg_009_kubelet_restart(dra_bench: Bench) -> None:
    """registration works again after a kubelet restart"""
    instance = dra_bench.instance
    device = dra_bench.devices(1)[0]
    dra_bench.published()
    for number in range(1, KUBELET_RESTARTS + 1):
        with dra_bench.timeline.disturbance("kubelet restart"):
            instance.kubelet.stop()
            pause(KUBELET_AWAY_S)
            instance.kubelet.start()
            plugin = instance.plugin()
        if plugin is None:
            raise Violation(
                f"kubelet restart {number} of {KUBELET_RESTARTS}",
                got="the driver is not registered again",
                want=f"registered within {instance.budgets.start:g} s, without a driver restart",
            )
        claim = dra_bench.claim([device])
        reply = dra_bench.prepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Prepare after kubelet restart {number}")
        dra_bench.unprepare(claim)


@case("REG-010", Level.MUST, apart_s=0.4)
def test_reg_010_stale_socket(dra_bench: Bench) -> None:
    """a socket left by a killed predecessor does not prevent the start"""
    instance = dra_bench.instance
    dra_bench.answering()
    dra_bench.published()
    with dra_bench.timeline.disturbance("killed driver"):
        instance.kill()
        instance.start_again()
        dra_bench.forget()
        try:
            dra_bench.registration().info()
        except Violation as violation:
            raise Violation(
                "start after SIGKILL, with the old socket files in place",
                got=violation.got,
                want=f"GetInfo answered within {instance.budgets.start:g} s",
                proof=violation.proof,
            ) from None


@case("REG-014", Level.MUST)
def test_reg_014_getinfo_in_time(dra_bench: Bench) -> None:
    """GetInfo answers within one second"""
    found = dra_bench.registration()
    first = _first_get_info(dra_bench)
    replies = []
    for _ in range(GET_INFO_CALLS):
        with found.patient_client() as client:
            replies.append(client.get_info(timeout_s=GET_INFO_S))
            if not replies[-1].ok:
                break
    registration.getinfo_must_be_in_time([*first, *replies], limit_s=GET_INFO_S)
    dra_bench.warnings.add(
        registration.slow_getinfo(replies, above_s=GET_INFO_SLOW_S, limit_s=GET_INFO_S)
    )


def _known_service(info: PluginInfo) -> str:
    """The service that the kubelet would call, v1 where it would call none."""
    known = [name for name in info.supported_versions if name in registration.KNOWN_SERVICES]
    return known[0] if known else registration.KNOWN_SERVICES[0]


def _first_get_info(bench: Bench) -> list[GetInfoReply]:
    """The kubelet's first GetInfo after the start, if it failed for being late."""
    for entry in bench.timeline.entries(RegistrationCall, since=bench.instance.started_serial):
        call = entry.event
        if call.method == "GetInfo" and call.instance == bench.instance.name:
            if call.code != "DEADLINE_EXCEEDED":
                return []
            return [
                GetInfoReply(
                    code=call.code,
                    details=call.details,
                    duration_s=call.duration_s,
                    serial=entry.serial,
                    info=None,
                )
            ]
    return []


@case("REG-015", Level.MUST)
def test_reg_015_notify_acknowledged(dra_bench: Bench) -> None:
    """a confirmed registration is acknowledged in time"""
    found = dra_bench.answering()
    for _ in range(REGISTRATIONS):
        with found.patient_client() as client:
            client.get_info(timeout_s=NOTIFY_S)
            reply = client.notify(registered=True, timeout_s=NOTIFY_S)
        registration.notify_must_be_acknowledged(reply, limit_s=NOTIFY_S)


@case("REG-016", Level.SHOULD)
def test_reg_016_domain(dra_bench: Bench) -> None:
    """the driver name is lower case and belongs to a domain"""
    dra_bench.wait_published()
    drivers = [(body.get("spec") or {}).get("driver") for body in dra_bench.slices_as_sent()]
    names = {str(driver): "spec.driver of a ResourceSlice" for driver in drivers if driver}
    with suppress(Blocked, Violation):
        names[dra_bench.answering().info().name] = "GetInfo.name"
    if not names:
        raise Blocked("REG-001")
    for name, where in names.items():
        registration.name_must_be_in_a_domain(name, where=where)


@case("REG-017", Level.MUST)
def test_reg_017_endpoint_form(dra_bench: Bench) -> None:
    """the endpoint is an absolute path or empty"""
    found = dra_bench.answering()
    info = found.info()
    registration.endpoint_must_be_absolute(info)
    with found.dra() as client:
        if not info.endpoint:
            service = _known_service(info)
            reply = client.prepare([], service=service, timeout_s=EMPTY_BATCH_S)
            registration.must_be_implemented(reply, service=service, method=prepare.PREPARE)


@case("REG-018", Level.SHOULD)
def test_reg_018_order(dra_bench: Bench) -> None:
    """newer DRAPlugin versions are advertised first"""
    registration.newer_versions_must_come_first(dra_bench.answering().info())


@case("REG-019", Level.MUST)
def test_reg_019_authority(dra_bench: Bench) -> None:
    """the registration server accepts the kubelet's authority header"""
    found = dra_bench.answering()
    with found.client() as client:
        reply = client.get_info(timeout_s=EMPTY_BATCH_S)
        if not reply.ok:
            raise Violation(
                f"GetInfo with :authority {found.kubelet_authority()}",
                got=f"{reply.code}: {reply.details}",
                want="an answer: the kubelet sends the percent-encoded socket path",
                proof=(reply.serial,),
            )
        status = client.notify(registered=True, timeout_s=EMPTY_BATCH_S)
        if status.code not in ("OK", "DEADLINE_EXCEEDED"):
            raise Violation(
                f"NotifyRegistrationStatus with :authority {found.kubelet_authority()}",
                got=f"{status.code}: {status.details}",
                want="OK",
                proof=(status.serial,),
            )
    services = [
        name for name in found.info().supported_versions if name in registration.KNOWN_SERVICES
    ]
    with found.dra() as dra:
        answers = [dra.prepare([], service=name, timeout_s=EMPTY_BATCH_S) for name in services]
    if answers and all(each.code in ("UNAVAILABLE", "UNIMPLEMENTED") for each in answers):
        raise Violation(
            "an empty Prepare with :authority localhost",
            got=f"{answers[0].code}: {answers[0].details}",
            want="any status but UNAVAILABLE and UNIMPLEMENTED",
            proof=(answers[0].serial,),
        )
