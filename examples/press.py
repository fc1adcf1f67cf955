"""The example's pipeline: fetch an article, pay a flaky service to summarise it, store the summary."""

import json
import os
import urllib.request
from http.client import IncompleteRead
from urllib.error import HTTPError

from service import PRICE_USD

from holdfast.db.connection import Connection
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.policy import Policy
from holdfast.errors import AnswerNotJson, ContentPolicyViolation, NetworkTimeout

HASTY = Policy.retrying("hasty", (0.5, 1, 2))


def fetch(attempt: Attempt) -> Done:
    """Get the article's text. An article that is gone is a 404, which nobody retries."""
    with urllib.request.urlopen(f"{os.environ['PRESS_URL']}/{attempt.document.source_name}", timeout=10) as answer:
        return Done({"text": answer.read().decode()})


def enrich(attempt: Attempt) -> Done:
    """Have it summarised. Whatever comes back wrong raises an error of ours or one that Holdfast recognises."""
    body = _bought_answer(attempt)
    try:
        summary = json.loads(body)["summary"]
    except ValueError as error:
        raise AnswerNotJson(f"the service answered {body[:20]!r}, not JSON", cost_usd=PRICE_USD) from error
    return Done({"summary": summary}, cost_usd=PRICE_USD)


def _bought_answer(attempt: Attempt) -> bytes:
    headers = {
        "Article": attempt.document.source_name,
        "Job": str(attempt.job_id),
        "Token": str(attempt.token),
    }
    request = urllib.request.Request(
        f"{os.environ['PRESS_URL']}/summaries", json.dumps(attempt.input).encode(), headers
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bytes(answer.read())
    except IncompleteRead as error:
        raise NetworkTimeout("the service's answer broke off", cost_usd=PRICE_USD) from error
    except HTTPError as error:
        if error.code == 400:
            raise ContentPolicyViolation("the service refuses this content") from error
        raise


async def store(attempt: Attempt) -> Done:
    """Keep the summary, in the very transaction that settles this attempt: written once, or not at all."""

    async def save(connection: Connection) -> None:
        sql = "insert into public.story (document_id, summary) values ($1, $2::jsonb ->> 'summary')"
        await connection.execute(sql, attempt.document.id, attempt.input)

    return Done(save=save)


press = Pipeline(
    "press",
    starts="announced",
    phases=(
        Phase(name="fetch", handler=fetch, done="fetched", component="newspaper", policy=HASTY),
        Phase(
            name="enrich",
            handler=enrich,
            done="enriched",
            component="summary service",
            policy=HASTY,
            concurrency=4,
            provider="summaries",
            budget="summaries",
            estimate_usd=PRICE_USD,
            paid=True,
        ),
        Phase(name="store", handler=store, done="stored", component="story table", policy=HASTY),
    ),
)
