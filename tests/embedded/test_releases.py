"""What differs from release to release, and documents about the types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.embedded import ApiServer
from pytest_dra.embedded import User
from pytest_dra.embedded.served import VERSIONS
from pytest_dra.embedded.served import serving
from pytest_dra.timeline import Timeline
from tests.embedded.client import CLAIMS
from tests.embedded.client import SLICES
from tests.embedded.client import Client
from tests.embedded.client import claim
from tests.embedded.client import slice_

BETA_CLAIMS = CLAIMS.replace("/v1/", "/v1beta1/")


@contextmanager
def _server(minor: str) -> Iterator[tuple[ApiServer, Client]]:
    tokens = {"admin-token": User("admin", ("system:masters",))}
    server = ApiServer(timeline=Timeline(), kubernetes=minor, tokens=tokens)
    server.start()
    try:
        yield server, Client(server.url)
    finally:
        server.stop()


def test_in_1_34_devices_are_shown_even_if_there_are_none() -> None:
    with _server("1.34") as (_, client):
        assert client.post(SLICES, slice_()).json["spec"]["devices"] is None
    with _server("1.35") as (_, client):
        assert "devices" not in client.post(SLICES, slice_()).json["spec"]


def test_in_1_34_a_name_given_twice_is_named_by_its_key() -> None:
    twice = slice_(devices=[{"name": "a"}, {"name": "a"}])
    with _server("1.34") as (_, client):
        assert client.post(SLICES, twice).causes == {("spec.devices[1].name", "Duplicate")}
    with _server("1.35") as (_, client):
        assert client.post(SLICES, twice).causes == {("spec.devices[1]", "Duplicate")}


def test_fields_of_later_releases_are_unknown_to_1_34() -> None:
    with _server("1.34") as (_, client):
        made = client.post(SLICES, slice_(skipNodeOperations=["*"]))
        assert 'unknown field "spec.skipNodeOperations"' in made.headers["warning"].replace(
            "\\", ""
        )


def test_older_versions_are_views_of_the_same_objects() -> None:
    with _server("1.37") as (server, client):
        server.become(serving(kubernetes_version("1.37"), VERSIONS))
        client.post(CLAIMS, claim())
        seen = client.get(f"{BETA_CLAIMS}/c")
        request = seen.json["spec"]["devices"]["requests"][0]
        assert request["deviceClassName"] == "gpu.example.com"
        assert "deprecated" in seen.headers["warning"]
        body = {**seen.json, "metadata": {"name": "d"}}
        assert client.post(BETA_CLAIMS, body).code == 201
        spec = client.get(f"{CLAIMS}/d").json["spec"]
        assert spec["devices"]["requests"][0]["exactly"]["deviceClassName"] == "gpu.example.com"


def test_groups_list_stable_versions_first() -> None:
    with _server("1.37") as (server, client):
        server.become(serving(kubernetes_version("1.37"), VERSIONS))
        found = client.get("/apis/resource.k8s.io").json
        names = [entry["version"] for entry in found["versions"]]
        assert names == ["v1", "v1beta2", "v1beta1", "v1alpha3"]
        assert found["preferredVersion"]["version"] == "v1"


def test_openapi_describes_what_is_served(client: Client) -> None:
    assert "apis/resource.k8s.io/v1" in client.get("/openapi/v3").json["paths"]
    document = client.get("/openapi/v3/apis/resource.k8s.io/v1").json
    schemas = document["components"]["schemas"]
    entry = schemas["io.k8s.api.resource.v1.ResourceClaimStatus"]["properties"]["devices"]
    assert entry["x-kubernetes-list-map-keys"] == ["driver", "device", "pool", "shareID"]
    patch = document["paths"]["/apis/resource.k8s.io/v1/resourceslices/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "ResourceSlice"
    assert client.get("/openapi/v3/apis/resource.k8s.io/v1beta1").code == 404


def test_references_of_openapi_lead_somewhere(client: Client) -> None:
    document = client.get("/openapi/v3/api/v1")
    schemas = document.json["components"]["schemas"]
    wanted = {
        part.split('"')[0] for part in document.text.split('"$ref":"#/components/schemas/')[1:]
    }
    assert wanted
    assert wanted <= set(schemas)


def test_expressions_are_compiled_when_they_are_written(client: Client) -> None:
    def written(expression: str) -> int:
        body = claim()
        exactly = body["spec"]["devices"]["requests"][0]["exactly"]
        exactly["selectors"] = [{"cel": {"expression": expression}}]
        return client.post(CLAIMS, body, dryRun="All").code

    assert written("device.driver == 'gpu.example.com'") == 201
    assert written("device.driver ==") == 422
    assert written("'a string'") == 422
