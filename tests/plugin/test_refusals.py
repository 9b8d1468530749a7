"""What cannot be used is said in one sentence, before anything is started."""

from __future__ import annotations

import pytest

from pytest_dra.launch import Jail
from pytest_dra.options import resolve
from pytest_dra.planning import plan_of
from pytest_dra.session import Session
from pytest_dra.site import Site
from tests.plugin.conftest import Runs

PROFILE = """\
apiVersion: pytest-dra.dev/v1alpha1
kind: DriverProfile
driver: {name: gpu.example.com}
"""


def refused(runs: Runs, *arguments: str) -> str:
    """The one line that a refused run says; checks that nothing was made or started."""
    before = set(runs.folder.rglob("*"))
    done = runs.inside("-p", "no:cacheprovider", *arguments)
    assert done.ret is pytest.ExitCode.USAGE_ERROR
    lines = [line for line in done.errlines if line.strip()]
    assert done.outlines == []
    assert lines[0].startswith("ERROR: ")
    new = {each for each in set(runs.folder.rglob("*")) - before if "__pycache__" not in str(each)}
    assert new == set()
    return "\n".join(lines).removeprefix("ERROR: ")


@pytest.fixture(autouse=True)
def _nothing_may_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: object) -> None:
        raise AssertionError("something was started")

    monkeypatch.setattr(Session, "_start_keeper", start)
    monkeypatch.setattr(Site, "_start_cluster", start)


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        (
            "--dra-driver=installed",
            "--dra-driver=installed: on which cluster? Name it: --dra-cluster=kubeconfig:CONTEXT, "
            "or --dra-cluster=kind with --dra-reuse=NAME",
        ),
        (
            "--dra-case=LIFE-001",
            "--dra-case=LIFE-001: is judged with --dra-cluster=kind",
        ),
        (
            "--dra-cluster=minikube",
            "--dra-cluster: got 'minikube', want embedded, apiserver, kind or kubeconfig[:CONTEXT]",
        ),
        (
            "--dra-allocator=kube-scheduler",
            "--dra-allocator=kube-scheduler: no kube-scheduler runs with --dra-cluster=embedded; "
            "use --dra-allocator=reference, or --dra-cluster=kind",
        ),
        (
            "--dra-allocator=volcano",
            "--dra-allocator: got 'volcano', want one of reference, kube-scheduler",
        ),
        (
            "--dra-kubernetes=1.38",
            "--dra-kubernetes: got '1.38', want one of 1.34, 1.35, 1.36, 1.37",
        ),
        (
            "--dra-feature-gates=DRADeviceTaint=true",
            "--dra-feature-gates: Kubernetes 1.37 has no feature gate DRADeviceTaint for DRA; "
            "did you mean DRADeviceTaints, *",
        ),
        (
            "--dra-deadlines=none",
            "--dra-deadlines: got 'none', want one of kept, lifted",
        ),
        ("--dra-driver=attach 7", "--dra-driver=attach 7: attach takes no arguments"),
        ("--dra-driver=exec:", "--dra-driver: the command line is empty"),
        (
            "--dra-driver=exec:no-such-driver --x",
            "--dra-driver: the driver's program 'no-such-driver' is not on PATH",
        ),
        (
            "--dra-driver=exec:/no/such/driver",
            "--dra-driver: the driver's program '/no/such/driver' does not exist",
        ),
        (
            "--dra-driver=exec:/etc/passwd",
            "--dra-driver: '/etc/passwd' is not an executable program",
        ),
        (
            "--dra-driver=exec:'a",
            '--dra-driver: the command line "\'a" cannot be split: No closing quotation',
        ),
        (
            "--dra-driver=exec:true {nodename}",
            "--dra-driver: component 'driver': placeholder {nodename} in '{nodename}' is unknown; "
            "known are {kubeconfig}, {node}, {driver_name}, {registry_dir}, {plugins_dir}, "
            "{driver_dir}, {cdi_dir}, {static_cdi_dir}, {pod_uid}; write {{ or }} for a brace",
        ),
        (
            "--dra-driver=exec:true {driver_name}",
            "--dra-driver: {driver_name} is used; name it: --dra-driver-name",
        ),
        ("--dra-driver=fake 'x", "--dra-driver=fake 'x: No closing quotation"),
        ("--dra-case=PREP-6", "--dra-case=PREP-6: matches no case; did you mean PREP-006, *"),
        ("--dra-case=FROB", "--dra-case=FROB: matches no case; areas are ADM, *"),
        ("--dra-case=,", "--dra-case=,: names no case"),
    ],
)
def test_an_option_that_cannot_be_used(runs: Runs, argument: str, text: str) -> None:
    said = refused(runs, "--dra-driver=fake", argument)
    if text.endswith("*"):
        assert said.startswith(text.removesuffix("*"))
        assert "\n" not in said
    else:
        assert said == text


def test_an_image_is_not_run_round_a_real_api_server(runs: Runs) -> None:
    said = refused(runs, "--dra-driver=registry.example/driver:1", "--dra-cluster=apiserver")
    assert said == (
        "--dra-driver=registry.example/driver:1: an image is run round the embedded API server, "
        "which it finds as from within a pod; use --dra-cluster=embedded, or kind"
    )


