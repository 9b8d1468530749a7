"""Every field of a profile file in the order of writing, with what it says and an example."""

from __future__ import annotations

import dataclasses
from typing import Final


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """A key of a block; ``path`` is ``block.key``, or the block itself where it is no mapping.

    ``example`` is YAML in flow style, for a line that is commented out; its default where it has
    one.
    """

    path: str
    text: str
    example: str

    @property
    def block(self) -> str:
        """The top-level key."""
        return self.path.partition(".")[0]

    @property
    def key(self) -> str:
        """The key in the block; empty where the block is no mapping."""
        return self.path.partition(".")[2]


BLOCKS: Final = {
    "identity": "Whose driver this is. All of it is needed for a report that is to be published.",
    "driver": "The driver itself.",
    "launch": "How the driver is started.",
    "manifests": "",
    "injection": "How devices get into containers.",
    "samples": "The driver's own configuration: cases about opaque parameters need it.",
    "hooks": "Commands of yours that make something happen: some cases need them. Placeholders as "
    "in launch.components.",
    "features": "What the driver supports beyond the core; what is not named has its default.",
    "waivers": "",
    "budgets": "How long things may take, in seconds.",
}
"""The blocks in their order, with a line above each; empty where the field's own text says all."""

EXEMPTIONS: Final = '[{ what: "a right", reason: "why it is needed" }]'

