"""A pipeline at work for the overview's tests: free, paid and permanent endings within reach."""

from decimal import Decimal

from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.policy import ENRICHMENT, Policy
from holdfast.errors import AnswerNotJson, CorruptInput, NetworkTimeout
from tests.engine.scenario import Scenario, no_work

STEADY = Policy.retrying("steady", (60, 300))

WATCHED = Pipeline(
    "documents",
    starts="uploaded",
    phases=(
        Phase(
            name="extract",
            handler=no_work,
            queued="parse_queued",
            working="parsing",
            done="parsed",
            component="parse",
            policy=STEADY,
        ),
        Phase(
            name="enrich",
            handler=no_work,
            done="enriched",
            component="enrichment",
            policy=ENRICHMENT,
            provider="model",
            budget="stories",
        ),
        Phase(name="embed", handler=no_work, done="complete", component="embedding"),
    ),
)

RESET = NetworkTimeout("connection reset by peer")
DAMAGED = CorruptInput("no end of file")
GARBLED = AnswerNotJson("no JSON in the answer", cost_usd=Decimal("0.002"))


async def finish(scenario: Scenario, cost_usd: str = "0.003") -> int:
    """Carry the job that is next through every phase and give back its id."""
    attempt = await scenario.settle_once("extract")
    await scenario.settle_once("enrich", Done(cost_usd=Decimal(cost_usd)))
    await scenario.settle_once("embed")
    return attempt.job_id
