"""A small value that fits a JSON Schema, as pydantic and people write them."""

from collections.abc import Mapping
from typing import Any

from holdfast.testing.wire import BadCall

_PLAIN: Mapping[str, Any] = {"integer": 1, "number": 1, "boolean": True, "null": None, "string": "text"}


class _Endless(BadCall):
    """The schema needs itself: whatever may be left out around it is."""


def example(schema: Any) -> Any:
    """A value for the schema, the same each time. Raises BadCall where none can be made."""
    return _Examples(schema).of(schema, opened=())


class _Examples:
    def __init__(self, root: Any) -> None:
        self._root = root

    def of(self, schema: Any, *, opened: tuple[str, ...]) -> Any:
        match schema:
            case {"const": value} | {"enum": [value, *_]}:
                return value
            case {"$ref": str(reference)}:
                return self._referred(reference, opened)
            case {"anyOf": [*choices]} | {"oneOf": [*choices]}:
                return self._first(choices, opened)
            case {"allOf": [*parts]}:
                return self._all(parts, opened)
            case {"type": [*names]}:
                return self._first([{**schema, "type": name} for name in names], opened)
            case {"type": "object"} | {"properties": _}:
                return self._object(schema, opened)
            case {"type": "array"}:
                return self._array(schema, opened)
            case {"type": str(name)} if name in _PLAIN:
                return _PLAIN[name]
            case True:
                return "text"
            case {} if "type" not in schema:
                return "text"
        raise BadCall(f"Invalid schema: {schema!r} is not understood")

    def _referred(self, reference: str, opened: tuple[str, ...]) -> Any:
        if reference in opened:
            raise _Endless(f"Invalid schema: {reference} holds itself without an end")
        part = self._root
        for name in reference.removeprefix("#").split("/")[1:]:
            part = part.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(part, Mapping) else None
        if part is None or not reference.startswith("#"):
            raise BadCall(f"Invalid schema: {reference} is not in it")
        return self.of(part, opened=(*opened, reference))

    def _first(self, choices: list[Any], opened: tuple[str, ...]) -> Any:
        endless = _Endless("Invalid schema: it offers no choice that ends")
        for choice in choices:
            try:
                return self.of(choice, opened=opened)
            except _Endless as error:
                endless = error
        raise endless

    def _all(self, parts: list[Any], opened: tuple[str, ...]) -> Any:
        values = [self.of(part, opened=opened) for part in parts]
        if len(values) > 1 and all(isinstance(value, dict) for value in values):
            return {name: part for value in values for name, part in value.items()}
        return values[0] if values else "text"

    def _object(self, schema: Mapping[str, Any], opened: tuple[str, ...]) -> dict[str, Any]:
        properties, value = schema.get("properties", {}), {}
        if not isinstance(properties, Mapping):
            raise BadCall("Invalid schema: properties is not an object")
        for name, part in properties.items():
            try:
                value[name] = self.of(part, opened=opened)
            except _Endless:
                if name in schema.get("required", ()):
                    raise
        return value

    def _array(self, schema: Mapping[str, Any], opened: tuple[str, ...]) -> list[Any]:
        first = [self.of(part, opened=opened) for part in schema.get("prefixItems", ())]
        if first or "items" not in schema:
            return first
        try:
            return [self.of(schema["items"], opened=opened)]
        except _Endless:
            return []
