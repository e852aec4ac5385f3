"""The OpenAPI document: valid, complete, and true of the requests and the answers of the bridge."""

import json

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from plyd.clients.http.methods import METHODS
from plyd.clients.http.openapi import comments, document
from tests.clients.http.bridge import BY_NAME
from tests.clients.http.test_calls import BAD, GOOD


def complaints(kind, value):
    """What is wrong with a value, by the document's schema of that name."""
    schema = {"$ref": f"#/components/schemas/{kind}", "components": document()["components"]}
    return [error.message for error in Draft202012Validator(schema).iter_errors(value)]


def test_it_is_served_and_valid(bridge):
    status, headers, body = bridge.ask("/openapi.json")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body) == document()
    validate(document())


def test_it_has_every_method_as_the_bridge_serves_it():
    verbs = {path: list(item) for path, item in document()["paths"].items()}
    assert verbs == {method.path: ["get" if method.takes_stream else "post"] for method in METHODS}


def test_every_definition_of_the_schema_has_a_comment():
    assert len(comments()) > 200
    assert [name for name, comment in comments().items() if not comment] == []
    assert comments()["SearchRequest.max_lines"] == "Lines of play wanted, 1 to 1,000. Default 1."
    assert comments()["Score.expected_points"].startswith("Points still to be gained")  # of a oneof


@pytest.mark.parametrize(("name", "fields"), [case for case in GOOD if case[0] != "Apply"], ids=str)
def test_what_is_said_is_what_the_document_says(bridge, sticks, name, fields):
    method = BY_NAME[name]
    assert complaints(method.request.DESCRIPTOR.name, fields) == []
    assert complaints(method.response.DESCRIPTOR.name, bridge.post(name, fields)[1]) == []
    assert complaints(method.request.DESCRIPTOR.name, {"nonsense": 1})


def test_an_error_is_what_the_document_says(bridge):
    assert complaints("Error", bridge.post(*BAD[2])[1]) == []
