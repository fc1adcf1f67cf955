"""Connection strings as providers print them: what each becomes, or the one line that refuses it."""

from dataclasses import asdict
from typing import Any

import pytest

from holdfast.dsn import parse_dsn
from holdfast.errors import InvalidInput
from holdfast.settings import Settings, load_settings

SECRET = "s3cr3t"

ACCEPTED: dict[str, dict[str, Any]] = {
    # Supabase: directly, through its pooler in transaction and session mode, as its guides for Prisma and Vercel say
    "postgresql://postgres:s3cr3t@db.abcdefgh.supabase.co:5432/postgres": {
        "hosts": ("db.abcdefgh.supabase.co",),
        "ports": (5432,),
        "user": "postgres",
        "password": SECRET,
        "database": "postgres",
    },
    "postgresql://postgres.abcdefgh:s3cr3t@aws-0-eu-central-1.pooler.supabase.com:6543/postgres": {
        "user": "postgres.abcdefgh",
        "ports": (6543,),
    },
    "postgres://postgres.abcdefgh:s3cr3t@aws-0.pooler.supabase.com:6543/postgres?pgbouncer=true&connection_limit=1": {
        "ports": (6543,),
        "options": None,
    },
    "postgres://postgres.abc:s3cr3t@aws-0-eu.pooler.supabase.com:6543/postgres?sslmode=require&supa=base-pooler.x": {
        "tls.mode": "require"
    },
    "postgres://u:s3cr3t@db.example:6543/d?workaround=supabase-pooler.vercel": {"user": "u"},
    "postgresql://postgres:s3cr3t@db.example:6543/postgres?options=reference%3Dabcdefgh": {
        "options": "reference=abcdefgh"
    },
    # Neon: as its console prints it, and for clients that send no name of the server
    "postgresql://ada:s3cr3t@ep-cool-a1.eu-central-1.aws.neon.tech/neondb?sslmode=require&channel_binding=require": {
        "tls.mode": "require",
        "ports": (),
    },
    "postgres://ada:s3cr3t@ep-x-pooler.eu.aws.neon.tech/neondb?options=endpoint%3Dep-cool-a1&channel_binding=prefer": {
        "options": "endpoint=ep-cool-a1",
        "tls.mode": None,
    },
    "postgresql://ada:s3cr3t@pg.neon.tech/main?options=project%3Dabc&channel_binding=require": {"tls.mode": "require"},
    "postgresql://ada:s3cr3t@pg.neon.tech/main?sslmode=verify-full&channel_binding=require": {
        "tls.mode": "verify-full"
    },
    "postgresql://ada:s3cr3t@pg.neon.tech/main?sslrootcert=/root.crt&channel_binding=require": {"tls.mode": "require"},
    "postgresql://ada:s3cr3t@pg.neon.tech/main?sslrootcert=system&channel_binding=require": {"tls.mode": None},
    # Vercel, Prisma, Rails, node-postgres, Heroku
    "postgres://default:s3cr3t@ep-1.vercel-storage.com/verceldb?pgbouncer=true&connect_timeout=15&pool_timeout=20": {
        "connect_seconds": 15.0
    },
    "postgresql://u:s3cr3t@db.example:5432/d?schema=public&statement_cache_size=0&socket_timeout=3": {"database": "d"},
    "postgres://u:s3cr3t@ec2-3-4-5-6.compute-1.amazonaws.com:5432/d8k?sslmode=no-verify": {"tls.mode": "require"},
    "postgres://u:s3cr3t@ec2.example/d8k?ssl=true&prepared_statements=false&uselibpqcompat=true": {
        "tls.mode": "require"
    },
    # RDS and Aurora: verified by a bundle; several hosts
    "postgresql://u:s3cr3t@x.rds.amazonaws.com/d?sslmode=verify-full&sslrootcert=/etc/rds/global-bundle.pem": {
        "tls.mode": "verify-full",
        "tls.root": "/etc/rds/global-bundle.pem",
    },
    "postgresql://u:s3cr3t@writer.example:5432,reader.example:5433/d?target_session_attrs=read-write": {
        "hosts": ("writer.example", "reader.example"),
        "ports": (5432, 5433),
        "session_attributes": "read-write",
    },
    "postgresql://u@h:6518/d?host=127.0.0.1,127.0.0.2": {
        "hosts": ("127.0.0.1", "127.0.0.2"),
        "ports": (6518, 6518),
    },
    "postgresql://u@h,i:6518/d?host=127.0.0.1,127.0.0.2": {"ports": (5432, 6518)},
    # Cloud SQL: sockets, in each of the ways that are printed
    "postgresql://u:s3cr3t@/d?host=/cloudsql/project:region:instance": {
        "hosts": ("/cloudsql/project:region:instance",)
    },
    "postgresql://u:s3cr3t@localhost/d?host=/cloudsql/project:region:instance": {
        "hosts": ("/cloudsql/project:region:instance",)
    },
    "postgresql://u:s3cr3t@%2Fcloudsql%2Fproject%3Aregion%3Ainstance/d": {
        "hosts": ("/cloudsql/project:region:instance",)
    },
    "postgresql://u:s3cr3t@db/d?sslcert=/c.pem&sslkey=/k.pem&sslcrl=/r.pem&sslsni=1&ssl_min_protocol_version=TLSv1.3": {
        "tls.certificate": "/c.pem",
        "tls.key": "/k.pem",
        "tls.revoked": "/r.pem",
        "tls.min_version": "TLSv1.3",
    },
    # Azure: the server's name in the user's, encoded or not
    "postgresql://ada%40server:s3cr3t@server.postgres.database.azure.com:5432/d?sslmode=require": {
        "user": "ada@server"
    },
    "postgresql://ada@server:s3cr3t@server.postgres.database.azure.com/d": {"user": "ada@server", "password": SECRET},
    # libpq's own
    "postgresql://u@[::1]:5433/d?sslmode=disable": {"hosts": ("::1",), "ports": (5433,), "tls.mode": "disable"},
    "postgresql://u@h/d?sslmode=allow": {"tls.mode": "allow"},
    "postgresql://u@h/d?sslmode=prefer&gssencmode=disable&client_encoding=utf8": {"tls.mode": "prefer"},
    "postgresql://u@h/d?sslmode=verify-ca&sslrootcert=/root.crt": {"tls.mode": "verify-ca"},
    "postgresql://u@h/d?sslrootcert=system": {"tls.root": "system", "tls.mode": None},
    "postgresql://u@h/d?keepalives=1&keepalives_idle=30&keepalives_interval=5&keepalives_count=3&tcp_user_timeout=9": {
        "application_name": "holdfast"
    },
    "postgresql://h/d?user=u&password=s3cr3t&application_name=press&fallback_application_name=no": {
        "user": "u",
        "password": SECRET,
        "application_name": "press",
    },
    "postgresql://h/d?fallback_application_name=press&connect_timeout=0": {
        "application_name": "press",
        "connect_seconds": None,
    },
    "postgresql://u@h/d?options=-c%20role%3Dpress%20-c%20statement_timeout%3D0": {
        "options": "-c role=press -c statement_timeout=0"
    },
    "postgresql:///d": {"hosts": (), "user": None, "database": "d"},
    "  postgresql://u@h/d\n": {"database": "d"},
    # Passwords
    "postgresql://u:p%40%2F%3A%23%3F%25%5B%5D%20s3cr3t@h/d": {"password": "p@/:#?%[] s3cr3t"},
    "postgresql://u:s3cr3t@[]#@h/d": {"password": "s3cr3t@[]#", "hosts": ("h",)},
    "postgresql://u:s3:cr3t@h/d": {"password": "s3:cr3t"},
}

