"""Reduces a recording of the real kubelet to facts: what was done, how the plugin answered, and
what it saw. What concerns pods is in ``kubelet_podfacts``.

A reduced scenario is JSON: ``plugins`` (label -> driver and socket files below the node's
directories), ``do`` ([seconds, verb, arguments...]), ``script`` (label -> method -> steps), ``saw``
([seconds, lane, entry]), ``until`` and ``phase`` (seconds), ``network`` (slices of no node),
``pods``.
"""

from __future__ import annotations

from typing import Any

from pytest_dra.spec import Json
from tests.upstream import kubelet_scope as scope
from tests.upstream.kubelet_podfacts import PodFacts
from tests.upstream.kubelet_steps import NODE_CALLS
from tests.upstream.kubelet_steps import Steps
from tests.upstream.kubelet_steps import script_key

SAME_MOMENT_S = 0.15
"""A connection that ends this close to an act of the plugin was closed by the plugin."""

CLOSING_S = 0.25
"""A connection that the plugin has closed is seen to end within this time."""

AWAITED_S = 0.3
"""An act that follows so soon upon something of the kubelet has waited for it."""

KUBELET_ENDS_S = 3.0
"""A connection that ends this soon after the order to stop the kubelet was closed by its end."""

UP_WITHIN_S = 12.0
"""A kubelet that is started shows itself within this time."""

KUBELET_STOPS = ("kubelet restarted", "kubelet stopped", "node restarted")
KUBELET_STARTS = ("kubelet restarted", "kubelet started", "node container is back")
SOCKET_VERBS = {
    "socket file renamed into place": "rename",
    "listen": "listen",
    "plugin closes its connections": "drop",
}
CHECKPOINT = {
    "checkpoint made unreadable": "corrupt",
    "checkpoint restored": "restore",
    "checkpoint deleted": "forget",
}


def reduced(name: str, recording: Json) -> Json:
    """The facts of one recording."""
    return _Reduction(name, recording).made()


