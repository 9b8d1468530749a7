"""Requests to an API server, as a timeline has them."""

from __future__ import annotations

from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest


def api_request(
    verb: str,
    name: str = "",
    *,
    user: str = "driver",
    version: str = "v1",
    resource: str = "resourceslices",
    namespace: str = "",
    subresource: str = "",
    body: Json | None = None,
    code: int = 200,
    answer: Json | None = None,
) -> ApiRequest:
    """One of the group ``resource.k8s.io``, of slices unless something else is said."""
    return ApiRequest(
        identity=user,
        verb=verb,
        group="resource.k8s.io",
        version=version,
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
        query="",
        user_agent="",
        body=body,
        code=code,
        answer=answer,
        duration_s=0.0,
    )
