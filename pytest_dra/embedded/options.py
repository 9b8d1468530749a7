"""Query options of a request, read and checked: dry run, validation mode, list, watch, delete."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Final

from multidict import MultiMapping

from pytest_dra.embedded import selectors
from pytest_dra.embedded.errors import bad_request
from pytest_dra.embedded.errors import internal
from pytest_dra.embedded.errors import invalid_options
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.scalars import is_number

_MANAGER_MAX: Final = 128
"""Longest name of a field manager."""

_VALIDATIONS: Final = ("Ignore", "Strict", "Warn")
_MATCHES: Final = ("Exact", "NotOlderThan")
_POLICIES: Final = ("Background", "Foreground", "Orphan")

_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,18}")
_DURATION: Final = re.compile(r"[-+]?(?:0|(?:[0-9]+(?:\.[0-9]*)?(?:ns|us|ms|s|m|h))+)")


Query = MultiMapping[str]
"""A multi-valued mapping, as aiohttp's ``request.query`` is one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """Options of create, update and patch; ``validation`` is Ignore, Warn or Strict."""

    dry_run: bool = False
    validation: str = "Warn"
    manager: str = ""
    force: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """Options of a deletion; ``policy`` is "" for the default."""

    dry_run: bool = False
    policy: str = ""
    grace_s: int | None = None
    uid: str | None = None
    version: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """Options of list and watch. ``version`` is as sent, ``rv`` its number (0: none or "0")."""

    field_selector: str = ""
    label_selector: str = ""
    limit: int = 0
    continued: str = ""
    version: str = ""
    rv: int = 0
    match: str = ""
    timeout_s: int = 0
    initial_events: bool | None = None
    bookmarks: bool = False


def write_options(query: Query, kind: str, *, applies: bool | None = None) -> WriteOptions:
    """Read the options of a write; ``kind`` is CreateOptions, UpdateOptions or PatchOptions.

    ``applies`` says of a patch whether it is an applied configuration.

    Raises:
        ApiError: 422, an option has an unknown value, lacks, or is not for this write.
    """
    report = Report()
    manager, force = query.get("fieldManager", ""), _boolean(query, "force")
    if applies and not manager:
        report.required("fieldManager", "is required for apply patch")
    if applies is False and force is not None:
        report.forbidden("force", "may not be specified for non-apply patch")
    if len(manager.encode()) > _MANAGER_MAX:
        report.too_long("fieldManager", _MANAGER_MAX)
    elif not manager.isprintable():
        report.invalid("fieldManager", manager, "should only contain printable characters")
    dry_run = _dry_run(query.getall("dryRun", []), report)
    validation = query.get("fieldValidation", "")
    if validation not in ("", *_VALIDATIONS):
        report.not_supported("fieldValidation", validation, _VALIDATIONS)
    if report.causes:
        raise invalid_options(kind, report.causes)
    return WriteOptions(
        dry_run=dry_run,
        validation=validation or "Warn",
        manager=manager,
        force=force is True,
    )


def manager_of(agent: str) -> str:
    """The name of a field manager that does not name itself: the User-Agent up to a slash."""
    name = "".join(letter for letter in agent.partition("/")[0] if letter.isprintable())
    return name.encode()[:_MANAGER_MAX].decode("utf-8", "ignore") or "unknown"


def delete_options(query: Query, body: Mapping[str, object] | None) -> DeleteOptions:
    """Read the options of a deletion from its body, or from the query if there is no body.

    Raises:
        ApiError: 400 or 422, an option has an unknown value.
    """
    report = Report()
    if body is None:
        dry_run = _dry_run(query.getall("dryRun", []), report)
        policy = query.get("propagationPolicy", "")
        grace = _integer(query, "gracePeriodSeconds")
        orphan: object = {"true": True, "false": False}.get(query.get("orphanDependents", ""))
        conditions: Mapping[str, object] = {}
    else:
        dry_run = _dry_run(_texts(body.get("dryRun")), report)
        policy = str(body.get("propagationPolicy") or "")
        found = body.get("gracePeriodSeconds")
        grace = found if isinstance(found, int) else None
        orphan = body.get("orphanDependents")
        given = body.get("preconditions")
        conditions = given if isinstance(given, dict) else {}
    if policy and policy not in _POLICIES:
        report.not_supported("propagationPolicy", policy, _POLICIES)
    if policy and orphan is not None:
        report.invalid(
            "propagationPolicy", policy, "orphanDependents and propagationPolicy exclude each other"
        )
    if report.causes:
        raise invalid_options("DeleteOptions", report.causes)
    uid, version = conditions.get("uid"), conditions.get("resourceVersion")
    return DeleteOptions(
        dry_run=dry_run,
        policy=policy or ("Orphan" if orphan is True else ""),
        grace_s=grace,
        uid=None if uid is None else str(uid),
        version=None if version is None else str(version),
    )