REFUSED = {
    "postgresql+asyncpg://u:s3cr3t@h/d": "postgresql+asyncpg:// is for other clients: begin it with postgresql://",
    "postgresql+psycopg://u:s3cr3t@h/d": "postgresql+psycopg:// is for other clients",
    "jdbc:postgresql://h/d?user=u&password=s3cr3t": "jdbc:postgresql:// is for other clients",
    "mysql://u:s3cr3t@h/d": "write it as postgresql://user@host:5432/database",
    "host=h user=u password=s3cr3t": "write it as postgresql://user@host:5432/database",
    '"postgresql://u:s3cr3t@h/d"': "remove the quotes",
    "postgresql://u:s3cr3t/x@h/d": "percent-encoded",
    "postgresql://u:12?s3cr3t=1@h/d": "percent-encoded",
    "postgresql://u:x@y/s3cr3t@h/d": "percent-encoded",
    "postgresql://u:p@h/d#s3cr3t": "percent-encoded",
    "postgresql://u:s3cr3t%zz@h/d": "write % as %25",
    "postgresql://u:s3cr3t%ff@h/d": "write % as %25",
    "postgresql://u:s3cr3t%00@h/d": "NUL",
    "postgresql://u:s3cr3t": "a port is a number",
    "postgresql://u:s3cr3t@[::1:5432/d": "in brackets",
    "postgresql://u:s3cr3t@h:99999/d": "a port is a number",
    f"postgresql://u:s3cr3t@h:{'9' * 5000}/d": "a port is a number",  # which int() refuses with an error of its own
    "postgresql://u:s3cr3t@h,,i/d": "one of the hosts has no name",
    "postgresql://u:s3cr3t@h,i/d?port=1,2,3": "not as many ports as hosts",
    "postgresql://u:s3cr3t@h:1,i:2/d?host=j": "not as many ports as hosts",
    "postgresql://u:s3cr3t@h:1,i:2/d?host=j,k,l": "not as many ports as hosts",
    "postgresql://u:s3cr3t@h/d?sslmod=require": 'the parameter "sslmod" is not known: remove it',
    "postgresql://u:s3cr3t@h/d?search_path=x": "options=-c%20name%3Dvalue",
    "postgresql://h/d?password=x&s3cr3t=1": "a parameter is not known",
    "postgresql://u:s3cr3t@h/d?sslmode=on": "sslmode is one of disable, allow, prefer, require, verify-ca, verify-full",
    "postgresql://u:s3cr3t@h/d?sslmode=require&sslmode=disable": "given twice",
    "postgresql://u:s3cr3t@h/d?sslmode=require&sslrootcert=system": "write sslmode=verify-full",
    "postgresql://u:s3cr3t@h/d?sslmode=disable&channel_binding=require": "channel_binding=require needs encryption",
    "postgresql://u:s3cr3t@h/d?sslsni=0": 'the parameter "sslsni" can only be 1',
    "postgresql://u:s3cr3t@h/d?gssencmode=require": 'the parameter "gssencmode" can only be disable or prefer',
    "postgresql://u:s3cr3t@h/d?client_encoding=latin1": 'the parameter "client_encoding" can only be utf8',
    "postgresql://u:s3cr3t@h/d?hostaddr=1.2.3.4": "name the address as the host",
    "postgresql://u:s3cr3t@h/d?service=mine": "write what the service file says into the URL",
    "postgresql://u:s3cr3t@h/d?sslaccept=strict": "write sslmode=verify-full",
    "postgresql://u:s3cr3t@h/d?connect_timeout=soon": '"connect_timeout" is a number of seconds',
    "postgresql://u:s3cr3t@h/d?target_session_attrs=best": '"target_session_attrs" is one of any',
}


