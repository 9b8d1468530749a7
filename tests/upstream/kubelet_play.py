"""Plays a reduced scenario against our kubelet stand-in, on a clock that it turns itself."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_dra.kubelet import CheckpointError
from pytest_dra.kubelet import ClaimRef
from pytest_dra.kubelet import KeptClaim
from pytest_dra.kubelet import Kubelet
from pytest_dra.kubelet import KubeletSettings
from pytest_dra.kubelet.checkpoint import Checkpoint
from pytest_dra.kubelet.podhost import Pod
from pytest_dra.spec import Json
from pytest_dra.timeline import Timeline
from pytest_dra.wire import DRA_METHODS
from pytest_dra.wire import GET_INFO
from pytest_dra.wire import HEALTH_METHODS
from pytest_dra.wire import NOTIFY_REGISTRATION_STATUS
from pytest_dra.wire import Method
from tests.upstream.kubelet_answers import Answers
from tests.upstream.kubelet_answers import report
from tests.upstream.kubelet_clock import LATE_S
from tests.upstream.kubelet_clock import TurnedClock
from tests.upstream.kubelet_dice import RecordedChance
from tests.upstream.kubelet_plugin import Call
from tests.upstream.kubelet_plugin import Loop
from tests.upstream.kubelet_plugin import Socket
from tests.upstream.kubelet_podfacts import state_of
from tests.upstream.kubelet_podplay import PlayedHost
from tests.upstream.kubelet_reduction import SAME_MOMENT_S
from tests.upstream.kubelet_scope import LEFT_OVER
from tests.upstream.kubelet_scope import RUNS_BEFORE_S
from tests.upstream.kubelet_steps import STREAM
from tests.upstream.kubelet_steps import script_key

KUBELET_SETTINGS = KubeletSettings(
    poll_s=0.993,
    probe_s=0.0,
    reconnect_s=1.0,
    reconnect_limit_s=120.0,
    relist_s=1.0,
    housekeeping_s=2.0,
    resync_s=60.0,
    pod_retry_s=10.0,
)
"""The kubelet's own numbers where the bench has shorter ones; the loop of 1 s with what a timer is
late (``LATE_S``) and with the 2 ms a turn by which it drifts in the recordings."""

ANSWER_S = LATE_S
"""What a call takes that is answered at once."""

AFTER_S = 2.0
"""The play goes on for so long after the recording's end: what comes late is seen, late."""

AWAIT_S = 1.2
"""An act that has waited for the kubelet waits for ours at most so much longer: one turn."""

AWAIT_STEP_S = 0.05
"""How finely it waits."""

BEFORE_S = 2.0
"""The kubelet runs for so long when the scenario begins, where nothing says otherwise."""

METHODS: dict[str, Method] = {
    method.path: method
    for method in (
        GET_INFO,
        NOTIFY_REGISTRATION_STATUS,
        *HEALTH_METHODS.values(),
        *(each for both in DRA_METHODS.values() for each in (both.prepare, both.unprepare)),
    )
}

RECORDED_PLUGINS = "/var/lib/kubelet/plugins"
RECORDED_REGISTRY = "/var/lib/kubelet/plugins_registry"


def play(
    name: str,
    scenario: Json,
    kubernetes: str,
    *,
    chance: float = 1.0,
    everything: list[list[Any]] | None = None,
) -> list[list[Any]]:
    """What the plugin of the scenario saw of our kubelet, in the form of ``saw``.

    Args:
        chance: what gRPC's chance makes of the pauses between connects: 0.8 to 1.2.
        everything: takes the same with the answers that were no errors.
    """
    root = Path(tempfile.mkdtemp(prefix="dra-", dir="/tmp"))
    try:
        with contextlib.closing(_Play(name, scenario, kubernetes, root, chance)) as played:
            saw = played.run()
            if everything is not None:
                everything += played.everything
            return saw
    finally:
        shutil.rmtree(root, ignore_errors=True)


