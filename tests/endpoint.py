"""Where a server listens, as the proxies in front of it need to know it."""

import asyncio
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The host or socket directory, port, user and database of a PostgreSQL that trusts its callers."""

    host: str
    port: int
    user: str
    database: str

    @classmethod
    def of(cls, dsn: str) -> "Endpoint":
        url = urlsplit(dsn)
        query = parse_qs(url.query)
        host = query["host"][0] if "host" in query else url.hostname or "127.0.0.1"
        port = int(query["port"][0]) if "port" in query else url.port or 5432
        return cls(host, port, url.username or "postgres", url.path.removeprefix("/"))

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.host.startswith("/"):
            return await asyncio.open_unix_connection(f"{self.host}/.s.PGSQL.{self.port}")
        return await asyncio.open_connection(self.host, self.port)

    def seen_through(self, port: int) -> str:
        """The DSN of the same database behind a proxy on a loopback port."""
        return f"postgresql://{self.user}@127.0.0.1:{port}/{self.database}?sslmode=disable"


def with_user(dsn: str, name: str) -> str:
    """The DSN of the same database for another role, without its password."""
    url = urlsplit(dsn)
    return urlunsplit(url._replace(netloc=f"{name}@{url.netloc.rpartition('@')[2]}"))


def with_database(dsn: str, name: str) -> str:
    """The DSN of another database on the same server."""
    return urlunsplit(urlsplit(dsn)._replace(path=f"/{name}"))


def with_option(dsn: str, name: str, value: str) -> str:
    """The DSN of the same database for sessions in which the server has this setting."""
    return f"{dsn}{'&' if urlsplit(dsn).query else '?'}options={quote(f'-c {name}={value}', safe='')}"
