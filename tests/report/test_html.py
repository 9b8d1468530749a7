"""``report.html`` says what the report says, to everybody, and nothing of a driver acts in it."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile.model import IdentityBlock
from pytest_dra.report import html
from pytest_dra.report.document import document
from pytest_dra.report.figures import PREPARE
from pytest_dra.report.figures import Figures
from pytest_dra.report.page import OPEN_FAILURES
from pytest_dra.report.page import linked
from pytest_dra.report.page import web_address
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.steps import Party
from pytest_dra.report.steps import Step
from pytest_dra.report.verdict import summarise
from tests.report import hostile
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import SHOULD_ID
from tests.report.running import result
from tests.report.running import run_of

EVERY_STATE = dict(zip(sorted(catalogue().cases), list(State) * 40, strict=False))
STEPS = (
    Step(
        at=1.25, serial=7, source=Party.KUBELET, target=Party.DRIVER, text="Prepare", decides=True
    ),
    Step(at=1.5, serial=9, source=Party.DRIVER, target=Party.CDI, text="writes a.json", skipped=1),
)


def page(run: RunResult) -> str:
    return html.render(document(run, summarise(run)))


def elements(run: RunResult) -> hostile.Elements:
    return hostile.must_be_harmless(page(run))


def text(run: RunResult) -> str:
    """What a reader sees, in one line."""
    return " ".join(" ".join(elements(run).texts).split())


def test_nothing_of_a_hostile_driver_becomes_an_element_or_a_link() -> None:
    found = elements(hostile.run())
    assert "javascript:alert(5)" not in found.values("href")
    assert "<script>alert(1)</script>" in "".join(found.texts), "it is shown as it was"
    assert "{{7*7}}" in "".join(found.texts), "nor is it filled in"


def test_the_page_forbids_scripts_and_everything_from_elsewhere() -> None:
    (policy,) = [each for each in elements(run_of({})).values("content") if "default-src" in each]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "url(" not in page(run_of({}))


@pytest.mark.parametrize("states", [{}, EVERY_STATE])
def test_ids_are_unique_and_links_lead_somewhere(states: dict[str, State]) -> None:
    found = elements(run_of(states))
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    inner = {each.removeprefix("#") for each in found.values("href") if each.startswith("#")}
    assert inner <= set(ids)
    assert set(found.values("aria-labelledby")) <= set(ids)


def test_the_verdict_and_the_coverage_come_first() -> None:
    shown = text(run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.FAILED}))
    assert "✗ non-conformant NODE-CORE at wire depth: 1 of 2 applicable MUST cases" in shown
    assert shown.index("1 of 2 applicable MUST cases of NODE-CORE passed") < shown.index("Failures")


def test_a_failure_says_all_that_is_needed_to_mend_it() -> None:
    case = catalogue().case(MUST_ID)
    shown = text(run_of(results=(result(MUST_ID, State.FAILED, steps=STEPS),)))
    for each in (
        f"{MUST_ID} MUST: {case.title}",
        case.requirement,
        "Where claim 'a' Got {} Want an entry for each claim From proto: x",
        case.breaks,
        "◀ the moment that decides kubelet to driver: Prepare",
        "1 entry is left out",
        "driver to CDI directory: writes a.json",
        f"cases/{MUST_ID}/driver.log",
        f"--dra-strict --dra-case={MUST_ID}",
    ):
        assert each in shown


def test_the_arrows_of_the_sequence_are_defined_once() -> None:
    found = elements(run_of(results=(result(MUST_ID, State.FAILED, steps=STEPS),)))
    assert {"#s01", "#s13"} <= set(found.values("href"))


def test_what_was_not_judged_stands_with_its_reason_and_way_out() -> None:
    run = run_of(
        results=(
            result(MUST_ID),
            result(OTHER_MUST_ID, State.WAIVED, reason="mended in 2.1", remedy="mend it"),
            result(SHOULD_ID, State.NOT_RUN, reason="input missing: hooks.heal"),
            result("HLTH-003", State.PASSED, provisional=True, notes=("slow",)),
        )
    )
    shown = text(run)
    assert f"~ waived mended in 2.1 Way out: mend it {OTHER_MUST_ID} 1 MUST" in shown
    assert f"○ not-run input missing: hooks.heal {SHOULD_ID}" in shown
    assert "Provisional (1) Of features that the run has seen" in shown
    assert "HLTH-003 slow" in shown


def test_many_failures_are_listed_and_the_later_ones_closed() -> None:
    ids = sorted(catalogue().cases)[: OPEN_FAILURES + 3]
    found = elements(run_of(dict.fromkeys(ids, State.FAILED)))
    details = [
        attrs for tag, attrs in found.found if (attrs.get("class") or "").startswith("finding")
    ]
    assert len(details) == len(ids)
    assert sum("open" in each for each in details) == OPEN_FAILURES
    assert f"#f{len(ids)}" in found.values("href")


def test_a_run_that_ended_early_says_so() -> None:
    left = result(OTHER_MUST_ID, State.NOT_RUN, reason="deselected: the run ended before it")
    assert "the run ended early: 1 case was left over" in text(run_of(results=(left,)))
    assert "ended early" not in text(run_of({MUST_ID: State.NOT_RUN}))


def test_an_errored_case_is_not_blamed_on_the_driver() -> None:
    shown = text(run_of({MUST_ID: State.ERRORED}))
    assert "this is not the driver's fault" in shown
    assert "OSError: no space left" in shown


def test_every_case_is_there_with_its_requirement() -> None:
    shown = "".join(text(run_of(EVERY_STATE)).split())
    for id_, case in catalogue().cases.items():
        assert id_ in shown
        assert "".join(case.requirement.replace("`", "").split()) in shown


def test_figures_are_drawn_and_told() -> None:
    figures = Figures(
        calls_ms={PREPARE: [1.5, 3, 900, 2500]}, published_s=[1, 2], idle_s=60, idle_writes=2
    )
    found = elements(dataclasses.replace(run_of({}), figures=figures))
    labels = found.values("aria-label")
    assert (
        "NodePrepareResources: 4 calls, half of them within 3 ms, 99 % within 2.5 s, "
        "the longest 2.5 s" in labels
    )
    assert "2 starts, published after 1 to 2 seconds" in labels
    assert "2 slice writes in 60 seconds" in labels
    assert "2 in 60 s" in " ".join(" ".join(found.texts).split())


def test_an_address_of_the_vendor_is_a_link_if_it_is_one() -> None:
    identity = IdentityBlock(url="https://example.com/driver")
    run = run_of({}, profile=dataclasses.replace(DEFAULT_PROFILE, identity=identity))
    assert "https://example.com/driver" in elements(run).values("href")
    for evil in ("javascript:alert(1)", "//x", "https://", "http://[", 'https://a"b', "ftp://a"):
        assert web_address(evil) == ""


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a `b` c", "a <code>b</code> c"),
        ("`b`", "<code>b</code>"),
        ("a `b", "a `b"),
        ("`<i>` and `", "<code>&lt;i&gt;</code> and `"),
    ],
)
def test_code_in_a_requirement_is_shown_as_such(written: str, shown: str) -> None:
    failed = result(MUST_ID, State.FAILED)
    case = dataclasses.replace(failed.case, requirement=written)
    run = run_of({}, results=(dataclasses.replace(failed, case=case),))
    assert f"<p>{shown}</p>" in page(run)


def test_proposals_among_the_sources_are_links() -> None:
    assert list(linked("kep: K4381 kubelet")) == [
        ("kep: ", ""),
        ("K4381", "https://kep.k8s.io/4381"),
        (" kubelet", ""),
    ]


def test_the_page_is_not_too_large_with_fifty_failures() -> None:
    steps = tuple(dataclasses.replace(STEPS[0], text="x" * 300) for _ in range(24))
    ids = sorted(catalogue().cases)
    failures = tuple(
        result(each, State.FAILED, steps=steps, excerpt=("y" * 300,) * 20) for each in ids[:50]
    )
    run = run_of(dict.fromkeys(ids[50:], State.PASSED), results=failures)
    assert len(page(run).encode()) < 1_500_000
