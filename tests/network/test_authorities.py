"""Whose certificates are believed: those of the file that the environment names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import AuthenticationFailed
from holdfast.network.authorities import authorities
from holdfast.providers.http import Endpoint, HttpApi
from tests.intake.certificates import contexts_for
from tests.intake.web import respond, web


@pytest.fixture(autouse=True)
def nothing_read_yet() -> Iterator[None]:
    authorities.cache_clear()
    yield
    authorities.cache_clear()


@pytest.mark.parametrize("named", [True, False])
async def test_provider_with_a_certificate_of_ones_own(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = contexts_for("localhost", tmp_path)
    if named:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
    async with web(server) as site:
        site.answers["/v1/ask"] = respond(b'{"answer": 42}', Content_Type="application/json")
        async with HttpApi(Endpoint("house model", f"https://localhost:{site.port}/v1", "key")) as api:
            if named:
                assert await api.post("ask", json={}) == {"answer": 42}
            else:
                with pytest.raises(
                    AuthenticationFailed, match=r"not trusted \(self.signed certificate\).*SSL_CERT_FILE"
                ):
                    await api.post("ask", json={})
