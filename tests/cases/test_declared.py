"""The code of the cases agrees with the catalogue, and knows no more than it may."""

from __future__ import annotations

import dataclasses
import graphlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from types import ModuleType

import pytest

from pytest_dra import cases
from pytest_dra.cases import CaseError
from pytest_dra.cases import case
from pytest_dra.cases import case_id_of
from pytest_dra.cases import declared
from pytest_dra.cases import implemented
from pytest_dra.cases import is_live
from pytest_dra.cases import live_cases
from pytest_dra.catalogue import catalogue
from pytest_dra.spec import Depth
from pytest_dra.spec import Level
from tests.cases.suite import FOLDER
from tests.cases.suite import bodies
from tests.cases.suite import collected_from
from tests.cases.suite import imports_of
from tests.cases.suite import modules

EACH_BODY = pytest.mark.parametrize(("id", "body"), bodies(), ids=[id for id, _ in bodies()])
EACH_MODULE = pytest.mark.parametrize(
    "module", modules(), ids=[each.__name__.rpartition(".")[2] for each in modules()]
)

OPEN_TO_CASES = frozenset(
    {"api", "bench", "cases", "cdi", "checks", "profile", "spec", "timeline", "waiting", "wire"}
)
OPEN_TO_LIVE_CASES = OPEN_TO_CASES - {"bench", "timeline"} | {"live"}
"""What a case may import. Clusters, server, kubelet and launcher are the bench's to use: a case
that reached for them could not run on a real kube-apiserver. What is judged on a whole cluster has
another bench, and never both: each kind is in modules of its own."""


@EACH_BODY
def test_the_docstring_is_the_title_of_the_catalogue(id: str, body: FunctionType) -> None:
    title = catalogue().case(id).title
    assert (body.__doc__ or "").strip().casefold() == title.casefold()


@EACH_BODY
def test_the_name_of_a_body_begins_with_its_id(id: str, body: FunctionType) -> None:
    assert body.__name__.startswith(f"test_{id.lower().replace('-', '_')}_")


@EACH_BODY
def test_a_case_is_found_by_its_id(id: str, body: FunctionType) -> None:
    found = declared(id, live=is_live(body))
    assert found.body is body
    assert found.case == catalogue().case(id)


@EACH_MODULE
def test_a_module_has_the_cases_of_one_area_and_no_other_tests(module: ModuleType) -> None:
    ids = {case_id_of(function) for function in collected_from(module)}
    assert None not in ids
    assert len({str(id).split("-")[0] for id in ids}) == 1


@EACH_MODULE
def test_a_module_imports_nothing_that_would_bind_it_to_this_bench(module: ModuleType) -> None:
    path = Path(str(module.__file__))
    kinds = {is_live(function) for function in collected_from(module)}
    assert len(kinds) == 1
    open_to = OPEN_TO_LIVE_CASES if kinds == {True} else OPEN_TO_CASES
    for name in imports_of(path):
        package, _, rest = name.partition(".")
        assert package in sys.stdlib_module_names or package == "pytest_dra", f"{path.name}: {name}"
        if package == "pytest_dra":
            assert rest.split(".")[0] in open_to, f"{path.name}: {name}"


def test_every_python_file_among_the_cases_is_a_case_module() -> None:
    names = {path.name for path in FOLDER.glob("*.py")}
    assert {name for name in names if not name.startswith("test_")} == {"__init__.py"}


def test_needs_of_the_cases_that_the_suite_has_never_go_in_a_circle() -> None:
    for have in (implemented(), live_cases()):
        graph = {id: set(catalogue().case(id).needs) & have for id in have}
        order = tuple(graphlib.TopologicalSorter(graph).static_order())
        assert set(order) == have


def test_what_a_case_of_the_suite_needs_is_in_the_suite() -> None:
    missing = {
        id: set(catalogue().case(id).needs) - implemented()
        for id in implemented()
        if set(catalogue().case(id).needs) - implemented()
    }
    assert missing == {}


def test_a_case_that_waits_for_quiet_is_one_of_slices_or_looks_back_at_streams() -> None:
    late = {id for id in implemented() if declared(id).settles}
    assert late
    others = {id for id in late if catalogue().case(id).depth is not Depth.STATIC}
    known = {"ATTR-011", "FEAT-001", "PART-009", "REG-003", "SEC-002", "SEC-010"}
    rest = {id for id in others if not id.startswith("SLICE-")} - known
    assert {catalogue().case(id).observation for id in rest} == {"timeline"}
    assert all(id.startswith("HLTH-") for id in rest)


def test_a_function_without_declaration_has_no_id() -> None:
    assert case_id_of(lambda: None) is None
    assert case_id_of(dataclasses.dataclass) is None


@pytest.mark.usefixtures("nothing_stays_declared")
@pytest.mark.parametrize(
    ("id", "level", "title", "message"),
    [
        pytest.param(
            "REG-002",
            Level.SHOULD,
            "GetInfo answers with the DRA plugin type",
            "REG-002: level SHOULD in code, MUST in catalogue",
            id="level",
        ),
        pytest.param(
            "REG-002",
            Level.MUST,
            "GetInfo answers",
            "REG-002: docstring 'GetInfo answers', title in the catalogue 'GetInfo answers with "
            "the DRA plugin type'",
            id="title",
        ),
    ],
)
def test_a_declaration_that_differs_from_the_catalogue_is_refused(
    id: str, level: Level, title: str, message: str
) -> None:
    with pytest.raises(CaseError) as caught:
        case(id, level)(_body(title))
    assert str(caught.value) == message


@pytest.mark.usefixtures("nothing_stays_declared")
def test_the_full_stop_and_the_first_capital_of_a_docstring_are_free() -> None:
    body = case("REG-002", Level.MUST, settles=True)(
        _body("getInfo answers with the DRA plugin type.")
    )
    assert case_id_of(body) == "REG-002"
    assert declared("REG-002").settles


@pytest.fixture
def nothing_stays_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Declare into a copy of the registry."""
    monkeypatch.setattr(cases, "_declared", dict(cases._declared))
    monkeypatch.setattr(cases, "_live", dict(cases._live))


@pytest.mark.usefixtures("nothing_stays_declared")
def test_a_case_that_is_only_planned_has_no_body() -> None:
    del cases._declared["REG-001"]
    with pytest.raises(CaseError, match=r"^REG-001: the suite has no body for this case$"):
        declared("REG-001")


def _body(title: str) -> Callable[[], None]:
    def body() -> None:
        pass

    body.__doc__ = title
    return body