@pytest.mark.parametrize("url", ACCEPTED)
def test_accepted_connection_string(url: str) -> None:
    dsn = parse_dsn(url)

    parts = asdict(dsn)
    found = {**parts, **{f"tls.{name}": value for name, value in parts["tls"].items()}}
    assert {name: found[name] for name in ACCEPTED[url]} == ACCEPTED[url]
    assert SECRET not in repr(dsn)


@pytest.mark.parametrize("environment", ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"])
def test_channel_binding_never_lowers_what_the_environment_asks_for(
    environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSSLMODE", environment)
    mode = parse_dsn("postgresql://u@h/d?channel_binding=require").tls.mode
    assert mode == (None if environment in ("require", "verify-ca", "verify-full") else "require")
    assert parse_dsn("postgresql://u@h/d?sslmode=require&channel_binding=require").tls.mode == "require"


@pytest.mark.parametrize("url", REFUSED)
def test_refused_connection_string(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", url)
    with pytest.raises(InvalidInput, match=r"^HOLDFAST_DATABASE_URL is invalid: ") as refused:
        load_settings()

    said = str(refused.value)
    assert REFUSED[url] in said
    assert "\n" not in said
    assert SECRET not in said + repr(refused.value) + repr(refused.value.__cause__)


def test_second_url_is_named_in_its_own_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", "postgresql://h/d")
    monkeypatch.setenv("HOLDFAST_DATABASE_DIRECT_URL", "postgresql://h/d?foo=1")
    with pytest.raises(InvalidInput, match=r'^HOLDFAST_DATABASE_DIRECT_URL is invalid: the parameter "foo"'):
        load_settings()


def test_direct_url_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_DATABASE_DIRECT_URL", "postgresql://u:s3cr3t@h/d")
    with pytest.raises(InvalidInput, match="goes with HOLDFAST_DATABASE_URL") as refused:
        load_settings()
    assert SECRET not in str(refused.value)


def test_no_representation_shows_a_password() -> None:
    url = "postgresql://u:s3cr3t@h/d?sslkey=/k&sslpassword=s3cr3t"
    settings = Settings(database_url=url, database_direct_url=url)
    assert SECRET not in repr(settings) + str(settings) + repr(parse_dsn(url))
