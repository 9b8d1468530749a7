"""A good profile file is read into what the suite works with."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import Hardware
from pytest_dra.profile import Injection
from pytest_dra.profile import Scope
from pytest_dra.profile import VersionRange
from pytest_dra.profile.form import SCHEMA
from tests.profile.writing import loaded

IMPORT_TIMEOUT_S = 60

COMPLETE = """
    identity:
      organization: Example
      project: example-driver
      url: https://example.com/driver
      version: v1.2.3
      image: registry.example.com/driver@sha256:{digest}
      contact: [team@example.com]
    driver:
      name: gpu.example.com
      deviceClasses: [gpu.example.com]
      scope: both
      kubelets: {{min: "1.34"}}
      kubernetes: {{min: "1.34", max: "1.37"}}
      domains: [example.com]
      kind_attribute: kind
      version_attribute: driverVersion
      volatile_attributes: [temperature]
      overlaps: parent
      informational_taints: [example.com/info]
      extended_resource: example.com/gpu
      class_config_required: true
      extra_rights: [{{what: secrets get, reason: licence key}}]
      privileges: [{{what: hostPID, reason: looks at processes}}]
    launch:
      components:
      - name: plugin
        command: [driver, "--kubeconfig={{kubeconfig}}", "--node={{node}}"]
        env: {{CDI_ROOT: "{{cdi_dir}}"}}
        registers: true
      - {{name: controller, command: [controller]}}
      writable: [/var/lib/example]
      state: [checkpoint.json]
      hardware: fake
      inventory: {{arguments: ["--devices={{devices}}"], env: {{MOCK: "1"}}}}
      probe: [driver, healthz]
      previous: {{command: [old-driver]}}
    manifests: [deploy/driver.yaml]
    injection:
      kind: cdi
      probe: {{command: [list-gpus], expect: {{gpu: 1}}, always: {{timer: 2}}}}
      absent_paths: [/dev/gpu0]
      permanent: [example.com/gpu=common]
      privileged: ADMIN
      ambient: true
      review: [{{what: /usr/bin/hook, reason: loads a library}}]
    samples:
      good_config: [{{apiVersion: gpu.example.com/v1, kind: Config, share: 2}}]
      bad_config: [{{apiVersion: gpu.example.com/v1, kind: Config, share: -1}}]
      conflict: [{{share: 1}}, {{share: 2}}]
      canary_field: label
      pin: device.attributes["gpu.example.com"].index == 0
    hooks:
      observe: [observe]
      inventory: [inventory]
      fault: [fault, "{{device}}"]
      heal: [heal]
      hotplug: {{add: [plug], remove: [unplug]}}
      crash_point: [crash]
      freeze: [freeze]
      metadata_update: [update]
    features:
      OpaqueConfig: {{supported: true}}
      SharedClaim: {{supported: false}}
    waivers:
    - case: PREP-012
      reason: shares on purpose
      link: https://example.com/issues/1
      expires: 2026-11-29
    budgets: {{start: 10, prepare: 2.5, repeat: 5}}
