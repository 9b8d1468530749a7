"""Which recorded scenarios are played, which are not and why, and what a recording does not say."""

from __future__ import annotations

from pytest_dra.spec import Json

PLAYED = (
    "back-dra-only",
    "back-other-process-same-files",
    "back-quick-recreate",
    "back-rename-over",
    "back-within-30s",
    "backoff-recreate",
    "down-state-corrupt",
    "down-state-deleted",
    "endpoint-empty",
    "endpoint-forms",
    "endpoint-late",
    "endpoint-never",
    "endpoint-wrong-deleted",
    "getinfo-error",
    "getinfo-error-codes",
    "getinfo-slow-2s",
    "getinfo-slow-half",
    "getinfo-slow-then-fast",
    "getinfo-wrong-type",
    "getinfo-wrong-type-then-right",
    "goaway-restart-connection",
    "gone-killed",
    "gone-reg-socket-only",
    "gone-socket-removed",
    "health-basic",
    "health-stream-ends",
    "health-unimplemented",
    "health-versions",
    "idle-connection",
    "name-empty",
    "name-forms",
    "node-restart",
    "notify-error",
    "notify-error-always",
    "notify-slow-3s",
    "notify-slow-8s",
    "prepare-basic",
    "prepare-deregistered-meanwhile",
    "prepare-hang",
    "prepare-late-answer",
    "prepare-slow-20s",
    "prepare-v1beta1",
    "reg-accept-only",
    "reg-basic",
    "reg-late-listen",
    "reg-latency",
    "reg-name-changes",
    "reg-names",
    "reg-never-listen",
    "reg-socket-gone-while-waiting",
    "restart-dot-names",
    "restart-driver-away",
    "restart-prepare-failing",
    "restart-prepare-hanging",
    "restart-running",
    "restart-shared",
    "restart-two-instances",
    "restart-unprepare-hanging",
    "two-instances",
    "two-instances-hijack",
    "two-instances-same-endpoint",
    "two-instances-versions",
    "unprepare-hang",
    "versions",
    "versions-refused-then-right",
    "wipe-scope",
)
"""Registration, versions, deadlines, retries, instances, loss and return, wiping, restart, health
streams. Where a pod takes part, each recorded call is asked for at its recorded time: when and with
which claims a pod makes the kubelet call is not what is held against the recording."""

OUT_OF_SCOPE = {
    "down-force-deleted": "the loop over pods that are gone decides on the call",
    "health-": "what is recorded is the status of a pod",
    "helper-republish": "what is recorded is a driver built on the Go helper",
    "metrics-names": "the kubelet's own metrics, which the stand-in has not",
    "podresources-and-checkpoint": "what is recorded is the checkpoint while a pod starts",
    "prepare-": "the pod decides which claims are sent when",
    "restart-sandbox-lost": "the loss of a pod's sandbox decides on the call",
    "skip-operations": "needs an alpha gate, and a pod",
    "unprepare-": "the pod decides which claims are sent when",
}
"""Beginnings of the names of the other scenarios, each with the reason. They come with the pods."""

UNKNOWN = "no such scenario is known here"

CHANCE = {
    ("1.34", "restart-dot-names"): (
        "whether a dot directory is entered that appears together with the directory around it is "
        "a race in the kubelet: it was on 1.34, it was not on 1.37, where ours agrees"
    ),
}
"""Recordings that show one outcome of a race, while our kubelet always has the other one."""

UNTIL_S = {
    "back-other-process-same-files": 42.0,
    "getinfo-wrong-type": 25.0,
    "goaway-restart-connection": 18.5,
    "health-unimplemented": 20.0,
    "health-versions": 8.0,
    "idle-connection": 90.0,
    "name-forms": 5.0,
    "notify-error": 10.0,
    "notify-error-always": 25.0,
    "notify-slow-3s": 6.0,
    "notify-slow-8s": 20.0,
    "reg-basic": 3.2,
    "two-instances": 56.0,
    "two-instances-hijack": 4.8,
    "two-instances-same-endpoint": 22.0,
    "wipe-scope": 34.7,
}
"""How long a recording went on, in seconds, where it ends with silence that counts: nothing may
happen until then. The others are held until their last entry."""

SHARED_DRIVER = {
    "restart-two-instances": ("b",),
    "reg-latency": tuple(f"p{number}" for number in range(10)),
    "two-instances": ("b",),
    "two-instances-same-endpoint": ("b",),
    "two-instances-versions": ("b",),
}
"""Plugins whose driver is that of plugin ``a``; the others have one named after their label."""

SAID_ENDPOINT = {"two-instances-same-endpoint": {"b": "dra.sock"}}
"""DRA socket that a plugin announces, where it is not its own: the recording cannot tell."""

FILES = {
    "reg-names": {
        "plain": "ko-names-plain-reg.sock",
        "dot": ".ko-names-reg.sock",
        "renamed": "ko-names-renamed-reg.sock",
        "nosuffix": "ko-names-nosuffix",
        "othersuffix": "ko-names-other.socket",
        "subdir": "ko-names-old/x-reg.sock",
        "newdeep": "ko-names-new/deep/x-reg.sock",
        "newdeeplater": "ko-names-new/deep/y-reg.sock",
        "dotdir": ".ko-names-dotdir/x-reg.sock",
        "link": "../p/link.reg-names.ko.example/outside.sock",
        "movedir": "../p/moved.reg-names.ko.example/dir/x-reg.sock",
    },
    "restart-dot-names": {
        "dotfile": ".ko-dot-reg.sock",
        "dotdir": ".ko-dotdir/x-reg.sock",
        "deepdot": "ko-dir/.deep/x-reg.sock",
        "plain": "ko-plain-reg.sock",
    },
}
"""Registration sockets below the registry directory, where they are not named after the driver."""

FILE_ACTIONS = {
    "a regular file appears": ("file", "ko-names-file-reg.sock", ""),
    "symbolic link to a socket elsewhere appears": (
        "link",
        "../p/link.reg-names.ko.example/outside.sock",
        "ko-names-link-reg.sock",
    ),
    "directory with a socket is moved in": (
        "move",
        "../p/moved.reg-names.ko.example/dir",
        "ko-names-moved",
    ),
    "sub-directory removed with its sockets": ("remove", "ko-names-new", ""),
}
"""What the scenario does to files without telling their names: verb and paths."""

DELETED_BY_HAND = {"gone-socket-removed": 1}
"""Slices that the scenario deletes itself at its end; their deletion is nobody's wipe."""

ANY_INSTANCE = ("restart-two-instances",)
"""Scenarios in which the kubelet calls any instance, by real chance: calls count, not who got
them."""


USUAL_VERSIONS = ["v1.DRAPlugin", "v1beta1.DRAPlugin"]
PLUGINS_DIR = "/var/lib/kubelet/plugins"


def usual_info(plugin: Json) -> Json:
    """The answer to GetInfo of most plugins of the recordings."""
    return {
        "type": "DRAPlugin",
        "name": plugin["driver"],
        "endpoint": f"{PLUGINS_DIR}/{plugin['driver']}/{plugin['said']}",
        "versions": USUAL_VERSIONS,
    }


def reason(name: str, version: str = "") -> str:
    """Why a scenario is not played, or not of this version; empty if it is."""
    if name in PLAYED:
        return CHANCE.get((version, name), "")
    found = [text for prefix, text in OUT_OF_SCOPE.items() if name.startswith(prefix)]
    return found[0] if found else UNKNOWN
