"""How a plugin answered its calls, as the steps of a script."""

from __future__ import annotations

from typing import Any

from pytest_dra.spec import Json
from tests.upstream import kubelet_scope as scope
from tests.upstream.kubelet_podfacts import PREPARE
from tests.upstream.kubelet_podfacts import UNPREPARE
from tests.upstream.kubelet_podfacts import PodFacts

AT_ONCE_S = 0.2
"""An answer that came sooner had no delay of its own: the rest is the recorder reading the API."""

STREAM = "NodeWatchResources"
NODE_CALLS = (PREPARE, UNPREPARE)


def script_key(method: str, claims: list[str]) -> str:
    """Under which a script has its steps: calls for different claims come in any order."""
    return " ".join([method, *sorted(claims)])


class Steps:
    """Finds the answer of each call.

    Args:
        rows: of the recording.
        plugins: label to driver and sockets, as far as they have been met.
        infos: label to the newest answer to GetInfo.
    """

    def __init__(
        self, rows: list[Json], podfacts: PodFacts, plugins: dict[str, Json], infos: dict[str, Json]
    ) -> None:
        self._rows = rows
        self._podfacts = podfacts
        self._plugins = plugins
        self._infos = infos
        self._taken: set[int] = set()

    def _of_call(self, index: int, row: Json) -> list[Json]:
        """The entries of the call's connection after it, up to the next call of the method."""
        same = ("plugin", "sock", "conn")
        rows = [
            later
            for later in self._rows[index + 1 :]
            if [later.get(key) for key in same] == [row[key] for key in same]
        ]
        found = []
        for later in rows:
            if later["ev"] == "call" and later["method"] == row["method"]:
                break
            if later["ev"] in ("close", "cancelled") or later.get("method") == row["method"]:
                found.append(later)
        first = next((each for each in found if each["ev"] == "answer"), None)
        if first is None or self._is_anothers(row, first):
            answer = self._answer_of_claims(index, row, rows)
            return found if answer is None else [answer]
        return found

    def _is_anothers(self, row: Json, answer: Json) -> bool:
        """Whether an answer is that of a call for other claims, which ran at the same time."""
        given = _uids(answer)
        asked = [
            _uids(each) for each in self._rows if each.get("ev") == "call" and "claims" in each
        ]
        return "claims" in answer and given != _uids(row) and given in asked

    def _answer_of_claims(self, index: int, row: Json, rows: list[Json]) -> Json | None:
        """The first answer with just the claims of the call that no call before it has got."""
        if row["method"] not in NODE_CALLS:
            return None
        for later in rows:
            is_answer = (later["ev"], later.get("method")) == ("answer", row["method"])
            if is_answer and _uids(later) == _uids(row) and id(later) not in self._taken:
                between = self._rows[index + 1 : self._rows.index(later)]
                if self._is_overtaken(row, between):
                    return None
                self._taken.add(id(later))
                return later
        return None

    def _is_overtaken(self, row: Json, between: list[Json]) -> bool:
        """Whether the call had ended before: it was reset, or made again for these claims."""
        return any(
            (each.get("ev"), each.get("method")) == ("cancelled", row["method"])
            or (
                each.get("ev") == "close"
                and each.get("conn") == row["conn"]
                and each.get("plugin") == row["plugin"]
            )
            for each in between
        )

    def of(self, index: int, row: Json) -> tuple[Json, list[Any] | None]:
        """How the plugin answered the call, and the answer if it was an error."""
        later = self._of_call(index, row)
        answers = [each for each in later if each["ev"] == "answer"]
        if row["method"] == STREAM:
            return {"stream": _stream(row["t"], answers)}, None
        ends = [each for each in later if each["ev"] in ("cancelled", "close")]
        if not answers:
            slow = ends and ends[0]["ev"] == "cancelled"
            if slow or (row["method"] in NODE_CALLS and ends):
                return {"hang": True}, None
            if not ends and row["method"] != "NotifyRegistrationStatus":
                # The recording ends here.
                return {"hang": True}, None
            took = ends[0]["t"] - row["t"] if ends and row["sock"] == "reg" else 0.0
            return ({"delay": round(took, 2)} if took > AT_ONCE_S else {}), None
        return self._answered(row, answers[0])

    def _answered(self, row: Json, answer: Json) -> tuple[Json, list[Any] | None]:
        step: Json = {}
        if answer["t"] - row["t"] > AT_ONCE_S:
            step["delay"] = round(answer["t"] - row["t"], 2)
        if answer.get("closing"):
            return {**step, "close": True}, None
        if answer.get("code"):
            lane = f"{row['plugin']}/{row['sock']}"
            seen = [answer["t"], lane, ["answer", row["method"], answer["code"]]]
            text = {"message": answer["message"]} if row["method"] in NODE_CALLS else {}
            return {**step, "code": answer["code"], **text}, seen
        if "raw" in answer:
            return {**step, "raw": answer["raw"]}, None
        if row["method"] == "GetInfo":
            info = answer.get("info", self._infos[row["plugin"]])
            usual = scope.usual_info(self._plugins[row["plugin"]])
            info = usual if info == "the usual" else info
            if info != usual:
                step["info"] = info
        if row["method"] in NODE_CALLS:
            given = [_claim_answer(each) for each in answer["claims"]]
            if given != self._usual_answer(row):
                step["claims"] = given
        return step, None

    def _usual_answer(self, row: Json) -> list[list[Any]]:
        """What a plugin answers that does nothing special: uid, error and devices of each claim."""
        driver = self._infos[row["plugin"]]["name"]
        prepares = row["method"] == PREPARE
        return [
            [
                claim["uid"],
                "",
                self._podfacts.devices_of(driver, claim["name"]) if prepares else [],
            ]
            for claim in row["claims"]
        ]


def _uids(row: Json) -> set[str]:
    return {claim["uid"] for claim in row.get("claims", ())}


def _claim_answer(given: Json) -> list[Any]:
    devices = [
        [
            device.get("requests", []),
            device.get("pool", ""),
            device.get("device", ""),
            device.get("cdi", []),
            *([device["share"]] if device.get("share") else []),
        ]
        for device in given.get("devices", ())
    ]
    return [given["uid"], given.get("error", ""), devices]


def _stream(opened: float, answers: list[Json]) -> list[list[Any]]:
    """Steps [pause, devices or code] of a health stream; it stays open if no code comes."""
    steps: list[list[Any]] = []
    before = opened
    for answer in answers:
        pause = round(answer["t"] - before, 2)
        what = answer["devices"] if "devices" in answer else answer.get("code", 0)
        steps.append([pause if pause > AT_ONCE_S else 0.0, what])
        before = answer["t"]
    return steps
