"""Checks a model's answer against the part of JSON Schema that we ask models for."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from holdfast.errors import InvalidInput

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
# Each holds for values of the named types only, and gets the value and the keyword's limit.
_LIMITS: dict[str, tuple[tuple[type, ...], Callable[[Any, Any], bool]]] = {
    "minItems": ((list,), lambda value, limit: len(value) >= limit),
    "maxItems": ((list,), lambda value, limit: len(value) <= limit),
    "minLength": ((str,), lambda value, limit: len(value) >= limit),
    "maxLength": ((str,), lambda value, limit: len(value) <= limit),
    "minimum": ((int, float), lambda value, limit: value >= limit),
    "maximum": ((int, float), lambda value, limit: value <= limit),
}
_CHECKED = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", *_LIMITS}
_REMARKS = {"title", "description"}


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise InvalidInput if the schema says something that `faults` would not check."""
    for part in _parts(schema):
        strange = set(part) - _CHECKED - _REMARKS
        if strange:
            raise InvalidInput(f"the schema uses {', '.join(sorted(strange))}, which is not checked: leave it out")
        for name in _names(part.get("type", [])):
            if name not in _TYPES:
                raise InvalidInput(f'the schema names a type "{name}": use one of {", ".join(_TYPES)}')


def is_closed(schema: Mapping[str, Any]) -> bool:
    """Whether every object in it has exactly its properties: what providers call a strict schema."""
    objects = [part for part in _parts(schema) if "object" in _names(part.get("type", []))]
    return all(
        part.get("additionalProperties") is False and set(part.get("required", ())) == set(part.get("properties", {}))
        for part in objects
    )


def with_limits_in_words(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same schema with its limits as remarks: some providers refuse them as keywords of a strict schema."""
    limits = [f"{keyword} {schema[keyword]}" for keyword in _LIMITS if keyword in schema]
    put = {keyword: part for keyword, part in schema.items() if keyword not in _LIMITS}
    if limits:
        put["description"] = "; ".join((*([schema["description"]] if "description" in schema else []), *limits))
    if "properties" in schema:
        put["properties"] = {name: with_limits_in_words(part) for name, part in schema["properties"].items()}
    if "anyOf" in schema:
        put["anyOf"] = [with_limits_in_words(part) for part in schema["anyOf"]]
    if "items" in schema:
        put["items"] = with_limits_in_words(schema["items"])
    return put


def faults(value: Any, schema: Mapping[str, Any], path: str = "$") -> Iterator[str]:
    """Yield what is wrong with the value, and where; never the value itself, which may quote a document."""
    if "type" in schema and not any(_TYPES[name](value) for name in _names(schema["type"])):
        yield f"{path} is not of type {' or '.join(_names(schema['type']))}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path} is none of the {len(schema['enum'])} allowed values"
    if "anyOf" in schema and all(any(faults(value, choice, path)) for choice in schema["anyOf"]):
        yield f"{path} fits none of its {len(schema['anyOf'])} alternatives"
    for keyword, (kinds, holds) in _LIMITS.items():
        if keyword in schema and isinstance(value, kinds) and not holds(value, schema[keyword]):
            yield f"{path} breaks {keyword} {schema[keyword]}"
    if isinstance(value, dict):
        yield from _object_faults(value, schema, path)
    if isinstance(value, list) and "items" in schema:
        for position, item in enumerate(value):
            yield from faults(item, schema["items"], f"{path}[{position}]")


def _object_faults(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name} is missing"
    if schema.get("additionalProperties") is False and set(value) - set(properties):
        yield f"{path} has {len(set(value) - set(properties))} properties that were not asked for"
    for name, part in properties.items():
        if name in value:
            yield from faults(value[name], part, f"{path}.{name}")


def _parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    if "items" in schema:
        inner.append(schema["items"])
    for part in inner:
        yield from _parts(part)


def _names(types: Any) -> list[str]:
    return [types] if isinstance(types, str) else list(types)