def test_a_process_of_this_machine_is_no_driver_on_a_cluster(runs: Runs) -> None:
    said = refused(runs, "--dra-driver=exec:true", "--dra-cluster=kind")
    assert said == (
        "--dra-driver=exec:true: a process of this machine cannot run on the nodes of a cluster; "
        "name the driver's image, with --dra-manifests, or use --dra-cluster=embedded"
    )


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        (
            "-n2",
            "--dra-driver=attach: one driver cannot be attached to several workers; "
            "leave -n (pytest-xdist) out, or switch it off with -n 0",
        ),
        (
            "--dra-jail",
            "--dra-jail: a driver that you start yourself cannot be put into a jail; leave the "
            "option out, or let the suite start it: --dra-driver='exec:COMMAND LINE'",
        ),
        *[
            (
                f"--dra-attach-wait={text}",
                f"--dra-attach-wait: got '{text}', want seconds above 0, at most 86400",
            )
            for text in ("soon", "0", "-1", "nan", "inf", "86401")
        ],
    ],
)
def test_what_a_driver_that_is_attached_cannot_have(runs: Runs, argument: str, text: str) -> None:
    assert refused(runs, "--dra-driver=attach", argument) == text


def test_no_platform_but_linux(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_dra.plugin.check_platform", _on_windows)
    assert refused(runs, "--dra-driver=fake") == (
        "--dra-driver: pytest-dra judges drivers on Linux only (this is win32): "
        "run it in a Linux container or virtual machine"
    )


def _on_windows() -> None:
    from pytest_dra.options import check_platform

    check_platform("win32")


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ("budgets: {start: soon}\n", "{file}:4: budgets.start: "),
        ("injektion: {kind: cdi}\n", "{file}:4: "),
        (
            "waivers: [{case: PREP-012, reason: r, link: 'https://example.com/1', "
            "expires: 2020-01-31}]\n",
            "{file}:4: waivers[0].expires: ",
        ),
    ],
    ids=["wrong-type", "unknown-field", "expired-waiver"],
)
def test_a_profile_that_cannot_be_used(runs: Runs, more: str, text: str) -> None:
    file = runs.folder / "dra-profile.yaml"
    file.write_text(PROFILE + more)
    said = refused(runs, "--dra-driver=fake", f"--dra-profile={file}")
    assert said.startswith("--dra-profile: " + text.format(file=file)), said


def test_a_profile_without_processes_needs_a_driver(runs: Runs) -> None:
    (runs.folder / "p.yaml").write_text(PROFILE)
    assert refused(runs, "--dra-profile=p.yaml") == (
        "--dra-driver: no driver is given: name one, or list its processes in the profile "
        "under launch.components"
    )


def test_a_profile_that_is_not_there(runs: Runs) -> None:
    assert refused(runs, "--dra-profile=none.yaml").startswith("--dra-profile: none.yaml")


def test_a_component_of_the_profile_that_is_not_there(runs: Runs) -> None:
    (runs.folder / "p.yaml").write_text(
        f"{PROFILE}launch: {{components: [{{name: a, command: [none], registers: true}}]}}\n"
    )
    said = refused(runs, "--dra-profile=p.yaml")
    assert said == "launch.components: the driver's program 'none' is not on PATH"


@pytest.mark.parametrize("below", ["", "/deeper"])
def test_an_output_directory_that_cannot_be_written(runs: Runs, below: str) -> None:
    file = runs.folder / "file"
    file.write_text("")
    said = refused(runs, "--dra-driver=fake", f"--dra-output={file}{below}")
    assert said.startswith(f"--dra-output={file}{below}: cannot write there: ")
    assert said.endswith("Name a directory that you may write to with --dra-output=DIR.")


def test_collecting_alone_makes_no_directory(runs: Runs) -> None:
    done = runs.judge("--co", "-q", "-p", "no:cacheprovider")
    assert done.ret is pytest.ExitCode.OK
    assert not (runs.folder / "dra-results").exists()


def test_an_output_directory_that_is_lost_during_the_run(runs: Runs) -> None:
    runs.pytester.makeconftest("""
        import pathlib

        def pytest_collection_finish():
            pathlib.Path("dra-results").rmdir()
            pathlib.Path("dra-results").write_text("")
    """)
    runs.script(PREP_006="failed")
    done = runs.judge("--dra-case=PREP-006,PREP-001", "--dra-require=partial")
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(
        ["*nothing is kept of this case*", f"--dra-output={runs.folder}/dra-results: cannot *"]
    )
    runs.script()
    (runs.folder / "dra-results").unlink()
    done = runs.judge("--dra-case=PREP-001", "--dra-require=partial")
    assert done.ret is pytest.ExitCode.TESTS_FAILED


def test_a_jail_that_is_not_possible_is_refused(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Jail, "check", lambda extra: f"no jail here for {sorted(extra)}")
    file = runs.folder / "dra-profile.yaml"
    file.write_text(f"{PROFILE}launch: {{writable: [/run/gpu]}}\n", "utf-8")
    arguments = ("--dra-driver=fake", f"--dra-profile={file}")
    text = "no jail here for ['/run/gpu']"
    assert refused(runs, *arguments, "--dra-jail") == text


def test_without_the_option_no_jail_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(extra: object) -> str:
        raise AssertionError("tried")

    monkeypatch.setattr(Jail, "check", check)
    options = {"dra_driver": "fake"}
    assert not plan_of(resolve(flag=options.get, ini=lambda _: None, environ={}))[1].jailed