def list_options(query: Query, *, watch: bool) -> ListOptions:
    """Read the options of a list or a watch.

    Raises:
        ApiError: 400, 422 or 500, as the real server answers them.
    """
    version = query.get("resourceVersion", "")
    initial = _boolean(query, "sendInitialEvents")
    timeout = query.get("timeout", "")
    if timeout and _DURATION.fullmatch(timeout) is None:
        raise bad_request(f"invalid timeout {timeout!r}")
    options = ListOptions(
        field_selector=query.get("fieldSelector", ""),
        label_selector=query.get("labelSelector", ""),
        limit=max(0, _integer(query, "limit") or 0),
        continued=query.get("continue", ""),
        version=version,
        match=query.get("resourceVersionMatch", ""),
        timeout_s=max(0, _integer(query, "timeoutSeconds") or 0),
        initial_events=initial,
        bookmarks=_boolean(query, "allowWatchBookmarks") is True,
    )
    selectors.check_syntax(options.field_selector, options.label_selector)
    report = Report()
    (_check_watch if watch else _check_list)(options, report)
    if report.causes:
        raise invalid_options("ListOptions", report.causes)
    return dataclasses.replace(options, rv=version_number(version, watch=watch))


def version_number(version: str, *, watch: bool) -> int:
    """The number of a resourceVersion; 0 for none.

    Raises:
        ApiError: it is no number: 500 on watches and single objects, 400 on lists.
    """
    if not version:
        return 0
    if not is_number(version):
        message = f"invalid resource version {version!r}"
        raise internal(message) if watch else bad_request(message)
    return int(version)


def _check_list(options: ListOptions, report: Report) -> None:
    match = options.match
    if match:
        if options.continued:
            report.forbidden("resourceVersionMatch", "is forbidden with continue")
        if not options.version:
            report.forbidden("resourceVersionMatch", "needs a resourceVersion")
        if match not in _MATCHES:
            report.not_supported("resourceVersionMatch", match, _MATCHES)
        elif match == "Exact" and options.version == "0":
            report.forbidden("resourceVersionMatch", 'Exact is forbidden for "0"')
    if options.initial_events is not None:
        report.forbidden("sendInitialEvents", "is forbidden for list")


def _check_watch(options: ListOptions, report: Report) -> None:
    match = options.match
    if options.continued:
        report.forbidden("resourceVersionMatch", "continue is forbidden for watch")
    if options.initial_events is None:
        if match:
            report.forbidden("resourceVersionMatch", "is forbidden without sendInitialEvents")
        return
    if match != "NotOlderThan":
        report.forbidden(
            "resourceVersionMatch",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        )
        if match:
            report.not_supported("resourceVersionMatch", match, ("NotOlderThan",))


def _dry_run(values: list[str], report: Report) -> bool:
    for value in values:
        if value != "All":
            report.not_supported("dryRun", value, ("All",))
    return bool(values)


def _texts(value: object) -> list[str]:
    return [str(part) for part in value] if isinstance(value, list) else []


def _integer(query: Query, name: str) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    if _INTEGER.fullmatch(text) is None:
        raise bad_request(f"{name}: {text[:40]!r} is no integer")
    return int(text)


def _boolean(query: Query, name: str) -> bool | None:
    text = query.get(name, "").lower()
    if not text:
        return None
    return text not in ("0", "false")