class _Play:
    def __init__(
        self, name: str, scenario: Json, kubernetes: str, root: Path, chance: float
    ) -> None:
        self._name = name
        self._scenario = scenario
        self._root = root
        self._registry = root / "r"
        (root / "p").mkdir()
        self._registry.mkdir()
        self._checkpoint = root / "dra_manager_state"
        self._sockets: dict[tuple[str, str], Socket] = {}
        start = scenario["phase"] - RUNS_BEFORE_S.get(name, BEFORE_S)
        self._clock = TurnedClock(start, self._open_calls)
        self._loop = Loop()
        self._saw: list[list[Any]] = []
        self._count: dict[tuple[str, str], int] = {}
        self._made: dict[tuple[str, str], int] = {}
        self.everything: list[list[Any]] = []
        self._slices: list[str] = []
        self._kept = b""
        self._kubelet = Kubelet(
            registry_dir=self._registry,
            timeline=Timeline(),
            instance="played",
            kubernetes=kubernetes,
            wipe=self._wipe,
            settings=dataclasses.replace(KUBELET_SETTINGS, reconnect_s=chance),
            checkpoint=self._checkpoint,
            chance=RecordedChance(scenario, self._clock.now, self._played),
            clock=self._clock,
        )
        self._host = PlayedHost(
            name,
            scenario["pods"],
            clock=self._clock,
            note=self._note,
            update=self._update,
            noticed=self._noticed,
            with_health=name.startswith("health"),
        )
        self._kubelet.serve(self._host)
        self._answers = Answers(scenario["plugins"], self._host.results, self._here)
        self._sockets = {
            (label, sock): self._socket(label, sock)
            for label in scenario["plugins"]
            for sock in ("reg", "dra")
        }

    def _socket(self, label: str, sock: str) -> Socket:
        about = self._scenario["plugins"][label]
        if sock == "reg":
            path = Path(self._registry / about["reg"])
        else:
            path = self._root / "p" / about["driver"] / about["dra"]
        lane = f"{label}/{sock}"
        return Socket(
            self._loop,
            path,
            saw=lambda *what: self._note(lane, *what),
            called=lambda call: self._called(label, sock, call),
        )

    def run(self) -> list[list[Any]]:
        """Play to the end; what was seen."""
        for claim, uid, driver in LEFT_OVER.get(self._name, ()):
            left = Checkpoint(self._checkpoint)
            ref = ClaimRef(self._name, uid, claim)
            left.put(KeptClaim(claim=ref, drivers={driver: ()}, pods=frozenset({"gone"})))
            left.write()
        self._kubelet.start()
        for moment, verb, *arguments in self._scenario["do"]:
            self._clock.turn_to(moment)
            own = getattr(self, f"_do_{verb}", None)
            (own or getattr(self._host, f"do_{verb}"))(*arguments)
        self._clock.turn_to(self._scenario["until"] + AFTER_S)
        return self._saw

    def close(self) -> None:
        """End everything."""
        self._kubelet.stop()
        for socket in self._sockets.values():
            socket.close()
        self._loop.stop()

    def _note(self, lane: str, *what: Any) -> None:
        row = [round(self._clock.now(), 2), lane, list(what)]
        self._saw.append(row)
        self.everything.append(row)

    def _open_calls(self) -> int:
        """Calls that have reached a plugin and are not over for it, streams left out."""
        return sum(socket.open_calls(but=STREAM) for socket in self._sockets.values())

    def _note_answer(self, lane: str, call: Call, *code: int) -> None:
        what = ["answer", call.method, *code]
        self.everything.append([round(self._clock.now(), 2), lane, what])

    # ------------------------------------------------------------ what is done
    def _do_await(self, lane: str, count: int, after_s: float) -> None:
        end = self._clock.now() + AWAIT_S
        seen = [row[0] for row in self._saw if row[1] == lane]
        while len(seen) < count and self._clock.now() < end:
            self._clock.turn_to(self._clock.now() + AWAIT_STEP_S)
            seen = [row[0] for row in self._saw if row[1] == lane]
        if len(seen) >= count:
            self._clock.turn_to(seen[count - 1] + after_s)

    def _do_meet(self, lane: str, what: list[Any], count: int, after_s: float) -> None:
        end = self._clock.now() + AWAIT_S
        while len(seen := self._times(lane, what)) < count and self._clock.now() < end:
            self._clock.turn_to(self._clock.now() + AWAIT_STEP_S)
        if len(seen) >= count:
            self._clock.turn_to(seen[count - 1] + after_s)

    def _times(self, lane: str, what: list[Any]) -> list[float]:
        return [row[0] for row in self._saw if row[1:] == [lane, what]]

    def _do_bind(self, label: str, sock: str) -> None:
        self._sockets[label, sock].bind()

    def _do_listen(self, label: str, sock: str) -> None:
        self._sockets[label, sock].listen()

    def _do_serve(self, label: str, sock: str) -> None:
        self._sockets[label, sock].bind()
        self._sockets[label, sock].listen()

    def _do_mute(self, label: str, sock: str) -> None:
        self._sockets[label, sock].bind()
        self._sockets[label, sock].listen_mutely()

    def _do_rename(self, label: str, sock: str) -> None:
        self._sockets[label, sock].close() if sock == "reg" else None
        self._sockets[label, sock].bind(via_rename=True)
        self._sockets[label, sock].listen()

    def _do_unlink(self, label: str, sock: str) -> None:
        self._sockets[label, sock].path.unlink(missing_ok=True)

    def _do_close(self, label: str, sock: str) -> None:
        self._sockets[label, sock].close()
        # Who closed first, within a moment, is chance, and left out of the recordings as well.
        lane, since = f"{label}/{sock}", self._clock.now() - SAME_MOMENT_S
        self._saw = [row for row in self._saw if row[1:] != [lane, ["close"]] or row[0] < since]

    def _do_drop(self, label: str, sock: str) -> None:
        self._sockets[label, sock].drop()

    def _do_file(self, name: str, _: str) -> None:
        (self._registry / name).touch()

    def _do_link(self, target: str, name: str) -> None:
        (self._registry / name).symlink_to((self._registry / target).resolve())

    def _do_move(self, old: str, new: str) -> None:
        (self._registry / old).rename(self._registry / new)

    def _do_remove(self, name: str, _: str) -> None:
        shutil.rmtree(self._registry / name)

    def _do_publish(self, driver: str) -> None:
        self._slices.append(driver)

    def _do_stop(self) -> None:
        self._kubelet.stop()

    def _do_reboot(self) -> None:
        self._kubelet.reboot()

    def _do_start(self) -> None:
        # A kubelet that finds a corrupt checkpoint is started by the service manager again and
        # again in vain, which is nothing that a plugin sees.
        with contextlib.suppress(CheckpointError):
            self._kubelet.start()

    def _do_corrupt(self) -> None:
        self._kept = self._checkpoint.read_bytes() if self._checkpoint.exists() else b""
        self._checkpoint.write_text('{"Data":"x","Checksum":1}')

    def _do_restore(self) -> None:
        self._checkpoint.write_bytes(self._kept)

    def _do_checkpoint(self) -> None:
        data = json.loads(json.loads(self._checkpoint.read_text())["Data"])
        self._note("checkpoint", "claims", state_of(data))

    def _do_forget(self) -> None:
        self._checkpoint.unlink(missing_ok=True)

    def _update(self, pod: Pod) -> None:
        if self._kubelet.pods is not None:
            self._kubelet.pods.update(pod)

    def _noticed(self, uid: str) -> None:
        if self._kubelet.pods is not None:
            self._kubelet.pods.noticed(uid)

    def _played(self, label: str, method: str) -> int:
        return self._count.get((label, method), 0)

    def _wipe(self, driver: str | None) -> None:
        network = self._scenario["network"]
        for each in sorted(set(self._slices) if driver is None else {driver}):
            of_node = self._slices.count(each) - network.get(each, 0)
            for _ in range(of_node):
                self._slices.remove(each)
                self._note("slices", "deleted", each)

    # ------------------------------------------------------------ what the plugin answers
    def _called(self, label: str, sock: str, call: Call) -> None:
        method = METHODS.get(call.path)
        request = method.request.FromString(call.body) if method else None
        lane = f"{label}/{sock}"
        self._note(lane, "call", call.method, self._entry(call, request))
        self._count[label, call.method] = self._played(label, call.method) + 1
        key = script_key(call.method, [claim.name for claim in getattr(request, "claims", ())])
        number = self._made[label, key] = self._made.get((label, key), -1) + 1
        steps = self._scenario["script"].get(label, {}).get(key, [])
        step = steps[number] if number < len(steps) else {}
        if method is None or step.get("hang"):
            return
        socket = self._sockets[label, sock]
        if call.method == STREAM:
            self._stream(lane, socket, call, method, step.get("stream", []))
            return
        moment = self._clock.now() + max(ANSWER_S, step.get("delay", 0.0))
        body = self._answers.to(label, method, request, step).SerializeToString()
        if "raw" in step:
            body = bytes.fromhex(step["raw"])

        def answer() -> None:
            if not step.get("code") and socket.is_open(call):
                self._note_answer(lane, call)
            if step.get("close"):
                socket.cut(call)
            elif step.get("code"):
                self._note(lane, "answer", call.method, step["code"])
                socket.fail(call, step["code"], step.get("message", ""))
            else:
                socket.answer(call, body)

        self._clock.at(moment, answer)

    def _stream(
        self, lane: str, socket: Socket, call: Call, method: Method, steps: list[Any]
    ) -> None:
        moment = self._clock.now()

        def say(what: Any) -> None:
            code = [what] if isinstance(what, int) else []
            if socket.is_open(call):
                self._note_answer(lane, call, *code)
            if code:
                socket.fail(call, what)
            else:
                socket.say(call, report(method, what).SerializeToString())

        for pause_s, what in steps:
            moment += max(ANSWER_S, pause_s)
            self._clock.at(moment, functools.partial(say, what))
            if isinstance(what, int):
                return

    # ------------------------------------------------------------ in the words of the recordings
    def _entry(self, call: Call, request: Any) -> Json:
        entry = {
            "deadline": None if call.timeout_s is None else round(call.timeout_s),
            "path": call.path,
            "authority": self._there(call.authority),
            "registered": getattr(request, "plugin_registered", None),
            "error": self._there(getattr(request, "error", "")),
            "claims": [claim.name for claim in getattr(request, "claims", ())],
        }
        return {key: value for key, value in entry.items() if value not in (None, "", [])}

    def _here(self, text: str) -> str:
        return text.replace(RECORDED_PLUGINS, str(self._root / "p"))

    def _there(self, text: str) -> str:
        for here, there in self._places():
            text = text.replace(str(here), there)
            text = text.replace(quote(str(here), safe=""), quote(there, safe=""))
        return text

    def _places(self) -> Iterator[tuple[Path, str]]:
        yield self._registry, RECORDED_REGISTRY
        yield self._root / "p", RECORDED_PLUGINS