class _Reduction:
    def __init__(self, name: str, recording: Json) -> None:
        self.name = name
        self.facts = recording["facts"]
        self.rows: list[Json] = recording["timeline"]
        self.plugins: dict[str, Json] = {}
        self.infos: dict[str, Json] = {}
        self.errors: dict[str, str] = {}
        self.paths: dict[tuple[str, str], str] = {}
        self.script: dict[str, dict[str, list[Json]]] = {}
        self.do: list[list[Any]] = []
        self.saw: list[list[Any]] = []
        self.podfacts = PodFacts(name, self.rows, self.facts)
        self.steps = Steps(self.rows, self.podfacts, self.plugins, self.infos)

    def made(self) -> Json:
        for row in self.rows:
            if "plugin" in row:
                self._meet(row["plugin"])
        for index, row in enumerate(self.rows):
            if "do" in row:
                self._do(index, row)
            elif "slice" in row:
                self._slice(row)
            elif "ev" in row:
                self._event(index, row)
        last = max(row["t"] for row in self.rows)
        for _ in range(scope.DELETED_BY_HAND.get(self.name, 0)):
            self.saw.remove([row for row in self.saw if row[1] == "slices"][-1])
        self.do += self.podfacts.do()
        self.saw += self.podfacts.saw()
        self.do.sort(key=lambda act: act[0])
        for steps in (steps for of_label in self.script.values() for steps in of_label.values()):
            while steps and not steps[-1]:
                steps.pop()
        return {
            "plugins": self.plugins,
            "do": self.do,
            "script": {
                label: {method: steps for method, steps in of_label.items() if steps}
                for label, of_label in self.script.items()
            },
            "saw": self.saw,
            "until": max(last, scope.UNTIL_S.get(self.name, 0.0)),
            "phase": self._phase(),
            "network": self._network(),
            "pods": self.podfacts.pods,
        }

    def _meet(self, label: str) -> None:
        if label in self.plugins:
            return
        shared = label in scope.SHARED_DRIVER.get(self.name, ())
        letter = scope.LETTERS.get(self.name, {}).get(label, "a" if shared else label)
        driver = f"{letter}.{self.name}.ko.example"
        if self.name == "reg-names" and label == "movedir":
            driver = "moved.reg-names.ko.example"
        number = len(self.plugins)
        first = all(known["driver"] != driver for known in self.plugins.values())
        dra = "dra.sock" if first else f"dra-{number}.sock"
        reg = f"{driver}-reg.sock" if first else f"{driver}-{number}-reg.sock"
        reg = scope.FILES.get(self.name, {}).get(label, reg)
        said = scope.SAID_ENDPOINT.get(self.name, {}).get(label, dra)
        self.plugins[label] = {"driver": driver, "reg": reg, "dra": dra, "said": said}
        self.infos[label] = scope.usual_info(self.plugins[label])
        self.script[label] = {}

    # ------------------------------------------------------------ what was done
    def _do(self, index: int, row: Json) -> None:
        text, at, label = row["do"], row["t"], row.get("plugin")
        self._await(row)
        if label is not None:
            self.do += self.podfacts.awaited(at, at)
        if text in scope.FILE_ACTIONS:
            verb, *paths = scope.FILE_ACTIONS[text]
            later = 0.02 if verb == "remove" else 0.0
            self.do.append([at + later, verb, *paths])
        elif text == "socket file appears":
            self.do.append([at, self._how_it_listens(index, row), label, row["sock"]])
        elif text in SOCKET_VERBS:
            self.do.append([at, SOCKET_VERBS[text], label, row["sock"]])
        elif text == "socket file removed":
            self._removed(index, row)
        elif text == "closed, file stays":
            self.do.append([at, "close", "a", "reg"])
        elif text in ("process dies, socket files stay", "process stops and removes its sockets"):
            self.do += [[at, "close", label, "reg"], [at, "close", label, "dra"]]
        elif text in CHECKPOINT:
            self.do.append([at, CHECKPOINT[text]])
        if text in KUBELET_STOPS:
            verb = "reboot" if text == "node restarted" else "stop"
            self.do.append([self._stopped_at(index, at), verb])
        if text in KUBELET_STARTS:
            self.do.append([self._started_at(index, at), "start"])

    def _await(self, row: Json) -> None:
        """An act that follows soon upon something the kubelet did has waited for it.

        Calls for claims are left out: pods make them while other things are done.
        """
        is_touch = row["do"].startswith("annotation of pod ")
        if not self.saw or not ("plugin" in row or is_touch):
            return
        at, lane, what = self.saw[-1]
        if row["t"] - at <= AWAITED_S and what[1:2] not in ([each] for each in NODE_CALLS):
            seen = sum(1 for each in self.saw if each[1] == lane)
            self.do.append([row["t"], "await", lane, seen, round(row["t"] - at, 2)])

    def _how_it_listens(self, index: int, row: Json) -> str:
        for later in self.rows[index + 1 :]:
            if later.get("do") == "listens, never answers" and row["sock"] == "reg":
                return "mute"
            if (later.get("plugin"), later.get("sock")) != (row["plugin"], row["sock"]):
                continue
            if later.get("do") == "listen":
                return "bind"
            if "do" in later or later["ev"] == "open":
                break
        return "serve"

    def _removed(self, index: int, row: Json) -> None:
        label, sock, at = row["plugin"], row["sock"], row["t"]
        closing = [
            each
            for each in self.rows[:index]
            if (each.get("plugin"), each.get("sock"), each.get("ev")) == (label, sock, "close")
            and at - each["t"] <= SAME_MOMENT_S
            and not self._kubelet_ends(each["t"])
        ]
        if closing and sock == "dra":
            self.do.append([closing[0]["t"], "close", label, sock])
        self.do.append([at, "unlink", label, sock])

    def _stopped_at(self, index: int, ordered: float) -> float:
        """When the kubelet's connections ended, which is when its process did."""
        for row in self.rows[index:]:
            if row["t"] - ordered > KUBELET_ENDS_S:
                break
            if row.get("ev") == "close" and row.get("sock") == "dra":
                return float(row["t"])
        return ordered

    def _started_at(self, index: int, ordered: float) -> float:
        """When the kubelet first showed itself; how long its process takes to start is not held."""
        for row in self.rows[index + 1 :]:
            is_order = row.get("do") in KUBELET_STARTS or row.get("do") in CHECKPOINT
            if row["t"] - ordered > UP_WITHIN_S or is_order:
                break
            shown = row.get("ev") == "open" and row.get("sock") == "reg"
            if shown or row.get("slice") == "deleted":
                return float(row["t"])
        return ordered

    def _kubelet_ends(self, at: float) -> bool:
        return any(
            row.get("do") in KUBELET_STOPS and -SAME_MOMENT_S <= at - row["t"] <= KUBELET_ENDS_S
            for row in self.rows
        )

    def _slice(self, row: Json) -> None:
        if row["slice"] == "added":
            self.do.append([row["t"], "publish", row["driver"]])
        else:
            self.saw.append([row["t"], "slices", ["deleted", row["driver"]]])

    def _network(self) -> dict[str, int]:
        """Slices of each driver that belong to no node, which no kubelet deletes."""
        found: dict[str, int] = {}
        for key in ("slices before", "left"):
            for driver, kind in self.facts.get(key, ()):
                if kind == "allNodes":
                    found[driver] = found.get(driver, 0) + 1
        return found

    def _phase(self) -> float:
        """Where in the second the kubelet looks at its registry."""
        appeared = 0.0
        for act in self.do:
            if act[1] in ("bind", "mute") and act[3] == "reg":
                appeared = float(act[0]) + 0.5
        first = next(
            (r["t"] for r in self.rows if (r.get("ev"), r.get("sock")) == ("open", "reg")), 0
        )
        return round((appeared or first) % 1.0, 3)

    # ------------------------------------------------------------ what happened at the plugin
    def _event(self, index: int, row: Json) -> None:
        label, lane, at = row["plugin"], f"{row['plugin']}/{row['sock']}", row["t"]
        kind = row["ev"]
        if kind == "open":
            self.saw.append([at, lane, ["open"]])
        elif kind == "close" and self._is_kubelets(index, row):
            self.saw.append([at, lane, ["close"]])
        elif kind == "cancelled":
            self.saw.append([at, lane, ["cancelled", row.get("method")]])
        elif kind == "answer":
            if row["method"] == "GetInfo" and "info" in row:
                info = row["info"]
                self.infos[label] = (
                    scope.usual_info(self.plugins[label]) if info == "the usual" else info
                )
        elif kind == "call":
            self._call(index, row, lane)

    def _is_kubelets(self, index: int, row: Json) -> bool:
        """Whether the kubelet closed a connection, and not the plugin."""
        same = [
            each
            for each in self.rows[:index]
            if (each.get("plugin"), each.get("sock"), each.get("conn"))
            == (row["plugin"], row["sock"], row["conn"])
        ]
        if any(each["ev"] == "goaway" for each in same):
            return True
        label, sock = row["plugin"], row["sock"]
        plugins = any(each.get("closing") for each in same) or any(
            0 <= row["t"] - act[0] <= CLOSING_S
            and act[1:] in (["close", label, sock], ["drop", label, sock])
            for act in self.do
        )
        if plugins or self._kubelet_ends(row["t"]):
            return not plugins
        return sock != "dra" or not self._closes_to_come(index, row)

    def _closes_to_come(self, index: int, row: Json) -> bool:
        """Whether the socket file goes just after its connection ended: the plugin's doing."""
        return any(
            later["t"] - row["t"] <= SAME_MOMENT_S
            and later.get("do") == "socket file removed"
            and (later["plugin"], later["sock"]) == (row["plugin"], row["sock"])
            for later in self.rows[index + 1 :]
        )

    def _call(self, index: int, row: Json, lane: str) -> None:
        label, method = row["plugin"], row["method"]
        path = row.get("path") or self.paths.get((label, method))
        if row.get("path"):
            self.paths[label, method] = row["path"]
        error = row.get("error", "")
        if error == "=":
            error = self.errors[label]
        elif error:
            self.errors[label] = error
        deadline = row.get("deadline")
        entry = {
            "deadline": None if deadline is None else round(deadline),
            "path": path,
            "authority": row.get("headers", {}).get(":authority"),
            "registered": row.get("registered"),
            "error": error,
            "claims": [claim["name"] for claim in row.get("claims", ())],
        }
        kept_entry = {key: value for key, value in entry.items() if value not in (None, "", [])}
        self.saw.append([row["t"], lane, ["call", method, kept_entry]])
        step, answer = self.steps.of(index, row)
        self.script[label].setdefault(script_key(method, entry["claims"]), []).append(step)
        if answer is not None:
            self.saw.append(answer)
