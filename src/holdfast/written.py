"""Short documents that people and programs write by hand: JSON with named fields, nothing but text, or a web page."""

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from holdfast.artifacts.store import ArtifactStore
from holdfast.engine import strict_json
from holdfast.engine.attempt import Attempt
from holdfast.errors import CorruptInput, EmptyText, InvalidInput, TooLarge, UnsupportedFormat
from holdfast.standard import Carried

MOST_BYTES = 1 << 20
PAGES = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True)
class Form:
    """What a written document looks like: its `main` field holds the text, which alone may be the whole document."""

    what: str
    main: str
    others: tuple[str, ...]


class Page(Protocol):
    """Finds the words of a web page: its `text`, and its `title` if it has one."""

    async def read(self, attempt: Attempt, carried: Carried) -> dict[str, str]: ...


class Written:
    """Reads what was written, from the store or from the very input of a job that was submitted with it."""

    def __init__(self, store: ArtifactStore, form: Form, *, page: Page | None = None) -> None:
        self._store = store
        self._form = form
        self._page = page

    async def read(self, attempt: Attempt) -> dict[str, str]:
        """The fields that are there, each as text. The main one is always among them and never blank."""
        match attempt.input:
            case {"original": dict()}:
                fields = await self._stored(attempt, Carried.from_json(attempt.input))
            case {self._form.main: str()} as given if isinstance(given, dict):
                fields = given
            case _:
                text = f"this is no {self._form.what}: send it as a file, or as {{{self._form.main!r}: …}}"
                raise UnsupportedFormat(text, error_code="NOT_WRITTEN")
        return self._checked(fields)

    def bytes_of(self, attempt: Attempt) -> int:
        """How much there is to read, without reading it."""
        match attempt.input:
            case {"original": {"size": int(size)}}:
                return size
        return len(strict_json.dump(attempt.input))

    async def _stored(self, attempt: Attempt, carried: Carried) -> dict[str, Any]:
        if carried.original.size > MOST_BYTES:
            text = f"{carried.name} has {carried.original.size:,} bytes, and a {self._form.what} {MOST_BYTES:,} at most"
            raise TooLarge(f"{text}: shorten it", error_code="TOO_LARGE")
        if self._page is not None and carried.media_type in PAGES:
            read = await self._page.read(attempt, carried)
            return {**read, self._form.main: read["text"]}
        body = await asyncio.to_thread(self._store.read, attempt.document.organisation, carried.original)
        if carried.media_type == "application/json":
            return self._object(carried.name, body)
        if not carried.media_type.startswith("text/"):
            text = f"{carried.name} is {carried.media_type}, and a {self._form.what} is JSON or plain text"
            raise UnsupportedFormat(f"{text}: convert it, or use another pipeline", error_code="NOT_WRITTEN")
        return {self._form.main: body.decode("utf-8-sig", errors="replace")}

    def _object(self, name: str, body: bytes) -> dict[str, Any]:
        try:
            value = strict_json.load(body.removeprefix(b"\xef\xbb\xbf"))
        except InvalidInput as error:
            raise CorruptInput(f"{name} cannot be read ({error}): write it again", error_code="NOT_JSON") from error
        if not isinstance(value, dict):
            text = f"{name} holds no JSON object: write {{{self._form.main!r}: …}}"
            raise CorruptInput(text, error_code="NO_OBJECT")
        return value

    def _checked(self, fields: dict[str, Any]) -> dict[str, str]:
        named = {name: _as_text(fields.get(name)) for name in self._form.others}
        named = {self._form.main: fields.get(self._form.main), **named}
        found = {name: value for name, value in named.items() if value is not None}
        for name, value in found.items():
            if not isinstance(value, str):
                text = f'the field "{name}" of this {self._form.what} is no text: write it in quotes'
                raise CorruptInput(text, error_code="WRONG_FIELD")
        if not found.get(self._form.main, "").strip():
            text = f'this {self._form.what} has no text: fill its field "{self._form.main}"'
            raise EmptyText(text, error_code="EMPTY")
        return found


def _as_text(value: Any) -> Any:
    """A title may be 1984, and a date the seconds since 1970: not worth losing an article for."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
