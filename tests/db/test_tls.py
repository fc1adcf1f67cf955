"""Encryption as the URL asks for it: what is verified, what falls back, and what refuses."""

from pathlib import Path

import pytest

from holdfast.db.connection import connect
from holdfast.errors import DatabaseUnavailable, DatabaseUnusable
from holdfast.settings import Settings
from tests.authority import Authority, Issued, TlsProxy


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """An authority that this machine does not trust; nor does the user who runs the tests trust any."""
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    return Authority(tmp_path)


@pytest.fixture
def issued(authority: Authority) -> Issued:
    return authority.issue("127.0.0.1")


async def _answers(url: str) -> bool:
    async with connect(Settings(database_url=url)) as database:
        return bool(await database.fetchval("select true"))


@pytest.mark.parametrize("mode", ["require", "prefer", "no-verify"])
async def test_encrypts_without_verifying(dsn: str, issued: Issued, mode: str) -> None:
    async with TlsProxy(dsn, issued) as proxy:
        assert await _answers(proxy.url(f"sslmode={mode}"))
        assert proxy.encrypted


@pytest.mark.parametrize("mode", ["disable", "allow"])
async def test_does_not_encrypt_unasked(dsn: str, issued: Issued, mode: str) -> None:
    async with TlsProxy(dsn, issued) as proxy:
        assert await _answers(proxy.url(f"sslmode={mode}"))
        assert not proxy.encrypted


@pytest.mark.parametrize("mode", ["prefer", "allow", "disable"])
async def test_falls_back_where_the_server_has_no_encryption(dsn: str, mode: str) -> None:
    async with TlsProxy(dsn, None) as proxy:
        assert await _answers(proxy.url(f"sslmode={mode}"))


@pytest.mark.parametrize(
    "query",
    ["sslmode=require", "channel_binding=require", "channel_binding=require&sslrootcert={root}", "sslrootcert=system"],
)
async def test_never_falls_back_where_encryption_is_required(dsn: str, authority: Authority, query: str) -> None:
    async with TlsProxy(dsn, None) as proxy:
        with pytest.raises(DatabaseUnusable, match=r"rejected SSL upgrade; enable TLS .* sslmode") as refused:
            await _answers(proxy.url(query.format(root=authority.root)))
        assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize("mode", ["verify-ca", "verify-full"])
async def test_verifies_by_a_root_certificate(dsn: str, authority: Authority, issued: Issued, mode: str) -> None:
    async with TlsProxy(dsn, issued) as proxy:
        assert await _answers(proxy.url(f"sslmode={mode}&sslrootcert={authority.root}"))
        assert proxy.encrypted


async def test_a_stranger_with_another_authority_is_refused(dsn: str, authority: Authority, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    stranger = Authority(elsewhere).issue("127.0.0.1")
    async with TlsProxy(dsn, stranger) as proxy:
        for asked in ("sslmode=require", "sslmode=verify-ca", "sslmode=verify-full", "channel_binding=require"):
            with pytest.raises(DatabaseUnusable, match="certificate is not trusted"):
                await _answers(proxy.url(f"{asked}&sslrootcert={authority.root}"))


async def test_environment_that_verifies_is_not_lowered(
    dsn: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    monkeypatch.setenv("PGSSLROOTCERT", str(authority.root))
    async with TlsProxy(dsn, authority.issue("elsewhere.example")) as proxy:
        with pytest.raises(DatabaseUnusable, match="certificate is not trusted: IP address mismatch"):
            await _answers(proxy.url("channel_binding=require"))


async def test_only_verify_full_minds_the_name(dsn: str, authority: Authority) -> None:
    async with TlsProxy(dsn, authority.issue("elsewhere.example")) as proxy:
        assert await _answers(proxy.url(f"sslmode=verify-ca&sslrootcert={authority.root}"))
        with pytest.raises(DatabaseUnusable, match="certificate is not trusted: IP address mismatch"):
            await _answers(proxy.url(f"sslmode=verify-full&sslrootcert={authority.root}"))


async def test_system_means_whom_this_machine_trusts(
    dsn: str, authority: Authority, issued: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with TlsProxy(dsn, issued) as proxy:
        for query in ("sslrootcert=system", "sslmode=verify-full&sslrootcert=system"):
            with pytest.raises(DatabaseUnusable, match="certificate is not trusted"):
                await _answers(proxy.url(query))
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.root))
        assert await _answers(proxy.url("sslrootcert=system"))
    async with TlsProxy(dsn, authority.issue("elsewhere.example")) as proxy:
        with pytest.raises(DatabaseUnusable, match="certificate is not trusted: IP address mismatch"):
            await _answers(proxy.url("sslrootcert=system"))


async def test_shows_its_own_certificate(
    dsn: str, authority: Authority, issued: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = authority.issue("client.example")
    shown = f"sslcert={own.certificate}&sslkey={own.key}"
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.root))
    async with TlsProxy(dsn, issued, trusted_clients=authority.root) as proxy:
        assert await _answers(proxy.url(f"sslmode=require&{shown}"))
        assert await _answers(proxy.url(f"sslrootcert=system&{shown}"))
        with pytest.raises(DatabaseUnavailable):
            await _answers(proxy.url("sslmode=require"))


async def test_file_that_cannot_be_read_is_named(dsn: str, tmp_path: Path, issued: Issued) -> None:
    async with TlsProxy(dsn, issued) as proxy:
        with pytest.raises(DatabaseUnusable, match=r"sslrootcert names .*/absent\.crt, which cannot be read"):
            await _answers(proxy.url(f"sslmode=verify-full&sslrootcert={tmp_path}/absent.crt"))
        (tmp_path / "torn.crt").write_text("no certificate")
        with pytest.raises(DatabaseUnusable, match="a certificate or key for the database cannot be read"):
            await _answers(proxy.url(f"sslmode=verify-full&sslrootcert={tmp_path}/torn.crt"))