""".format(digest="0" * 64)


def test_every_block_of_a_complete_file_arrives(tmp_path: Path) -> None:
    profile = loaded(tmp_path, COMPLETE)
    assert profile.path == tmp_path / "dra-profile.yaml"
    assert profile.identity.missing() == ()
    assert profile.driver.name == "gpu.example.com"
    assert profile.driver.scope is Scope.BOTH
    assert profile.driver.kubelets == VersionRange(min="1.34")
    assert profile.driver.extra_rights[0].reason == "licence key"
    plugin, controller = profile.launch.components
    assert plugin.command == ("driver", "--kubeconfig={kubeconfig}", "--node={node}")
    assert dict(plugin.env) == {"CDI_ROOT": "{cdi_dir}"}
    assert plugin.registers
    assert not controller.registers
    assert profile.launch.hardware is Hardware.FAKE
    assert profile.launch.inventory is not None
    assert profile.launch.inventory.arguments == ("--devices={devices}",)
    assert profile.launch.previous is not None
    assert profile.launch.previous.command == ("old-driver",)
    assert profile.manifests == (tmp_path / "deploy/driver.yaml",)
    assert profile.injection.kind is Injection.CDI
    assert profile.injection.probe is not None
    assert dict(profile.injection.probe.expect) == {"gpu": 1}
    assert dict(profile.injection.probe.always) == {"timer": 2}
    assert profile.samples.bad_config[0]["share"] == -1
    assert profile.hooks.hotplug is not None
    assert profile.hooks.hotplug.remove == ("unplug",)
    assert profile.waivers["PREP-012"].expires == datetime.date(2026, 11, 29)
    assert profile.budgets.start == 10.0
    assert profile.budgets.prepare == 2.5
    assert profile.budgets.repeat == 5
    assert profile.budgets.publish == 30.0


def test_a_complete_file_gives_every_input_that_a_case_may_ask_for(tmp_path: Path) -> None:
    profile = loaded(tmp_path, COMPLETE)
    assert [field for field in catalogue().inputs if not profile.gives(field)] == []


def test_without_a_file_no_input_is_given() -> None:
    assert [field for field in catalogue().inputs if DEFAULT_PROFILE.gives(field)] == []


def test_an_input_that_the_catalogue_does_not_have_is_refused() -> None:
    with pytest.raises(KeyError, match=r"no input 'hooks\.unknown'"):
        DEFAULT_PROFILE.gives("hooks.unknown")


def test_the_smallest_file_is_the_default_profile(tmp_path: Path) -> None:
    profile = loaded(tmp_path, "")
    assert profile.driver == DEFAULT_PROFILE.driver
    assert profile.launch == DEFAULT_PROFILE.launch
    assert profile.budgets == DEFAULT_PROFILE.budgets
    assert profile.injection == DEFAULT_PROFILE.injection


def test_the_only_component_of_a_node_driver_registers(tmp_path: Path) -> None:
    body = "launch: {components: [{name: driver, command: [driver]}]}\n"
    assert loaded(tmp_path, body).launch.components[0].registers


def test_the_only_component_of_a_controller_does_not_register(tmp_path: Path) -> None:
    body = "driver: {scope: cluster}\nlaunch: {components: [{name: driver, command: [driver]}]}\n"
    assert not loaded(tmp_path, body).launch.components[0].registers


def test_the_defaults_of_the_budgets_are_those_of_the_catalogue() -> None:
    budgets = DEFAULT_PROFILE.budgets
    assert (
        catalogue()
        .terms["budgets"]
        .startswith(
            f"start {budgets.start:.0f} s, publish {budgets.publish:.0f} s, "
            f"prepare {budgets.prepare:.0f} s (warn 10 s), repeat {budgets.repeat}, "
            f"latency_p99 {budgets.latency_p99:.0f} s, binding {budgets.binding:.0f} s"
        )
    )


@pytest.mark.parametrize("word", ["yes", "on", "2026-01-31", "12:30", "<<"])
def test_a_word_that_old_yaml_makes_something_else_of_stays_a_word(
    tmp_path: Path, word: str
) -> None:
    body = f"launch: {{components: [{{name: driver, command: [driver, {word}]}}]}}\n"
    assert loaded(tmp_path, body).launch.components[0].command[1] == word


def test_anchors_may_be_used(tmp_path: Path) -> None:
    body = "hooks:\n  fault: &hook [hook]\n  heal: *hook\n"
    assert loaded(tmp_path, body).hooks.heal == ("hook",)


def test_go_templates_and_json_in_an_argument_are_no_placeholders(tmp_path: Path) -> None:
    body = """
    launch:
      components:
      - name: driver
        command: [driver, "{{name}} {{.Name}}", '{"a": {}}']
    """
    assert len(loaded(tmp_path, body).launch.components[0].command) == 3


def test_the_shipped_schema_is_a_schema_and_closed_everywhere() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    open_to_all = [path for path, each in objects(schema, "") if "additionalProperties" not in each]
    assert open_to_all == ["/$defs/config"], "only the driver's own parameters are free"


def objects(schema: object, path: str) -> list[tuple[str, dict[str, object]]]:
    """Every sub-schema that describes a mapping."""
    found: list[tuple[str, dict[str, object]]] = []
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            found.append((path, schema))
        for key, each in schema.items():
            found += objects(each, f"{path}/{key}")
    if isinstance(schema, list):
        for index, each in enumerate(schema):
            found += objects(each, f"{path}/{index}")
    return found


def test_the_default_profile_costs_neither_yaml_nor_jsonschema() -> None:
    program = (
        "import sys; from pytest_dra.profile import DEFAULT_PROFILE;"
        "DEFAULT_PROFILE.declares('SharedClaim');"
        "print(sorted({'yaml','jsonschema','pytest','grpc','aiohttp'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=IMPORT_TIMEOUT_S
    )
    assert ran.stdout.strip() == "[]", ran.stderr
