"""Where everything stands, for people, monitors and Prometheus."""

from decimal import Decimal
from pathlib import Path

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from holdfast.api.metrics import BUDGET_FIGURES
from holdfast.engine.pipeline import Done
from holdfast.engine.queue import Lane, Queue, Submission, submit
from holdfast.errors import CorruptInput
from tests.api.serving import Served


async def test_processing_status_shows_queues_and_failures(api: Served) -> None:
    await _lively(api)
    standing = (await api.client.get("/v1/admin/processing-status")).json()
    assert standing["queues"]["store"] == {"queued": 1, "processing": 0, "failed": 1}
    assert standing["queues"]["extract"] == {"queued": 1, "processing": 0, "failed": 0}
    assert standing["stuck_jobs"] == []
    (failure,) = standing["recent_failures"]
    assert (failure["phase"], failure["pipeline"]) == ("store", "documents")
    assert "torn" in str(failure["error"])


async def test_processing_status_of_a_key_is_of_its_organisation(guarded: Served) -> None:
    await _lively(guarded)
    headers = await guarded.key("other")
    standing = (await guarded.client.get("/v1/admin/processing-status", headers=headers)).json()
    assert standing["queues"]["store"] == {"queued": 0, "processing": 0, "failed": 0}
    assert standing["recent_failures"] == []


async def test_budgets_and_holds_are_listed(api: Served) -> None:
    control = api.app.control("test")
    await control.set_budget("stories", Decimal("12.50"))
    await control.hold({"organisation": "acme"}, reason="maintenance")
    (budget,) = (await api.client.get("/v1/budgets")).json()
    assert (budget["name"], budget["limit_usd"], budget["spent_usd"]) == ("stories", 12.5, 0.0)
    (hold,) = (await api.client.get("/v1/holds")).json()
    assert (hold["reason"], hold["organisation"], hold["until"]) == ("maintenance", "acme", None)


async def test_probes_answer_without_a_key(guarded: Served) -> None:
    for address in ("/healthz", "/readyz"):
        response = await guarded.client.get(address)
        assert (response.status_code, response.json()) == (200, {"status": "ok"})


async def test_metrics_are_what_prometheus_reads(api: Served) -> None:
    await _lively(api)
    await Queue(api.app.database).register_worker("other", host="test", pid=2, lanes=[Lane("documents", "store", 1)])
    families = await _families(api)
    jobs = {
        (sample.labels["phase"], sample.labels["state"]): sample.value for sample in families["holdfast_jobs"].samples
    }
    assert (jobs["store", "queued"], jobs["store", "failed"], jobs["extract", "queued"]) == (1, 1, 1)
    ended = {
        (sample.labels["phase"], sample.labels["outcome"], sample.labels["category"]): sample.value
        for sample in families["holdfast_attempts_last_hour"].samples
    }
    assert ended == {("store", "completed", ""): 1, ("store", "failed", "corrupt_input"): 1}
    (spent,) = families["holdfast_cost_last_day_usd"].samples
    assert spent.value == 0.25
    workers = {sample.labels["condition"]: sample.value for sample in families["holdfast_workers"].samples}
    assert workers == {"alive": 2, "silent": 0}
    serving = {sample.labels["phase"]: sample.value for sample in families["holdfast_phase_workers"].samples}
    assert (serving["store"], serving["extract"]) == (2, 0)
    quantiles = [sample.labels["quantile"] for sample in families["holdfast_attempt_seconds_last_hour"].samples]
    assert quantiles == ["0.5", "0.95", "1"]


async def test_metrics_show_budgets_and_holds(api: Served) -> None:
    control = api.app.control("test")
    await control.set_budget("stories", Decimal("12.50"))
    await control.hold({"organisation": "acme"}, reason="maintenance")
    families = await _families(api)
    budget = {name: families[f"holdfast_budget_{name}_usd"].samples[0].value for name in BUDGET_FIGURES}
    assert budget == {"limit": 12.5, "reserved": 0, "spent": 0, "left": 12.5}
    assert families["holdfast_holds"].samples[0].value == 1


async def test_every_metric_is_on_the_page_about_watching(api: Served) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "watch-it.md").read_text()
    assert [name for name in await _families(api) if f"`{name}`" not in page] == []


async def _families(api: Served) -> dict[str, Metric]:
    response = await api.client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    return {family.name: family for family in text_string_to_metric_families(response.text)}


async def _lively(api: Served) -> None:
    """One job that waits, one that failed for good, one that came a phase further."""
    items = [Submission(organisation="acme") for _ in range(3)]
    await submit(api.app.database, "documents", items)
    worker = await api.worker()
    first, second = await worker.claim("store", 2)
    await worker.fail([first], CorruptInput("torn"))
    await worker.settle([second], Done(cost_usd=Decimal("0.25")))
