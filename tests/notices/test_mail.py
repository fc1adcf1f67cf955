"""Alerts by mail: rows like every other delivery, tried again like every other, under one id."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.engine.overview import Overview
from holdfast.notices.mail import MailSender, MailServer
from holdfast.notices.receivers import Event
from tests.conftest import Clock
from tests.intake.certificates import contexts_for
from tests.notices.post_office import PostOffice
from tests.notices.telling import Telling

SENDER = "holdfast@example.org"


@pytest.fixture
async def office() -> AsyncIterator[PostOffice]:
    async with PostOffice() as office:
        yield office


def sender_for(office: PostOffice) -> MailSender:
    return MailSender(MailServer.from_url(f"smtp://{office.host}"), sender=SENDER)


async def arranged(telling: Telling, *addresses: str) -> None:
    await telling.receivers.mail_alerts_to(addresses, actor="settings")


async def test_alert_is_mailed_to_each_address(telling: Telling, office: PostOffice) -> None:
    await arranged(telling, "a@example.org", "b@example.org")
    await telling.happen(event=Event.ALERT_OPENED)
    await telling.happen(event=Event.JOB_DONE)
    await telling.deliver(mail=sender_for(office))
    assert sorted(letter["To"] for letter in office.letters) == ["a@example.org", "b@example.org"]
    letter = office.letters[0]
    assert (letter["From"], letter["Subject"]) == (SENDER, "[holdfast] alert.opened")
    assert '"number": 0' in letter.get_content()
    assert (await telling.delivery())["state"] == "delivered"


async def test_refused_letter_comes_again_under_the_same_id(telling: Telling, office: PostOffice, clock: Clock) -> None:
    await arranged(telling, "a@example.org")
    await telling.happen(event=Event.ALERT_CLOSED)
    office.refusals.append("451 come back later")
    await telling.deliver(mail=sender_for(office))
    delivery = await telling.delivery()
    assert (delivery["state"], delivery["last_status"]) == ("waiting", 451)
    assert "come back later" in delivery["last_answer"]
    await clock.advance(seconds=7)
    await telling.deliver(mail=sender_for(office))
    (letter,) = office.letters
    message_id = await telling.database.fetchval("select message_id from holdfast.notice")
    assert letter["Message-ID"] == f"<{message_id}@example.org>"


async def test_office_that_is_closed_is_a_failure(telling: Telling, office: PostOffice) -> None:
    await arranged(telling, "a@example.org")
    await telling.happen(event=Event.ALERT_OPENED)
    sender = sender_for(office)
    await office.__aexit__()
    await telling.deliver(mail=sender)
    delivery = await telling.delivery()
    assert delivery["state"] == "waiting"
    assert delivery["last_answer"].startswith("the mail server did not take it")


async def test_password_is_sent_only_over_tls(telling: Telling, office: PostOffice, tmp_path: Path) -> None:
    await arranged(telling, "a@example.org")
    await telling.happen(event=Event.ALERT_OPENED)
    server = MailServer.from_url(f"smtp://alerts:s%40fe@{office.host}")
    await telling.deliver(mail=MailSender(server, sender=SENDER))
    assert office.logins == []
    assert "offers no TLS" in (await telling.delivery())["last_answer"]
    theirs, ours = contexts_for("localhost", tmp_path)
    async with PostOffice(theirs) as private:
        server = MailServer.from_url(f"smtp://alerts:s%40fe@{private.host}")
        await telling.receivers.redeliver(1, actor="tester")
        await telling.deliver(mail=MailSender(server, sender=SENDER, tls=ours))
    assert len(private.letters) == 1
    assert private.logins == ["AUTH PLAIN AGFsZXJ0cwBzQGZl"]


async def test_settings_decide_who_gets_mail(telling: Telling) -> None:
    await arranged(telling, "a@example.org")
    await telling.happen(event=Event.ALERT_OPENED)
    await arranged(telling, "a@example.org")
    await arranged(telling, "b@example.org")
    living = [receiver.url for receiver in await telling.receivers.all() if receiver.disabled_at is None]
    assert living == ["b@example.org"]
    assert (await telling.delivery())["state"] == "given_up"
    acts = [row["action"] for row in await Overview(telling.database).audit()]
    assert acts == ["add mail", "end mail", "add mail"]


async def test_without_a_mail_server_mail_waits(telling: Telling) -> None:
    await arranged(telling, "a@example.org")
    await telling.happen(event=Event.ALERT_OPENED)
    await telling.deliver()
    assert (await telling.delivery())["attempts"] == 0


@pytest.mark.parametrize(
    ("url", "port", "tls"), [("smtp://mail", 587, False), ("smtps://mail", 465, True), ("smtp://mail:25", 25, False)]
)
def test_usual_ports_need_no_mention(url: str, port: int, tls: bool) -> None:
    server = MailServer.from_url(url)
    assert (server.host, server.port, server.tls, server.user) == ("mail", port, tls, None)
