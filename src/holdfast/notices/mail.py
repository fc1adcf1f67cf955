"""Notices by mail, through the server that the settings name."""

import asyncio
import json
import smtplib
import ssl
from dataclasses import dataclass, field
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from holdfast.engine.redaction import clean_text
from holdfast.notices.delivery import Delivered, Failed, Outcome, Taken

SECONDS = 10.0
_PORTS = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """Where mail is handed in. With `tls` the connection begins with it; without, it is used where it is offered."""

    host: str
    port: int
    tls: bool
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def from_url(cls, url: str) -> "MailServer":
        """Read `smtp://user:password@host:port`, or `smtps://…`, as the settings have checked it."""
        parts = urlsplit(url)
        return cls(
            host=parts.hostname or "",
            port=parts.port or _PORTS[parts.scheme],
            tls=parts.scheme == "smtps",
            user=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password or ""),
        )


class MailSender:
    """Hands in one letter per notice and address. The letter's id is the notice's, however often it is tried."""

    def __init__(self, server: MailServer, *, sender: str, tls: ssl.SSLContext | None = None) -> None:
        self._server = server
        self._sender = sender
        self._tls = tls or ssl.create_default_context()

    async def send(self, taken: Taken) -> Outcome:
        """Delivered means that the mail server took it."""
        try:
            await asyncio.to_thread(self._hand_in, _letter(taken, sender=self._sender))
        except smtplib.SMTPResponseException as error:
            return Failed(f"the mail server answered {error.smtp_code}: {_said(error.smtp_error)}", error.smtp_code)
        except (smtplib.SMTPException, OSError) as error:
            return Failed(f"the mail server did not take it: {clean_text(str(error) or type(error).__name__)}")
        return Delivered()

    def _hand_in(self, letter: EmailMessage) -> None:
        with self._connected() as connection:
            if self._server.user is not None:
                if not isinstance(connection.sock, ssl.SSLSocket):
                    raise smtplib.SMTPNotSupportedError("it offers no TLS, without which the password is not sent")
                connection.login(self._server.user, self._server.password or "")
            connection.send_message(letter)

    def _connected(self) -> smtplib.SMTP:
        server = self._server
        if server.tls:
            return smtplib.SMTP_SSL(server.host, server.port, timeout=SECONDS, context=self._tls)
        connection = smtplib.SMTP(server.host, server.port, timeout=SECONDS)
        connection.ehlo()
        if connection.has_extn("starttls"):
            connection.starttls(context=self._tls)
        return connection


def _letter(taken: Taken, *, sender: str) -> EmailMessage:
    told = json.loads(taken.payload)
    about = told["data"]
    letter = EmailMessage()
    letter["From"] = sender
    letter["To"] = taken.url
    letter["Date"] = taken.sent_at
    letter["Message-ID"] = f"<{taken.message_id}@{sender.rpartition('@')[2].rstrip('>')}>"
    letter["Subject"] = f"[holdfast] {taken.event}" + (f": {about['kind']}" if "kind" in about else "")
    letter.set_content(f"{about.get('message', '')}\n\n{json.dumps(told, indent=2, ensure_ascii=False)}\n".lstrip())
    return letter


def _said(answer: bytes | str) -> str:
    return clean_text(answer.decode(errors="replace") if isinstance(answer, bytes) else answer)
