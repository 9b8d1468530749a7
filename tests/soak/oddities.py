"""What hostile requests are made of: media types, texts, query options, values."""

from __future__ import annotations

from typing import Any
from typing import Final

JSON: Final = "application/json"
MEDIA: Final = (
    JSON,
    "application/yaml",
    "application/cbor",
    "application/vnd.kubernetes.protobuf",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
    "text/plain",
    "",
    ";;",
    "application/json; charset=utf-7",
    "application/json;stream=watch",
)
METHODS: Final = ("POST", "PUT", "PATCH", "DELETE", "GET", "OPTIONS", "HEAD", "TRACE", "FROB")
WORDS: Final = (
    "null", "true", "1e999", "-0", "9223372036854775808", "0.1", '""', "[]", "{}", "NaN",
    '"\\ud800"', '"\\u0000"', "[[[[[[[[", '{"a":', "1" * 400, "-", '"2026-13-01T00:00:00Z"',
)  # fmt: skip
TEXTS: Final = (
    "", "\x00", "\ud7ff", "é" * 40, "%", "%zz", "%00", "..", "../..", "x" * 5000, "*", "a,b,,c",
    "!=", "in (", "a in (b,", "0", "-1", "99999999999999999999", "null", "true", "eyJ2IjoieCJ9",
    "{}", "metadata.name=", "=", "==", "a!=b,c==d", "\u202e", "١٢", "²", "1_0", "+5", " 5", "1e3",
)  # fmt: skip
QUERIES: Final = (
    "fieldSelector", "labelSelector", "limit", "continue", "resourceVersion", "timeoutSeconds",
    "resourceVersionMatch", "sendInitialEvents", "allowWatchBookmarks", "dryRun", "pretty",
    "fieldManager", "fieldValidation", "force", "propagationPolicy", "gracePeriodSeconds",
    "orphanDependents", "includeObject", "timeout",
)  # fmt: skip
ACCEPTS: Final = (
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/yaml",
    "application/cbor",
    "*/*;q=nan",
    ",,,;;;===",
    "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
)
NEST_MAX: Final = 20_000
FLIPS_MAX: Final = 12


VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 2**63, -(2**63) - 1, 1.5, 1e308, "", "x", "n0", "A_b", "1Gi", "-5",
    [], {}, [None], [{}], [[]], {"": ""}, {"a": None}, {"name": 1}, [1, "a"], "x" * 3000, "\x00",
    [{"name": "a"}, {"name": "a"}], {"int": 1}, {"$patch": "delete"}, "2026-01-01T00:00:00Z", "é",
)  # fmt: skip
"""What stands where something else is expected."""

DIRECTIVES: Final = (
    "$patch",
    "$retainKeys",
    "$deleteFromPrimitiveList/finalizers",
    "$setElementOrder/containers",
    "$setElementOrder/finalizers",
    "finalizers",
    "labels",
    "containers",
    "taints",
    "devices",
    "name",
)
OPERATIONS: Final = ("add", "remove", "replace", "move", "copy", "test", "x", 1)
POINTERS: Final = (
    "/metadata/labels",
    "/metadata",
    "/spec",
    "/spec/0",
    "/-",
    "",
    "/metadata/finalizers/-",
    "x",
    "/metadata/name",
    "/~",
    "/~2",
    "/a/b/c",
    "/kind",
    "/metadata/labels/~0~1",
    5,
    None,
)
