"""A certificate authority for a test, and a proxy in front of PostgreSQL that speaks TLS with what it issued."""

import asyncio
import contextlib
import ipaddress
import ssl
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.endpoint import Endpoint

SSL_REQUEST = struct.pack("!II", 8, 80877103)
CHUNK = 65536


@dataclass(frozen=True, slots=True)
class Issued:
    """The files of a certificate and of its key."""

    certificate: Path
    key: Path


class Authority:
    """Issues certificates into a folder; `root` is the file by which it is trusted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test Authority")])
        own = self._certificate(self._name, self._key, authority=True)
        self.root = self._write("root.crt", own.public_bytes(serialization.Encoding.PEM))

    def issue(self, host: str) -> Issued:
        """A certificate for a host or its address."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        issued = self._certificate(name, key, host=host)
        form, no_password = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        return Issued(
            self._write(f"{host}.crt", issued.public_bytes(serialization.Encoding.PEM)),
            self._write(f"{host}.key", key.private_bytes(serialization.Encoding.PEM, form, no_password)),
        )

    def _certificate(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, *, host: str = "", authority: bool = False
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if host:
            named = x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host)
            builder = builder.add_extension(x509.SubjectAlternativeName([named]), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def _write(self, name: str, content: bytes) -> Path:
        file = self._folder / name
        file.write_bytes(content)
        return file


class TlsProxy:
    """Listens on loopback while entered. `url` leads through it; `encrypted` counts connections that were encrypted.

    Without a certificate it declines encryption, as a server does that has none.
    """

    def __init__(self, upstream: str, issued: Issued | None, *, trusted_clients: Path | None = None) -> None:
        self._upstream = Endpoint.of(upstream)
        self._context: ssl.SSLContext | None = None
        if issued is not None:
            self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=trusted_clients)
            self._context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # as PostgreSQL itself: the authority is a plain one
            self._context.load_cert_chain(issued.certificate, issued.key)
            self._context.verify_mode = ssl.CERT_REQUIRED if trusted_clients else ssl.CERT_NONE
        self.encrypted = 0

    async def __aenter__(self) -> "TlsProxy":
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()

    def url(self, query: str, *, host: str = "127.0.0.1") -> str:
        port = self._listener.sockets[0].getsockname()[1]
        return f"postgresql://{self._upstream.user}:s3cr3t@{host}:{port}/{self._upstream.database}?{query}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError), contextlib.closing(writer):
            start = await reader.readexactly(8)
            if start == SSL_REQUEST and self._context is not None:
                writer.write(b"S")
                await writer.start_tls(self._context)
                self.encrypted += 1
                start = b""
            elif start == SSL_REQUEST:
                writer.write(b"N")
                start = b""
            inner_reader, inner_writer = await self._upstream.open()
            inner_writer.write(start)
            await asyncio.gather(_carry(reader, inner_writer), _carry(inner_reader, writer))


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError), contextlib.closing(writer):
        while data := await reader.read(CHUNK):
            writer.write(data)