FIELDS: Final = (
    Field("identity.organization", "Vendor or community.", "Example Inc."),
    Field("identity.project", "Name of the driver for people.", "Example GPU driver"),
    Field("identity.url", "Where it lives.", '"https://github.com/example/gpu"'),
    Field("identity.version", "The released version that is judged.", '"1.2.0"'),
    Field(
        "identity.image",
        "The image that is judged, with its digest.",
        f'"registry.example/gpu@sha256:{"0" * 64}"',
    ),
    Field("identity.contact", "Whom to ask.", '["https://github.com/example/gpu/issues"]'),
    Field("driver.name", "Name that the driver must register under.", "gpu.example.com"),
    Field("driver.deviceClasses", "DeviceClasses that you ship.", "[gpu.example.com]"),
    Field("driver.scope", "node, cluster (a controller alone) or both.", "node"),
    Field(
        "driver.kubelets",
        "Kubelets that it supports, both ends included; all if not given.",
        '{ min: "1.34", max: "1.37" }',
    ),
    Field(
        "driver.kubernetes",
        "API servers that it supports, both ends included; all if not given.",
        '{ min: "1.34", max: "1.37" }',
    ),
    Field(
        "driver.domains",
        "Domains of its own that its attributes and capacities may have.",
        "[example.com]",
    ),
    Field("driver.kind_attribute", "The attribute that tells kinds of devices apart.", "type"),
    Field(
        "driver.version_attribute",
        "The attribute that holds the version of driver or firmware.",
        "driverVersion",
    ),
    Field(
        "driver.volatile_attributes",
        "Attributes whose values may change while nothing happens.",
        "[temperature]",
    ),
    Field(
        "driver.overlaps",
        "Why two devices may stand for the same hardware, if they may.",
        '"a GPU and its partitions"',
    ),
    Field(
        "driver.informational_taints",
        "Keys of taints that only inform.",
        "[gpu.example.com/degraded]",
    ),
    Field("driver.extended_resource", "An extended resource that a class maps.", "example.com/gpu"),
    Field(
        "driver.class_config_required",
        "True if Prepare needs configuration from your DeviceClass.",
        "false",
    ),
    Field(
        "driver.reads_boot_id",
        "False if it never looks at the kernel's boot id: a reboot is played without --dra-jail.",
        "true",
    ),
    Field("driver.takes_all_devices", "True if a claim holds every device of the node.", "false"),
    Field("driver.one_claim_per_pod", "True if a pod has one claim of it at most.", "false"),
    Field("driver.extra_rights", "Rights in the API beyond the usual ones.", EXEMPTIONS),
    Field("driver.privileges", "Privileges and mounts of its pod beyond the usual.", EXEMPTIONS),
    Field(
        "launch.components",
        "Its processes; one of them registers with the kubelet. Placeholders are listed in the "
        "README.",
        "[{ name: plugin, command: [./gpu-plugin, '--kubeconfig={kubeconfig}'], "
        'env: { DATA: "{driver_dir}" }, registers: true }]',
    ),
    Field(
        "launch.writable",
        "Paths of the host that it writes to: its own with --dra-jail.",
        "[/run/gpu]",
    ),
    Field(
        "launch.trees",
        "Fake files that it sees with --dra-jail, by their paths; they cannot be written.",
        "{ /sys/class/gpu: ./fake-sys }",
    ),
    Field(
        "launch.state",
        "Its files of state below its data directory: the end of the path, with wildcards.",
        "[checkpoint.json]",
    ),
    Field(
        "launch.in_cluster",
        "True if it finds the API server only as from within a pod: HTTPS; needs --dra-jail.",
        "false",
    ),
    Field(
        "launch.service_account",
        "NAMESPACE/NAME of its account: it may do what the manifests grant, and nothing else.",
        "gpu-system/gpu-plugin",
    ),
    Field("launch.hardware", "real, fake or none: what it runs on here.", "real"),
    Field(
        "launch.inventory",
        "What starts it with a given number of devices: several cases need that.",
        '{ arguments: ["--devices={devices}"], env: { DEVICES: "{devices}" } }',
    ),
    Field("launch.probe", "A command that exits 0 if the hardware is there.", "[test, -e, /dev/x]"),
    Field(
        "launch.previous",
        "The previous release (command, or image): cases of UpgradeFrom need it.",
        "{ command: [./gpu-plugin-1.1] }   # or { image: registry.example/gpu:1.1 }",
    ),
    Field("manifests", "Manifests that you ship, relative to this file.", "[deploy/gpu.yaml]"),
    Field("injection.kind", "cdi, nri or none.", "cdi"),
    Field(
        "injection.probe",
        "A command that lists devices in a container, a line each, and how many lines begin with "
        "each kind for one allocated device; `always`: the same of kinds that each container "
        "has, since nothing is injected for them.",
        "{ command: [ls, /dev], expect: { gpu: 1 }, always: { urandom: 1 } }",
    ),
    Field(
        "injection.absent_paths",
        "Host paths of container edits that this machine lacks; [] if it has all.",
        "[/dev/gpu0]",
    ),
    Field("injection.permanent", "CDI specs that stay without a claim.", "[gpu.example.com.json]"),
    Field(
        "injection.privileged",
        "What marks the edits of admin access: part of a variable's name, or of a path.",
        "GPU_ADMIN",
    ),
    Field("injection.ambient", "True if containers see devices without a claim.", "false"),
    Field(
        "injection.review",
        "All hooks and host mounts of container edits, by path; [] if there are none.",
        EXEMPTIONS,
    ),
    Field(
        "samples.good_config",
        "Opaque parameters that it accepts; three that differ are best.",
        "[{ apiVersion: gpu.example.com/v1, kind: GpuConfig, sharing: TimeSlicing }]",
    ),
    Field(
        "samples.bad_config",
        "Opaque parameters that it refuses.",
        "[{ apiVersion: gpu.example.com/v1, kind: GpuConfig, sharing: Nonsense }]",
    ),
    Field(
        "samples.conflict",
        "Two that it accepts, but not together on one device.",
        "[{ sharing: TimeSlicing }, { sharing: Exclusive }]",
    ),
    Field("samples.canary_field", "A text field of good_config that may hold any text.", "label"),
    Field(
        "samples.pin",
        "A CEL selector of exactly one device.",
        "'device.attributes[\"gpu.example.com\"].index == 0'",
    ),
    Field(
        "hooks.observe",
        "Prints what is set for what {claim_uid}, {pool} and {device} name; for equal settings the "
        "same, names and uids apart.",
        '[./observe, "{device}"]',
    ),
    Field(
        "hooks.inventory",
        "Prints what there is of hardware, partitions included, one on a line.",
        "[./inventory]",
    ),
    Field(
        "hooks.fault",
        "Breaks the device that {pool} and {device} name.",
        '[./break, "{pool}", "{device}"]',
    ),
    Field("hooks.heal", "Mends it again.", '[./mend, "{pool}", "{device}"]'),
    Field(
        "hooks.hotplug",
        "Adds and removes a device.",
        '{ add: [./plug, "0"], remove: [./unplug, "0"] }',
    ),
    Field("hooks.crash_point", "Makes it crash at a point of its work.", "[./crash-at]"),
    Field("hooks.freeze", "Stops its work for a while.", "[./freeze]"),
    Field("hooks.metadata_update", "Changes the metadata of a device.", "[./update]"),
    Field(
        "waivers",
        "Cases that you accept as failed, for a time.",
        "[{ case: PREP-012, reason: checked from 2.1 on, "
        'link: "https://github.com/example/gpu/issues/12", expires: 2099-12-31 }]',
    ),
    Field("budgets.start", "From the start to the registration.", "30"),
    Field("budgets.publish", "From the start to the first published device.", "30"),
    Field("budgets.repair", "Until changed or deleted slices are right again.", "150"),
    Field("budgets.prepare", "One Prepare call (the kubelet gives up after 45 s).", "40"),
    Field("budgets.unprepare", "One Unprepare call.", "40"),
    Field("budgets.repeat", "How often a call is repeated, a number.", "10"),
    Field("budgets.latency_p99", "The slowest of a hundred Prepare calls.", "1"),
    Field("budgets.binding", "Until binding conditions are met.", "600"),
    Field("budgets.pod", "From a pod to its running containers, on a cluster.", "180"),
    Field("budgets.release", "From a pod's end to its claim's, on a cluster.", "120"),
)
"""All fields but the features, which the catalogue names."""
