"""The packaged catalogue is sound, and says so when it is asked for what it does not have."""

from __future__ import annotations

import graphlib
import json
import operator
import subprocess
import sys
from typing import Any
from typing import cast

import jsonschema
import pytest

from pytest_dra.catalogue import DATA
from pytest_dra.catalogue import SCHEMA
from pytest_dra.catalogue import catalogue
from pytest_dra.catalogue import did_you_mean
from pytest_dra.catalogue import read_catalogue
from pytest_dra.spec import Depth
from pytest_dra.spec import Json
from pytest_dra.spec import Level

IMPORT_TIMEOUT_S = 60


def document() -> Json:
    loaded: Json = json.loads(DATA.read_text(encoding="utf-8"))
    return loaded


def test_the_data_has_the_form_that_its_schema_describes() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    problems = list(jsonschema.Draft202012Validator(schema).iter_errors(document()))
    assert [f"{each.json_path}: {each.message}" for each in problems] == []


def test_every_case_of_the_file_is_there_under_its_id() -> None:
    ids = [each["id"] for each in document()["cases"]]
    assert len(ids) == len(set(ids)), "an id is used twice"
    assert sorted(ids) == sorted([*catalogue().cases, *catalogue().retired])


def test_an_id_that_occurs_twice_is_refused() -> None:
    twice = document()
    twice["cases"].append(twice["cases"][0])
    with pytest.raises(ValueError, match="id 'REG-001' occurs twice"):
        read_catalogue(json.dumps(twice).encode())


def test_an_id_begins_with_its_area() -> None:
    for case in catalogue().cases.values():
        assert case.id.startswith(f"{case.area}-")
        assert case.area in catalogue().areas


def test_needs_and_also_fails_name_cases_that_exist() -> None:
    known = catalogue().cases
    for case in known.values():
        assert set(case.needs) <= set(known), case.id
        assert set(catalogue().also_fails[case.id]) <= set(known) - {case.id}, case.id


def test_needs_never_go_in_a_circle() -> None:
    graph = {case.id: case.needs for case in catalogue().cases.values()}
    assert len(tuple(graphlib.TopologicalSorter(graph).static_order())) == len(graph)


def test_features_inputs_profiles_and_variants_of_a_case_are_known() -> None:
    found = catalogue()
    for case in found.cases.values():
        assert {*case.features, *case.unless} <= set(found.features), case.id
        assert set(case.inputs) <= set(found.inputs), case.id
        assert set(case.profiles) <= set(found.profiles), case.id
        assert set(found.tolerates[case.id]) <= set(found.variants), case.id
        assert case.since in found.kubernetes, case.id


def test_a_case_carries_what_the_file_says() -> None:
    case = catalogue().case("REG-001")
    assert case.level is Level.MUST
    assert case.depth is Depth.WIRE
    assert case.profiles == ("NODE-CORE", "CLUSTER-CORE")
    assert str(case.sources[1]) == "kep: K4381 kubelet section"
    assert catalogue().also_depths["REG-001"] == (Depth.CLUSTER,)
    assert len(catalogue().checks["REG-001"]) == 4


def test_an_unknown_id_is_refused_with_the_nearest_ones() -> None:
    with pytest.raises(KeyError, match=r"no case 'PREP-0O6' in the catalogue; did you mean PREP-"):
        catalogue().case("PREP-0O6")


def test_a_retired_id_is_refused_with_its_reason() -> None:
    changed = document()
    changed["cases"][0] |= {
        "level": "retired",
        "level_before": "MUST",
        "level_reason": "the kubelet changed",
    }
    found = read_catalogue(json.dumps(changed).encode())
    assert "REG-001" not in found.cases
    with pytest.raises(KeyError, match="case REG-001 is retired: the kubelet changed"):
        found.case("REG-001")


def test_an_unknown_feature_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(KeyError, match=r"no feature 'DeviceTaint' in .*did you mean DeviceTaints"):
        catalogue().feature("DeviceTaint")


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert did_you_mean("zzzz", ["PREP-006"]) == ""


def test_the_case_of_letters_does_not_hide_what_was_meant() -> None:
    assert did_you_mean("prep-006", ["PREP-006"]) == "; did you mean PREP-006?"


def test_the_catalogue_is_read_once_and_cannot_be_changed() -> None:
    assert catalogue() is catalogue()
    with pytest.raises(TypeError):
        operator.setitem(cast(Any, catalogue().cases), "REG-001", catalogue().case("REG-002"))


def test_the_hash_follows_the_data() -> None:
    assert len(catalogue().hash) == 16
    assert read_catalogue(DATA.read_bytes() + b"\n").hash != catalogue().hash


def test_reading_the_catalogue_needs_the_standard_library_alone() -> None:
    program = (
        "import sys; from pytest_dra.catalogue import catalogue; catalogue();"
        "print(sorted({'yaml','jsonschema','pytest','grpc','aiohttp'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=IMPORT_TIMEOUT_S
    )
    assert ran.stdout.strip() == "[]", ran.stderr
