"""A model's answer is held to its schema, and a schema to what is checked."""

from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.providers.json_schema import check_schema, faults, is_closed

NAMES = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 5}, "minItems": 1, "maxItems": 2}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": ["integer", "null"], "minimum": 0, "maximum": 150}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
EITHER = {"anyOf": [{"type": "string"}, PERSON]}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (NAMES, ["Ada"]),
        (PERSON, {"name": "", "age": None}),
        (PERSON, {"name": "Ada", "age": 0}),
        (EITHER, "Ada"),
        (EITHER, {"name": "Ada", "age": 36}),
        ({"type": "number"}, 5),
        ({"enum": ["a", None]}, None),
        ({}, object()),
        ({"type": "object"}, {"anything": 1}),
    ],
)
def test_value_that_fits_has_no_fault(schema: dict[str, Any], value: Any) -> None:
    check_schema(schema)
    assert list(faults(value, schema)) == []


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        (NAMES, [], "$ breaks minItems 1"),
        (NAMES, ["a", "b", "c"], "$ breaks maxItems 2"),
        (NAMES, ["Ada", ""], "$[1] breaks minLength 1"),
        (NAMES, ["Adelaide"], "$[0] breaks maxLength 5"),
        (NAMES, "Ada", "$ is not of type array"),
        (PERSON, {"name": "Ada"}, "$.age is missing"),
        (PERSON, {"name": "Ada", "age": 1.5}, "$.age is not of type integer or null"),
        (PERSON, {"name": "Ada", "age": True}, "$.age is not of type integer or null"),
        (PERSON, {"name": "Ada", "age": -1}, "$.age breaks minimum 0"),
        (PERSON, {"name": "Ada", "age": 1, "x": 2}, "$ has 1 properties that were not asked for"),
        ({"enum": ["a", "b"]}, "c", "$ is none of the 2 allowed values"),
        (EITHER, {"name": 5}, "$ fits none of its 2 alternatives"),
    ],
)
def test_fault_says_where_and_what(schema: dict[str, Any], value: Any, fault: str) -> None:
    assert list(faults(value, schema)) == [fault]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "a"},
        {"type": "array", "items": {"$ref": "#/definitions/x"}},
        {"type": "text"},
        {"properties": {"a": {"format": "date"}}},
        {"anyOf": [{"const": 1}]},
    ],
)
def test_schema_that_says_what_is_not_checked_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        check_schema(schema)


def test_schema_is_closed_when_every_object_in_it_is() -> None:
    assert is_closed({"type": "array", "items": PERSON})
    assert not is_closed({"type": "array", "items": {**PERSON, "required": ["name"]}})
    assert not is_closed({"type": "array", "items": {**PERSON, "additionalProperties": True}})
