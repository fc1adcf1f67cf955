"""Webhooks over HTTP: an organisation's key manages its own, and nobody reads a secret twice."""

import pytest

from holdfast.access.keys import Scope
from tests.api.serving import Served, problem

URL = "https://example.org/hooks"


async def test_webhook_is_added_listed_and_removed(api: Served) -> None:
    added = await api.client.post("/v1/webhooks", json={"url": URL, "events": ["job.done"]})
    assert added.status_code == 201
    assert added.json()["secret"].startswith("whsec_")
    (listed,) = (await api.client.get("/v1/webhooks")).json()
    assert (listed["url"], listed["events"], listed["organisation"]) == (URL, ["job.done"], None)
    assert added.json()["secret"] not in str(listed)
    number = added.json()["receiver_id"]
    assert (await api.client.delete(f"/v1/webhooks/{number}")).json() == {"removed": number}
    assert (await api.client.get("/v1/webhooks")).json() == []
    assert problem(await api.client.delete(f"/v1/webhooks/{number}"), 404) == "not_found"


async def test_without_a_choice_it_is_told_of_everything(api: Served) -> None:
    await api.client.post("/v1/webhooks", json={"url": URL})
    (listed,) = (await api.client.get("/v1/webhooks")).json()
    assert len(listed["events"]) == 7


async def test_delivery_is_shown_and_sent_again(api: Served) -> None:
    number = (await api.client.post("/v1/webhooks", json={"url": URL})).json()["receiver_id"]
    items = [{"organisation": "acme", "body": {}}]
    await api.app.database.execute("select holdfast.announce('job.done', $1)", items)
    await api.app.database.execute("update holdfast.delivery set state = 'given_up', next_at = null")
    (given_up,) = (await api.client.get(f"/v1/webhooks/{number}/deliveries?state=given_up")).json()
    answer = await api.client.post(f"/v1/deliveries/{given_up['delivery_id']}/redeliver")
    assert answer.status_code == 202
    (waiting,) = (await api.client.get(f"/v1/webhooks/{number}/deliveries")).json()
    assert (waiting["state"], waiting["message_id"]) == ("waiting", given_up["message_id"])


@pytest.mark.parametrize(
    "body", [{}, {"url": "ftp://example.org"}, {"url": URL, "events": ["job.dune"]}, {"url": URL, "events": []}]
)
async def test_what_makes_no_sense_is_refused(api: Served, body: dict[str, object]) -> None:
    assert problem(await api.client.post("/v1/webhooks", json=body), 422) == "invalid_input"
    assert await api.count("receiver") == 0


async def test_key_of_an_organisation_adds_for_that_one(guarded: Served) -> None:
    acme, other = await guarded.key("acme"), await guarded.key("other")
    made = await guarded.client.post("/v1/webhooks", json={"url": URL}, headers=acme)
    (listed,) = (await guarded.client.get("/v1/webhooks", headers=acme)).json()
    assert listed["organisation"] == "acme"
    assert (await guarded.client.get("/v1/webhooks", headers=other)).json() == []
    number = made.json()["receiver_id"]
    assert problem(await guarded.client.delete(f"/v1/webhooks/{number}", headers=other), 404) == "not_found"
    foreign = {"url": URL, "organisation": "other"}
    assert problem(await guarded.client.post("/v1/webhooks", json=foreign, headers=acme), 404) == "not_found"


async def test_lesser_keys_manage_nothing(guarded: Served) -> None:
    writer = await guarded.key("acme", Scope.WRITE)
    assert problem(await guarded.client.post("/v1/webhooks", json={"url": URL}, headers=writer), 403) == "forbidden"
    assert problem(await guarded.client.get("/v1/webhooks", headers=writer), 403) == "forbidden"
    assert (await guarded.client.get("/v1/alerts", headers=writer)).json() == []


async def test_alerts_are_shown_with_their_figures(api: Served) -> None:
    await api.app.database.execute(
        "insert into holdfast.incident (kind, scope, opened_at, message, figures)"
        " values ('stuck_jobs', 'everything', now(), '3 jobs', '{\"jobs\": 3}')"
    )
    (alert,) = (await api.client.get("/v1/alerts")).json()
    assert (alert["kind"], alert["figures"], alert["closed_at"]) == ("stuck_jobs", {"jobs": 3}, None)
