"""A bad profile file is refused with file, line, path, what was found and what is wanted."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from pytest_dra.profile import ProfileError
from pytest_dra.profile import load_profile
from tests.profile.writing import HEAD
from tests.profile.writing import TODAY
from tests.profile.writing import loaded
from tests.profile.writing import refused

WAIVER = "waivers: [{case: %s, reason: why, link: 'https://example.com/1', expires: %s}]\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            "launch:\n  components:\n  - name: a\n    command: x\n",
            "dra-profile.yaml:6: launch.components[0].command: got 'x', want a list of strings",
            id="string-for-list",
        ),
        pytest.param(
            "launch:\n  components:\n  - name: a\n    command: [x, 1]\n",
            "dra-profile.yaml:6: launch.components[0].command[1]: got 1, want a string "
            "(put it in quotes if YAML takes it for something else)",
            id="number-for-string",
        ),
        pytest.param(
            "driver: {kubelets: {min: 1.34}}\n",
            "dra-profile.yaml:3: driver.kubelets.min: got 1.34, want a Kubernetes minor in "
            'quotes, such as "1.34"',
            id="unquoted-version",
        ),
        pytest.param(
            "driver:\n  nmae: gpu.example.com\n",
            "dra-profile.yaml:4: driver.nmae: unknown field; did you mean name?",
            id="unknown-field-near",
        ),
        pytest.param(
            "launch:\n  previous:\n    zzz: 1\n",
            "dra-profile.yaml:5: launch.previous.zzz: unknown field; there are command, image",
            id="unknown-field-far",
        ),
        pytest.param(
            "injection:\n  kind: csi\n",
            "dra-profile.yaml:4: injection.kind: got 'csi', want cdi, nri or none",
            id="unknown-choice",
        ),
        pytest.param(
            "launch:\n  components:\n  - name: a\n",
            "dra-profile.yaml:5: launch.components[0]: the field command is missing",
            id="missing-field",
        ),
        pytest.param(
            "driver: {name: GPU}\n",
            "dra-profile.yaml:3: driver.name: got 'GPU', want a DNS subdomain in lower case of "
            "at most 63 characters",
            id="bad-name",
        ),
        pytest.param(
            f"driver: {{name: {'a' * 64}}}\n",
            "dra-profile.yaml:3: driver.name: got 64 characters, want a DNS subdomain in lower "
            "case of at most 63 characters",
            id="long-name",
        ),
        pytest.param(
            "identity: {version: main}\n",
            "dra-profile.yaml:3: identity.version: got 'main', want a released version with a "
            "digit in it, no branch name",
            id="branch-name",
        ),
        pytest.param(
            "budgets: {prepare: 50}\n",
            "dra-profile.yaml:3: budgets.prepare: got 50, want a number of seconds above 0, at "
            "most 45 (the kubelet's own deadline)",
            id="budget-beyond-the-kubelet",
        ),
        pytest.param(
            "budgets: {repeat: true}\n",
            "dra-profile.yaml:3: budgets.repeat: got true, want a whole number from 2 to 1000",
            id="boolean-for-number",
        ),
        pytest.param(
            "features: {DeviceHealth: true}\n",
            "dra-profile.yaml:3: features.DeviceHealth: got true, want a mapping {supported: "
            "true or false}",
            id="feature-without-mapping",
        ),
        pytest.param(
            "features: {DeviceHealth: {supported: yes}}\n",
            "dra-profile.yaml:3: features.DeviceHealth.supported: got 'yes', want true or false",
            id="yes-is-a-word",
        ),
        pytest.param(
            "features: {DeviceHelth: {supported: true}}\n",
            "dra-profile.yaml:3: features.DeviceHelth: unknown feature; did you mean DeviceHealth?",
            id="unknown-feature",
        ),
        pytest.param(
            WAIVER % ("PREP-012", "2026-11-28"),
            "dra-profile.yaml:3: waivers[0].expires: the waiver of PREP-012 expired on "
            "2026-11-28; mend the driver or renew the waiver",
            id="expired-waiver",
        ),
        pytest.param(
            WAIVER % ("PREP-012", "2026-02-30"),
            "dra-profile.yaml:3: waivers[0].expires: got '2026-02-30', want a day that the "
            "calendar has",
            id="impossible-date",
        ),
        pytest.param(
            WAIVER % ("PERP-012", "2027-01-01"),
            "dra-profile.yaml:3: waivers[0].case: unknown case 'PERP-012'; did you mean PREP-012?",
            id="waiver-of-unknown-case",
        ),
        pytest.param(
            "injection: {kind: nri}\nfeatures: {CDIInjection: {supported: true}}\n",
            "dra-profile.yaml:4: features.CDIInjection: supported, but injection.kind is nri; "
            "change one of them",
            id="contradiction",
        ),
        pytest.param(
            'driver: {kubernetes: {min: "1.37", max: "1.34"}}\n',
            "dra-profile.yaml:3: driver.kubernetes: max 1.34 is below min 1.37",
            id="empty-range",
        ),
        pytest.param(
            "launch: {components: [{name: a, command: ['--c={kubconfig}']}]}\n",
            "dra-profile.yaml:3: launch.components[0].command[0]: unknown placeholder "
            "{kubconfig}; did you mean {kubeconfig}?",
            id="unknown-placeholder",
        ),
        pytest.param(
            "launch: {components: [{name: a, command: [x], env: {A: '{socket}'}}]}\n",
            "dra-profile.yaml:3: launch.components[0].env.A: unknown placeholder {socket}; there "
            "are {kubeconfig} {node} {driver_name} {registry_dir} {plugins_dir} {driver_dir} "
            "{cdi_dir} {static_cdi_dir} {pod_uid}",
            id="unknown-placeholder-in-the-environment",
        ),
        pytest.param(
            "launch: {components: [{name: a, command: [x], env: {A-B: x}}]}\n",
            "dra-profile.yaml:3: launch.components[0].env: got 'A-B', want a variable name of "
            "letters, digits and _",
            id="bad-variable-name",
        ),
        pytest.param(
            "launch: {components: [{name: a, command: ['']}]}\n",
            "dra-profile.yaml:3: launch.components[0].command[0]: got an empty string, want a "
            "program",
            id="empty-program",
        ),
        pytest.param(
            'launch: {components: [{name: a, command: [x, "a\\0b"]}]}\n',
            "dra-profile.yaml:3: launch.components[0].command[1]: a NUL character cannot be "
            "given to a process",
            id="nul",
        ),
        pytest.param(
            "launch: {components: [{name: a, command: [x]}, {name: b, command: [y]}]}\n",
            "dra-profile.yaml:3: launch.components: no component registers with the kubelet; "
            "give one of them registers: true, or set driver.scope: cluster",
            id="nothing-registers",
        ),
        pytest.param(
            "launch:\n  components:\n  - {name: a, command: [x], registers: true}\n"
            "  - {name: b, command: [y], registers: true}\n",
            "dra-profile.yaml:6: launch.components[1].registers: component 0 registers already; "
            "one process does",
            id="two-register",
        ),
        pytest.param(
            "launch:\n  components:\n  - {name: a, command: [x], registers: true}\n"
            "  - {name: a, command: [y]}\n",
            "dra-profile.yaml:6: launch.components[1].name: the name 'a' is that of component 0 "
            "already",
            id="same-name-twice",
        ),
        pytest.param(
            "driver: {scope: cluster}\n"
            "launch: {components: [{name: a, command: [x], registers: true}]}\n",
            "dra-profile.yaml:4: launch.components[0].registers: driver.scope is cluster, where "
            "nothing registers with a kubelet",
            id="controller-registers",
        ),
        pytest.param(
            "driver:\n  name: a\n  scope: node\n  name: b\n",
            "dra-profile.yaml:6: driver.name: the key is there already, in line 4",
            id="duplicate-key",
        ),
        pytest.param(
            "driver: {1: x}\n",
            "dra-profile.yaml:3: driver: got the key '1', want a string; put it in quotes",
            id="number-as-key",
        ),
        pytest.param(
            "driver: {[a]: x}\n",
            "dra-profile.yaml:3: driver: a key must be a string, not a list or a mapping",
            id="list-as-key",
        ),
        pytest.param(
            "driver: &d {name: a}\nhooks: {<<: *d}\n",
            "dra-profile.yaml:4: hooks: merge keys (<<) are not read; write the keys out",
            id="merge-key",
        ),
        pytest.param(
            "manifests: !!python/object/apply:os.system [x]\n",
            "dra-profile.yaml:3: manifests: the tag "
            "'tag:yaml.org,2002:python/object/apply:os.system' is not allowed here",
            id="python-tag",
        ),
        pytest.param(
            'samples: {pin: "\\ud800"}\n',
            "dra-profile.yaml:3: samples.pin: half of a surrogate pair is no character",
            id="surrogate",
        ),
        pytest.param(
            "budgets: {start: .nan}\n",
            "dra-profile.yaml:3: budgets.start: got '.nan', want a finite number",
            id="not-a-number",
        ),
        pytest.param(
            "samples: {good_config: [&a {self: *a}]}\n",
            "dra-profile.yaml:3: samples.good_config[0].self: an alias inside of what it stands "
            "for",
            id="alias-in-itself",
        ),
        pytest.param(
            "driver: [\n",
            "dra-profile.yaml:4: not YAML: expected the node content, but found '<stream end>' "
            "(while parsing a flow node)",
            id="syntax",
        ),
        pytest.param(
            "driver: \x07\n",
            "dra-profile.yaml:3: YAML forbids the character '\\x07'",
            id="control-character",
        ),
        pytest.param(
            "---\na: b\n",
            "dra-profile.yaml:3: not YAML: but found another document (expected a single document "
            "in the stream)",
            id="two-documents",
        ),
    ],
)
def test_one_mistake_is_told_in_one_line(tmp_path: Path, body: str, message: str) -> None:
    assert refused(tmp_path, body) == [message]


@pytest.mark.parametrize(
    ("head", "messages"),
    [
        pytest.param(
            "",
            ["dra-profile.yaml: the file is empty, want apiVersion and kind"],
            id="empty",
        ),
        pytest.param(
            "- a\n",
            [
                "dra-profile.yaml:1: got a list of 1 items, want a mapping with apiVersion, kind "
                "and the blocks of a driver profile"
            ],
            id="list",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod\n",
            [
                "dra-profile.yaml:1: apiVersion: got 'v1', want pytest-dra.dev/v1alpha1",
                "dra-profile.yaml:2: kind: got 'Pod', want DriverProfile",
            ],
            id="another-kind",
        ),
        pytest.param(
            "kind: DriverProfile\n",
            ["dra-profile.yaml:1: the field apiVersion is missing"],
            id="no-version",
        ),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, head: str, messages: list[str]) -> None:
    assert refused(tmp_path, "", head=head) == messages


def test_several_mistakes_are_told_together_and_by_line(tmp_path: Path) -> None:
    body = "hooks:\n  fault: 1\ndriver:\n  scope: moon\n  nmae: a\n"
    assert refused(tmp_path, body) == [
        "dra-profile.yaml:4: hooks.fault: got 1, want a list of strings",
        "dra-profile.yaml:6: driver.scope: got 'moon', want node, cluster or both",
        "dra-profile.yaml:7: driver.nmae: unknown field; did you mean name?",
    ]


def test_a_wrong_type_does_not_hide_an_expired_waiver(tmp_path: Path) -> None:
    body = "driver: {scope: moon}\nlaunch: {components: [{name: a, command: [x]}]}\n" + (
        WAIVER % ("PREP-012", "2026-11-28")
    )
    assert [line.partition(": ")[2].partition(":")[0] for line in refused(tmp_path, body)] == [
        "driver.scope",
        "waivers[0].expires",
    ]


def test_several_broken_rules_are_told_together(tmp_path: Path) -> None:
    body = (
        "features: {Nothing: {supported: true}}\n"
        + "launch: {components: [{name: a, command: ['{pod}']}]}\n"
        + WAIVER % ("REG-001", "2020-01-01")
    )
    assert [line.split(": ")[0] for line in refused(tmp_path, body)] == [
        "dra-profile.yaml:3",
        "dra-profile.yaml:4",
        "dra-profile.yaml:5",
    ]


def test_hundreds_of_mistakes_are_counted_and_not_all_listed(tmp_path: Path) -> None:
    lines = refused(tmp_path, "driver:\n" + "".join(f"  zzq{index}: 1\n" for index in range(300)))
    assert len(lines) == 21
    assert lines[-1] == "dra-profile.yaml: 280 more problems are not shown"


def test_a_long_value_is_not_quoted_whole(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, f"injection: {{kind: {'x' * 5000}}}\n")
    assert line.endswith("xx'... (5000 characters), want cdi, nri or none")
    assert len(line) < 250


def test_a_mistake_has_its_column_too(tmp_path: Path) -> None:
    with pytest.raises(ProfileError) as caught:
        loaded(tmp_path, "injection: {kind: csi}\n")
    (problem,) = caught.value.problems
    assert (problem.line, problem.column, problem.path) == (3, 13, "injection.kind")


def test_a_waiver_is_good_until_the_end_of_its_day(tmp_path: Path) -> None:
    profile = loaded(tmp_path, WAIVER % ("PREP-012", TODAY))
    assert list(profile.waivers) == ["PREP-012"]


def test_an_expired_waiver_is_measured_against_the_day_of_the_run(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(HEAD + WAIVER % ("PREP-012", "2026-11-28"), encoding="utf-8")
    assert load_profile(file, today=datetime.date(2026, 11, 28)).waivers
    with pytest.raises(ProfileError, match="PREP-012 expired on 2026-11-28"):
        load_profile(file, today=datetime.date(2026, 11, 29))


def test_a_case_is_waived_once(tmp_path: Path) -> None:
    one = "{case: PREP-012, reason: why, link: 'https://example.com/1', expires: 2027-01-01}"
    assert refused(tmp_path, f"waivers:\n- {one}\n- {one}\n") == [
        "dra-profile.yaml:5: waivers[1].case: case PREP-012 is waived twice"
    ]
