"""The one place that calls a provider's HTTP interface, and turns every failure of it into one of our categories."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from holdfast import json_codec
from holdfast.engine.classify import classify, restore
from holdfast.engine.redaction import REDACTED, clean_text
from holdfast.errors import AnswerNotJson, AuthenticationFailed, Category, InvalidInput, PhaseError
from holdfast.network.authorities import authorities, distrust_in

if TYPE_CHECKING:
    import httpx2

TRACEPARENT: ContextVar[str | None] = ContextVar("traceparent", default=None)
"""Which trace the calls made here belong to, for providers that keep traces too; None: nobody traces."""

_MESSAGE_LIMIT = 200
_NEXT_STEPS = {
    Category.RATE_LIMIT: "its work waits until it allows more",
    Category.BUDGET_EXCEEDED: "top up the account there, or wait for its next period",
    Category.NETWORK_TIMEOUT: "the call is made again later",
    Category.AUTH: "check its address, key and model in the settings, then release the hold",
    Category.CONTENT_POLICY: "it will not take this document",
    Category.TOKEN_LIMIT: "use smaller chunks or a model that reads more",
    Category.TOO_LARGE: "split the document, or use another provider",
    Category.JSON_PARSE: "the call is made again later",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider answers. `provider` is what messages and holds call it; the key is sent along, never shown.

    `seconds` is for a whole call, upload and answer included; an answer beyond `most_bytes` is broken off.
    """

    provider: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    seconds: float = 120.0
    most_bytes: int = 64 << 20

    def __post_init__(self) -> None:
        address = urlsplit(self.base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise InvalidInput(f"the address of {self.provider} is no http(s) address: check its base_url")
        if address.username is not None:
            raise InvalidInput(f"the address of {self.provider} holds a name or password, use its api_key instead")
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise InvalidInput(f"the key of {self.provider} holds characters that no key has: copy it again")


class HttpApi:
    """Connections to one endpoint, shared by all its models; opened when first used, on the event loop that uses them.

    Never follows a redirect, never repeats a call, and reads no proxy or password from the environment.
    """

    def __init__(self, endpoint: Endpoint, *, scheme: str = "Bearer") -> None:
        self.provider = endpoint.provider
        self._endpoint = endpoint
        self._scheme = scheme
        self._client: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Safe to repeat."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def post(self, path: str, *, assumed_usd: Decimal = Decimal(0), **request: Any) -> Mapping[str, Any]:
        """Return the JSON object that the endpoint answers; `request` is what httpx takes.

        Raises our errors only. JSON that turns out unreadable is said to have cost `assumed_usd`: it was answered.
        """
        import httpx2

        try:
            async with asyncio.timeout(self._endpoint.seconds), self._answer(path, request) as response:
                body = await self._read(response)
                return self._accept(response, body, assumed_usd)
        except (httpx2.HTTPError, TimeoutError, OSError, _Refused) as error:
            raise self._explain(error) from error

    @asynccontextmanager
    async def _answer(self, path: str, request: Mapping[str, Any]) -> "AsyncIterator[httpx2.Response]":
        if self._client is None:
            self._client = self._connect()
        if traceparent := TRACEPARENT.get():
            request = {**request, "headers": {**request.get("headers", {}), "traceparent": traceparent}}
        async with self._client.stream("POST", path, **request) as response:
            yield response

    def _connect(self) -> "httpx2.AsyncClient":
        import httpx2

        key = self._endpoint.api_key
        return httpx2.AsyncClient(
            verify=authorities(),
            base_url=self._endpoint.base_url,
            headers={"Authorization": f"{self._scheme} {key}"} if key else None,
            timeout=self._endpoint.seconds,
            follow_redirects=False,
            trust_env=False,
        )

    async def _read(self, response: "httpx2.Response") -> bytes:
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > self._endpoint.most_bytes:
                text = f"{self.provider} answered with more than {self._endpoint.most_bytes:,} bytes"
                raise AnswerNotJson(f"{text}: check its address in the settings", error_code="ANSWER_TOO_LARGE")
        return bytes(body)

    def _accept(self, response: "httpx2.Response", body: bytes, assumed_usd: Decimal) -> Mapping[str, Any]:
        try:
            answer = json_codec.loads(body)
        except ValueError as error:
            if not response.is_success:
                raise _Refused(response.status_code, response.headers, {}) from error
            is_page = "json" not in response.headers.get("content-type", "")
            raise AnswerNotJson(
                f"{self.provider} answered with {'a page' if is_page else 'JSON that breaks off or is malformed'} "
                f"instead of JSON ({len(body):,} bytes): the call is made again later",
                error_code="ANSWER_NOT_JSON",
                cost_usd=Decimal(0) if is_page else assumed_usd,
            ) from error
        if not response.is_success:
            raise _Refused(response.status_code, response.headers, answer if isinstance(answer, dict) else {})
        if not isinstance(answer, dict):
            text = f"{self.provider} answered with JSON that is no object: check its address in the settings"
            raise AnswerNotJson(text, error_code="ANSWER_NOT_JSON", cost_usd=assumed_usd)
        if isinstance(answer.get("error"), dict):
            # Gateways report the failure of whoever stands behind them under their own 200.
            code = answer["error"].get("code")
            raise _Refused(code if isinstance(code, int) else response.status_code, response.headers, answer)
        return answer

    def _explain(self, error: Exception) -> PhaseError:
        if (reason := distrust_in(error)) is not None:
            return AuthenticationFailed(
                f"{self.provider} shows a certificate that is not trusted ({reason}): check its address, or name the "
                "file of its authority in SSL_CERT_FILE and start again, then release the hold",
                error_code="CERTIFICATE_NOT_TRUSTED",
                details={"provider": self.provider},
            )
        failure = classify(error)
        status, message = (error.status_code, error.message) if isinstance(error, _Refused) else (None, "")
        category = _provider_category(failure.category, status=status, message=message)
        what = f"{self.provider} {_describe(error, status, failure.error_code)}"
        details: dict[str, object] = {"provider": self.provider}
        if status is not None:
            details |= {"status": status, "message": self._shown(message)}
            what += f": {self._shown(message)}" if message else ""
        text = f"{what.rstrip('.')}: {_NEXT_STEPS.get(category, 'see what it says')}"
        return restore(replace(failure, category=category, error=text, details=details))

    def _shown(self, message: str) -> str:
        key = self._endpoint.api_key
        return clean_text(message.replace(key, REDACTED) if key else message, limit=_MESSAGE_LIMIT)


class _Refused(Exception):
    """An answer that is no success, in the shape that errors of other libraries have."""

    def __init__(self, status_code: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> None:
        super().__init__(f"HTTP {status_code}")
        self.status_code = status_code
        self.headers = headers
        self.body = body

    @property
    def message(self) -> str:
        """What the provider says to people, wherever it puts that."""
        error = self.body.get("error")
        inner = error if isinstance(error, dict) else {"message": error}
        candidates = (inner.get("message"), self.body.get("err_msg"), self.body.get("message"), self.body.get("detail"))
        return next((text for text in candidates if isinstance(text, str) and text), "")


def _provider_category(category: Category, *, status: int | None, message: str) -> Category:
    if status in (404, 405, 410) or (status is not None and 300 <= status < 400):
        # A wrong address or model, which someone must mend: no document is gone, and all of them can wait.
        return Category.AUTH
    if category is Category.UNKNOWN and status is None:
        return Category.JSON_PARSE  # an encoding that does not decode
    if category is Category.UNKNOWN and "context length" in message.lower():
        return Category.TOKEN_LIMIT  # servers that give no code for it
    return category


def _describe(error: Exception, status: int | None, code: str | None) -> str:
    if status is not None:
        return f"answered {status}" + (f" ({code})" if code and not code.startswith("HTTP_") else "")
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return "did not answer in time"
    return f"broke off or could not be reached ({type(error).__name__})"
