"""What a recording does not say, and which ones are not held against our kubelet."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from pytest_dra.spec import Json

KNOWN = Path(__file__).with_name("kubelet-known.json")
"""Why scenarios are not played, or differ: version -> scenario -> reason."""

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

LETTERS = {
    "name-empty": {"good": "good"},
    "prepare-late-answer": {"in-time": "a", "too-late": "b"},
    "prepare-second-driver-fails": {"good": "a", "bad": "b"},
    "unprepare-two-drivers-one-fails": {"good": "a", "bad": "b"},
}
"""What the names of drivers begin with where it is not the label of their plugin."""

NO_PODS = ("helper-republish",)
"""Scenarios whose pod is the driver itself."""

POD_CLAIMS = {"prepare-unallocated": {"p": ["c"]}}
"""Claims of pods for which they were never reserved."""

LEFT_OVER = {"health-stream-ends": [("c", "U1", "a.health-stream-ends.ko.example")]}
"""Claims of an earlier run that the node had not given back yet: name, uid and driver."""

RUNS_BEFORE_S = {"health-stream-ends": 59.0}
"""How long the kubelet had been running: its loop over claims of pods that are gone was due."""

CHECKPOINTS = {
    "podresources-and-checkpoint": {
        "while failing": "annotation of pod p changed",
        "running": "delete pod p",
        "after": "",
    },
    "prepare-different-devices-on-retry": {"state": ""},
    "prepare-second-driver-fails": {"state": ""},
    "prepare-share-id": {"state": ""},
    "restart-shared": {"state": "delete pod p1"},
    "unprepare-other-pod-arrives": {"state": "delete pod p2"},
}
"""Facts that are the checkpoint, and what the scenario did just after reading it ("": nothing)."""

POD_REQUESTS = {"health-basic": "r0", "health-limits": "r0"}
"""Where containers list one request of a claim and not the whole."""

SANDBOXES_LOST = ("sandbox removed", "node restarted")
"""After this no container of the node runs."""

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


@functools.cache
def known() -> Json:
    """The content of ``KNOWN``."""
    made: Json = json.loads(KNOWN.read_text())
    return made


def reason(name: str, version: str) -> str:
    """Why a scenario of this version is not held against ours; empty if it is."""
    found: str = known()[version].get(name, "")
    return found
