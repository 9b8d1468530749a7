"""Random request sequences, as scripts of the oracle's language: drawn, and shrunk, by Hypothesis.

Each sequence lives in a namespace of its own and is about one or two kinds. Most of its requests
are legal; what an earlier step has saved (``rv3``, ``uid3``: those of step 3) comes back in others.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any
from typing import Final

from hypothesis import strategies as st

from pytest_dra.spec import Json
from tests.upstream.apiservercore import KINDS
from tests.upstream.apiserverdice import Dice
from tests.upstream.apiserverdice import Draw
from tests.upstream.apiserverkinds import Written
from tests.upstream.apiservermeta import BAD_METADATA
from tests.upstream.apiservermeta import METADATA

STEPS_MAX: Final = 12
"""Longest sequence, without what closes its watches."""


_NAMES: Final = ("n0", "n1")
_TABLE: Final = "application/json;as=Table;g=meta.k8s.io;v=v1"
_PARTIAL: Final = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
_WATCH_S: Final = 0.3
"""How long the events of a watch are waited for; they come within milliseconds."""

_LABELS: Final = (
    "a=1",
    "a",
    "!a",
    "a in (1,2)",
    "a notin (1)",
    "a!=1",
    "zz=1",
    "a=",
    "a in",
    "a>0",
)


class Sequencer:
    """Makes the steps of one sequence."""

    def __init__(self, draw: Draw, kinds: Sequence[str], *, betas: bool) -> None:
        self._dice = Dice(draw)
        chosen = {self._dice.pick(kinds)}
        if self._dice.chance(20):
            chosen.add(self._dice.pick(kinds))
        self._kinds = sorted(chosen)
        self._betas = betas
        self._written: list[int] = []
        self._watches: list[str] = []
        self._number = 0

    def script(self) -> Json:
        """A whole script."""
        steps = [self._create(self._dice.pick(self._kinds))]
        for _ in range(self._dice.number(1, STEPS_MAX - 1)):
            self._number += 1
            steps.append(self._step())
        for name in self._watches:
            self._number += 1
            steps.append(self._collected(name))
            steps.append({"close": name})
        script: Json = {
            "vars": {"ns": "fz"},
            "defs": {name: copy.deepcopy(KINDS[name].body) for name in self._kinds},
            "steps": steps,
        }
        if self._dice.chance(40):
            script["keep"] = ["managedFields"]
        return script

    def _step(self) -> Json:
        kind = self._dice.pick(self._kinds)
        make = self._dice.pick(_VERBS)
        step = make(self, kind)
        if self._dice.chance(4):
            step["as"] = self._dice.pick(("user", "kubelet-a"))
        return step

    # -- parts -----------------------------------------------------------------------------------

    def _saved(self, name: str) -> str:
        if not self._written:
            return "1"
        return f"${{{name}{self._dice.pick(self._written[::-1])}}}"

    def _named(self, kind: str) -> str:
        name = self._dice.pick(_NAMES)
        return name.replace("n", "${ns}-") if kind == "namespaces" else name

    def _path(self, kind: str) -> str:
        written = KINDS[kind]
        if self._betas and written.versions and self._dice.chance(25):
            version = self._dice.pick(written.versions)
            place = "namespaces/${ns}/" if written.namespaced else ""
            plural = _PLURALS[kind]
            return f"/apis/resource.k8s.io/{version}/{place}{plural}"
        return written.path

    def _edits(self, kind: str, *, status: bool = False) -> Json:
        written: Written = KINDS[kind]
        edits: Json = {}
        sources = [written.status] if status and written.status else [written.edits, METADATA]
        for source in sources:
            while source and self._dice.chance(50):
                path = self._dice.pick(sorted(source))
                edits[path] = self._dice.pick(source[path])
        if self._dice.chance(15):
            source = self._dice.pick([written.spoils or BAD_METADATA, BAD_METADATA])
            path = self._dice.pick(sorted(source))
            edits[path] = self._dice.pick(source[path])
        return _disjoint(edits)

    def _body(self, kind: str, path: str, name: str, edits: Json) -> Json:
        given: Json = {"metadata.name": name} if name else {}
        if "/v1beta" in path:
            given["apiVersion"] = "/".join(path.split("/")[2:4])
        return {"$def": kind, "set": {**given, **edits}}

    def _options(self, step: Json) -> Json:
        query: Json = {}
        if self._dice.chance(8):
            query["dryRun"] = "All"
        if self._dice.chance(12):
            query["fieldValidation"] = self._dice.pick(("Strict", "Warn", "Ignore", "strict"))
        if self._dice.chance(15):
            query["fieldManager"] = self._dice.pick(("one", "two", "a\tb"))
        if query:
            step["query"] = {**query, **step.get("query", {})}
        return step

    def _accept(self, step: Json, *, listed: bool) -> Json:
        if self._dice.chance(12):
            media = self._dice.pick(
                (_TABLE, _PARTIAL.format("List" if listed else ""), _PARTIAL.format(""))
            )
            step["headers"] = {**step.get("headers", {}), "Accept": media}
            if media == _TABLE and self._dice.chance(30):
                step["query"] = {
                    **step.get("query", {}),
                    "includeObject": self._dice.pick(("Object", "None", "Metadata", "x")),
                }
        return step

    def _noted(self, step: Json) -> Json:
        """A write whose version and uid later steps know."""
        number = self._number
        self._written.append(number)
        step["save"] = {f"rv{number}": "metadata.resourceVersion", f"uid{number}": "metadata.uid"}
        return {"id": f"s{number}", **step}

    # -- verbs -----------------------------------------------------------------------------------

    def _create(self, kind: str) -> Json:
        path, edits, name = self._path(kind), self._edits(kind), self._named(kind)
        if self._dice.chance(10):
            edits |= {"metadata.generateName": self._dice.pick(("g-", "n", "x" * 60))}
            if self._dice.chance(60):
                edits["metadata.name"] = {"$unset": True}
        if self._dice.chance(4):
            edits["metadata.resourceVersion"] = self._saved("rv")
        body = self._body(kind, path, name, edits)
        return self._options(self._noted({"POST": path, "body": body}))

    def _put(self, kind: str) -> Json:
        path, name, written = self._path(kind), self._named(kind), KINDS[kind]
        status = bool(written.sub) and self._dice.chance(45)
        edits = self._edits(kind, status=status)
        if self._dice.chance(60 if kind == "leases" else 30):
            edits["metadata.resourceVersion"] = self._saved("rv")
        if self._dice.chance(6):
            edits["metadata.uid"] = self._saved("uid")
        where = f"{path}/{name}" + (f"/{written.sub[0]}" if status else "")
        body = self._body(kind, path, name, edits)
        return self._options(self._noted({"PUT": where, "body": body}))

    def _patch(self, kind: str) -> Json:
        path, name, written = self._path(kind), self._named(kind), KINDS[kind]
        status = bool(written.sub) and self._dice.chance(40)
        where = f"{path}/{name}" + (f"/{written.sub[0]}" if status else "")
        form = self._dice.pick(("merge", "strategic", "json"))
        edits = self._edits(kind, status=status)
        if self._dice.chance(10):
            edits["metadata.resourceVersion"] = self._saved("rv")
        body: Any = self._operations(edits) if form == "json" else {"$def": "empty", "set": edits}
        media = {"merge": "merge-patch", "strategic": "strategic-merge-patch", "json": "json-patch"}
        headers = {"Content-Type": f"application/{media[form]}+json"}
        return self._options(self._noted({"PATCH": where, "headers": headers, "body": body}))

    def _operations(self, edits: Json) -> list[Json]:
        found: list[Json] = []
        for path, value in edits.items():
            if "[" in path:
                continue
            pointer = "/" + path.replace(".", "/")
            verb = self._dice.pick(("add", "replace", "remove", "test"))
            entry: Json = {"op": verb, "path": pointer}
            gone = isinstance(value, dict) and ("$unset" in value or "$list" in value)
            if verb != "remove":
                entry["value"] = None if gone else value
            found.append(entry)
        if self._dice.chance(20):
            found.append(self._dice.pick(_ODD_OPERATIONS))
        return found

    def _apply(self, kind: str) -> Json:
        path, name, written = self._path(kind), self._named(kind), KINDS[kind]
        status = bool(written.sub) and self._dice.chance(40)
        where = f"{path}/{name}" + (f"/{written.sub[0]}" if status else "")
        edits = self._edits(kind, status=status)
        body = self._body(kind, path, name, edits)
        if self._dice.chance(40):
            edits["spec"] = {"$unset": True}
            body["set"] = {**_disjoint(body["set"] | edits)}
        query: Json = {"fieldManager": self._dice.pick(("one", "two"))}
        if self._dice.chance(25):
            query["force"] = self._dice.pick(("true", "false", "x"))
        if self._dice.chance(5):
            query.pop("fieldManager")
        headers = {"Content-Type": "application/apply-patch+yaml"}
        step = {"PATCH": where, "query": query, "headers": headers, "body": body}
        return self._options(self._noted(step))

    def _get(self, kind: str) -> Json:
        path, name, written = self._path(kind), self._named(kind), KINDS[kind]
        if written.sub and self._dice.chance(15):
            name += f"/{written.sub[0]}"
        step: Json = {"id": f"s{self._number}", "GET": f"{path}/{name}"}
        if self._dice.chance(15):
            step["query"] = {"resourceVersion": self._dice.pick(("0", "", "x", self._saved("rv")))}
        return self._accept(step, listed=False)

    def _selectors(self, kind: str) -> Json:
        query: Json = {}
        if self._dice.chance(35):
            query["labelSelector"] = self._dice.pick(_LABELS)
        if self._dice.chance(35):
            query["fieldSelector"] = self._dice.pick(KINDS[kind].fields)
        if kind == "namespaces":
            query["fieldSelector"] = self._dice.pick(KINDS[kind].fields)
        if kind.startswith("cluster"):
            # what a new cluster comes with is none of our server's
            own = "kubernetes.io/bootstrapping!=rbac-defaults"
            labels = query.get("labelSelector")
            query["labelSelector"] = f"{labels},{own}" if labels else own
        return query

    def _list(self, kind: str) -> Json:
        query = self._selectors(kind)
        number = self._number
        if self._dice.chance(30):
            query["limit"] = self._dice.pick(("1", "2", "0", "-1", "x"))
        if self._dice.chance(25):
            query["resourceVersion"] = self._dice.pick(("0", self._saved("rv"), "1", "x", ""))
        if self._dice.chance(15):
            query["resourceVersionMatch"] = self._dice.pick(("Exact", "NotOlderThan", "x"))
        if self._dice.chance(12) and number > 1:
            query["continue"] = self._dice.pick(
                [f"${{cont{self._dice.number(1, number - 1)}}}", "x"]
            )
        save = {f"cont{number}": "metadata.continue"}
        step = {"id": f"s{number}", "GET": self._path(kind), "query": query, "save": save}
        if query.get("resourceVersion") == "0":
            # the real server's cache of a kind does not see writes of other kinds
            step["hide"] = ["metadata.resourceVersion"]
        return self._accept(step, listed=True)

    def _delete(self, kind: str) -> Json:
        step: Json = {"DELETE": f"{self._path(kind)}/{self._named(kind)}"}
        if kind == "namespaces":
            # a real one without controllers never goes
            step["query"] = {"dryRun": "All"}
            return {"id": f"s{self._number}", **step}
        return {"id": f"s{self._number}", **self._deletion(step)}

    def _deletion(self, step: Json) -> Json:
        options: Json = {}
        if self._dice.chance(20):
            options["propagationPolicy"] = self._dice.pick(
                ("Background", "Foreground", "Orphan", "x")
            )
        if self._dice.chance(20):
            options["gracePeriodSeconds"] = self._dice.pick((0, 1, 30, -1))
        if self._dice.chance(8):
            options["orphanDependents"] = self._dice.pick(("true", "false"))
        if self._dice.chance(60):
            if options:
                step["query"] = {key: str(value) for key, value in options.items()}
            if self._dice.chance(8):
                step["query"] = {**step.get("query", {}), "dryRun": "All"}
            return step
        if self._dice.chance(30):
            part = self._dice.pick(("uid", "resourceVersion"))
            saved = self._saved("uid" if part == "uid" else "rv")
            options["preconditions"] = {part: saved}
        if self._dice.chance(8):
            options["dryRun"] = ["All"]
        if self._dice.chance(70):
            options |= {"apiVersion": "v1", "kind": "DeleteOptions"}
        step["body"] = options
        return step

    def _delete_many(self, kind: str) -> Json:
        if kind == "namespaces":
            return self._delete(kind)
        step: Json = {"DELETE": self._path(kind)}
        step = self._deletion(step)
        query = self._selectors(kind)
        if self._dice.chance(10):
            query["limit"] = "1"
        if query:
            step["query"] = {**step.get("query", {}), **query}
        return {"id": f"s{self._number}", **step}

    def _watch(self, kind: str) -> Json:
        if len(self._watches) == 2:
            return self._collected(self._dice.pick(self._watches))
        query = self._selectors(kind)
        if self._dice.chance(60):
            query["resourceVersion"] = self._dice.pick((self._saved("rv"), "0", ""))
        if self._dice.chance(30):
            query["allowWatchBookmarks"] = "true"
        if self._dice.chance(25):
            query["sendInitialEvents"] = self._dice.pick(("true", "false"))
            if self._dice.chance(80):
                query["resourceVersionMatch"] = "NotOlderThan"
        name = f"w{self._number}"
        self._watches.append(name)
        step = {"id": f"s{self._number}", "watch": name, "path": self._path(kind), "query": query}
        return self._accept(step, listed=False)

    def _collected(self, name: str) -> Json:
        return {"id": f"s{self._number}", "collect": name, "timeout": _WATCH_S}


_VERBS: Final = (
    Sequencer._get,
    Sequencer._create,
    Sequencer._put,
    Sequencer._put,
    Sequencer._patch,
    Sequencer._patch,
    Sequencer._delete,
    Sequencer._list,
    Sequencer._apply,
    Sequencer._create,
    Sequencer._list,
    Sequencer._delete_many,
    Sequencer._watch,
)

_PLURALS: Final = {
    "slices": "resourceslices",
    "claims": "resourceclaims",
    "templates": "resourceclaimtemplates",
    "classes": "deviceclasses",
}

_ODD_OPERATIONS: Final = (
    {"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/c"},
    {"op": "move", "from": "/metadata/labels", "path": "/metadata/annotations"},
    {"op": "add", "path": "/metadata/labels/x", "value": "y"},
    {"op": "remove", "path": "/metadata/finalizers/0"},
    {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/h"},
    {"op": "test", "path": "/metadata/name", "value": "n0"},
    {"op": "replace", "path": "", "value": {}},
)


def _disjoint(edits: Json) -> Json:
    """Without edits below what another one of them sets or removes."""
    return {
        path: value
        for path, value in edits.items()
        if not any(path != other and path.startswith((other + ".", other + "[")) for other in edits)
    }


@st.composite
def sequences(draw: Draw, kinds: tuple[str, ...], *, betas: bool) -> Json:
    """One script."""
    script = Sequencer(draw, kinds, betas=betas).script()
    script["defs"]["empty"] = {}
    return script
