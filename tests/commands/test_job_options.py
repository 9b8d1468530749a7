"""The options of pytest behind ``--`` of ``dra-report job``, looked at before it prints."""

from __future__ import annotations

import pytest

from pytest_dra.commands.report import run
from pytest_dra.option import Option
from pytest_dra.options import OPTIONS
from tests.commands.test_job import GIVEN
from tests.commands.test_job import command_of
from tests.commands.test_job import printed


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--dra-cas=REG"], "--dra-cas: pytest-dra has no such option; did you mean --dra-case?"),
        (["-q", "--dra-0123456789abc"], "pytest-dra has no such option; see pytest --help"),
        (["--dra-case"], "--dra-case: without a value; want --dra-case=IDS"),
        (["--dra-case", "-q"], "--dra-case: without a value; want --dra-case=IDS"),
        (["--dra-strict=yes"], "--dra-strict=yes: takes no value; want --dra-strict, or leave"),
        (["--dra-kubernetes", "1.12"], "--dra-kubernetes: got '1.12', want one of 1.34"),
        (["--dra-logs=some"], "--dra-logs: got 'some', want one of never"),
        (["--dra-benches=99"], "--dra-benches: got '99', want one of auto"),
        (["--dra-depth=wire,cluster"], "--dra-depth=wire,cluster: a shard judges at the depth"),
        (["--dra-case=SHARE-01"], "--dra-case=SHARE-01: matches no case; did you mean SHARE-"),
        (["--dra-case=IDEM-009"], "is judged with --dra-cluster=embedded, from your machine"),
        (["--dra-case=,"], "--dra-case=,: names no case"),
        (["--dra-feature-gates=DRAadminaccess=true"], "did you mean DRAAdminAccess?"),
        (
            ["--dra-kubernetes=1.34", "--dra-feature-gates=DRAWorkloadResourceClaims=true"],
            "Kubernetes 1.34 has no feature gate DRAWorkloadResourceClaims",
        ),
        (["--dra-allocator=reference"], "--dra-allocator=reference: the allocators of several"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--sonobuoy"]])
def test_options_that_would_end_each_shard_are_refused_before_anything_is_printed(
    more: list[str], options: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["job", *GIVEN, *more, "--", *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("dra-report: -- --dra-")
    assert reason in shown.err


FITTING = frozenset(
    {
        "--dra-allocator",
        "--dra-benches",
        "--dra-case",
        "--dra-cdi-library",
        "--dra-cel-engine",
        "--dra-deadlines",
        "--dra-depth",
        "--dra-feature-gates",
        "--dra-kubernetes",
        "--dra-logs",
        "--dra-pod-image",
        "--dra-strict",
    }
)
"""Options that a shard can be given. A new option of pytest has to be put here or refused."""


@pytest.mark.parametrize("written", ["option", "ini value"])
@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_each_option_is_either_for_shards_or_refused_with_a_way_out(
    option: Option, written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    value = option.choices[0] if option.choices else "true" if option.flag else ""
    given = [option.name if option.flag else f"{option.name}={value}"]
    is_ini = written == "ini value"
    if is_ini:
        given = ["-o", f"{option.dest}={value}"]
    code = run(
        ["job", *GIVEN, "--", *(each.replace("=reference", "=kube-scheduler") for each in given)]
    )
    shown = capsys.readouterr().err
    if option.name in FITTING:
        assert code == 0
        return
    assert code == 2
    spelled = f"-o {option.dest}" if is_ini else option.name
    assert shown.startswith(f"dra-report: -- {spelled}: ")
    ways_out = ("leave it out", "dra-report merge", "from your machine", "--profile", "--nodes")
    assert any(each in shown for each in (*ways_out, "--driver-name"))


@pytest.mark.parametrize(
    "words",
    [
        ["-o", "dra_cluster=kind"],
        ["-odra_cluster=kind"],
        ["-o=dra_cluster=kind"],
        ["-qo", "dra_cluster=kind"],
        ["-xvodra_cluster=kind"],
        ["--override-ini", "dra_cluster=kind"],
        ["--override-ini=dra_cluster=kind"],
        ["-q", "-o", "log_level=INFO", "-o", "dra_cluster=kind"],
        ["-o", "addopts=-q -o dra_cluster=kind"],
        ["--override-ini=addopts=-q '-odra_cluster=kind'"],
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_an_ini_value_is_found_in_each_way_that_pytest_takes_it(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["job", *GIVEN, "--", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        "dra-report: -- -o dra_cluster: a shard judges the cluster that it runs on; leave it out\n"
    )


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-o", "dra_cas=REG"], "-o dra_cas: pytest-dra has no such option; did you mean dra_case"),
        (["-o", "dra_0123456789abc=1"], "pytest-dra has no such option; see pytest --help"),
        (["-o", "dra_case"], "-o dra_case: without a value; want -o dra_case=IDS"),
        (["-o", "dra_strict=perhaps"], "dra_strict (ini): got 'perhaps', want true or false"),
        (["-o", "dra_logs=some"], "dra_logs (ini): got 'some', want one of never"),
        (["-o", "dra_case=SHARE-01"], "--dra-case=SHARE-01: matches no case; did you mean SHARE-"),
        (["-o", "dra_depth=wire"], "--dra-depth=wire: a shard judges at the depth"),
        (["-o", "dra_output=out"], "-o dra_output: a shard leaves its report in a ConfigMap; "),
        (["-o", "dra_profile=p.yaml"], "-o dra_profile: a file of your machine is not in the pods"),
        (["-o", "addopts=--dra-cluster=kind"], "--dra-cluster: a shard judges the cluster that it"),
        (["-o", "addopts='"], "-o addopts: No closing quotation; want a command line"),
    ],
)
def test_ini_values_behind_the_dashes_are_looked_at_as_options_are(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["job", *GIVEN, "--", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("dra-report: -- ")
    assert reason in shown.err


def test_ini_values_that_fit_go_along_and_those_of_others_are_left_to_the_shards(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["-o", "dra_case=SHARE", "-odra_strict=yes", "-o", "log_level=INFO", "-vo", "x"]
    more = ["--override-ini=addopts=-q --tb=no", "-k", "o and dra_cluster", "-o"]
    found = printed(capsys, *GIVEN, "--", *options, *more)
    (container,) = found["Job"]["spec"]["template"]["spec"]["containers"]
    assert command_of(container).options[1:] == [*options, *more]


def test_what_is_no_option_of_ours_is_left_to_the_shards(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["-k", "SHARE", "--tb=no", "--dra-pod-image", "busybox:1", "--dra-case=SHARE,LIFE"]
    gates = ["--dra-feature-gates=DRADeviceTaints=true", "--dra-strict"]
    found = printed(capsys, *GIVEN, "--", *options, *gates)
    (container,) = found["Job"]["spec"]["template"]["spec"]["containers"]
    assert command_of(container).options[1:] == [*options, *gates]
