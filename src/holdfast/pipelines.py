"""Every built-in pipeline, a page to read at a glance."""

from dataclasses import dataclass
from decimal import Decimal

from holdfast.chunk.phase import Chunk
from holdfast.configs.phase import ParseConfigs
from holdfast.embed.phase import Embed
from holdfast.engine.pipeline import Phase, Pipeline, minutes
from holdfast.engine.policy import ENRICHMENT, FETCHING, GENERATION, PATIENT, STORAGE
from holdfast.extract.phase import Extract
from holdfast.graph.adding import AddToGraph
from holdfast.graph.extracting import ExtractGraph
from holdfast.intake.phase import Store
from holdfast.publish.phase import Publish
from holdfast.readings.phase import Generate
from holdfast.stories.phase import Enrich
from holdfast.validate.phase import Validate

DOCUMENTS = "documents"
CONFIGS = "configs"
STORIES = "stories"
READINGS = "readings"
LANGUAGE_MODEL_BUDGET = "language_model"
STORIES_BUDGET = "stories"
GENERATION_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Rooms:
    """The phases of the documents pipeline, each with its tools in hand."""

    store: Store
    extract: Extract
    validate: Validate
    chunk: Chunk
    embed: Embed
    extract_graph: ExtractGraph
    add_to_graph: AddToGraph
    publish: Publish


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealings:
    """Whom phases deal with outside, by the name that a hold takes; None is nobody.

    `extracting`: how many documents are read at once.
    """

    transcriber: str | None = None
    embedder: str | None = None
    context_model: str | None = None
    graph_model: str | None = None
    extracting: int = 2


def documents(rooms: Rooms, dealings: Dealings) -> Pipeline:
    """Files, links and recordings, until their knowledge can be searched."""
    return Pipeline(
        DOCUMENTS,
        starts="pending_upload",
        phases=(
            Phase(
                name="store",
                handler=rooms.store.run,
                done="uploaded",
                component="storage",
                policy=FETCHING,
                limit_seconds=minutes(15),
            ),
            Phase(
                name="extract",
                handler=rooms.extract.run,
                queued="parse_queued",
                working="parsing",
                done="parsed",
                component="parse",
                policy=PATIENT,
                limit_seconds=minutes(30),
                # While some are read, others are fetched and stored.
                concurrency=2 * dealings.extracting,
                provider=dealings.transcriber,
                paid=dealings.transcriber is not None,
            ),
            Phase(
                name="validate",
                handler=rooms.validate.run,
                done="parse_validated",
                component="validation",
                limit_seconds=minutes(10),
            ),
            Phase(
                name="chunk",
                handler=rooms.chunk.run,
                working="chunking",
                done="chunks_stored",
                component="chunking",
                limit_seconds=minutes(60),
                concurrency=4,
                provider=dealings.context_model,
                paid=dealings.context_model is not None,
                budget=LANGUAGE_MODEL_BUDGET if dealings.context_model else None,
                estimate_usd=rooms.chunk.estimate_usd,
            ),
            Phase(
                name="embed",
                handler=rooms.embed.run,
                queued="embedding_queued",
                working="embedding_in_progress",
                done="embeddings_stored",
                component="embedding",
                limit_seconds=minutes(60),
                provider=dealings.embedder,
                paid=dealings.embedder is not None,
            ),
            Phase(
                name="graph_extract",
                handler=rooms.extract_graph.run,
                queued="graph_queued",
                working="graph_extracting",
                done="graph_extracted",
                component="graph",
                limit_seconds=minutes(30),
                concurrency=4,
                provider=dealings.graph_model,
                paid=dealings.graph_model is not None,
                budget=LANGUAGE_MODEL_BUDGET if dealings.graph_model else None,
                estimate_usd=rooms.extract_graph.estimate_usd,
            ),
            Phase(
                name="graph_add",
                handler=rooms.add_to_graph.run,
                working="graph_adding",
                done="graph_stored",
                component="graph",
                limit_seconds=minutes(30),
                concurrency=4,
            ),
            Phase(
                name="publish",
                handler=rooms.publish.run,
                working="publishing",
                done="complete",
                component="publishing",
            ),
        ),
        progress={
            "pending_upload": 5,
            "store": 7,
            "uploaded": 10,
            "parse_queued": 20,
            "parsing": 25,
            "parsed": 30,
            "validate": 32,
            "parse_validated": 35,
            "chunking": 45,
            "chunks_stored": 50,
            "embedding_queued": 60,
            "embedding_in_progress": 70,
            "embeddings_stored": 80,
            "graph_queued": 82,
            "graph_extracting": 85,
            "graph_extracted": 88,
            "graph_adding": 92,
            "graph_stored": 95,
            "publishing": 98,
            "complete": 100,
        },
    )


def configs(store: Store, parse: ParseConfigs, *, reading: int) -> Pipeline:
    """Archives of .conf files, until every setting can be asked for. `reading`: how many archives are read at once."""
    return Pipeline(
        CONFIGS,
        starts="PENDING",
        phases=(
            Phase(
                # Not "store" again: where a phase's name is given alone, it means one phase.
                name="receive",
                handler=store.run,
                working="PENDING",
                done="STORED",
                component="storage",
                policy=STORAGE,
                limit_seconds=minutes(15),
            ),
            Phase(
                name="parse",
                handler=parse.run,
                working="PARSING",
                done="COMPLETE",
                component="parse",
                policy=STORAGE,
                limit_seconds=minutes(60),
                concurrency=reading,
            ),
        ),
        progress={"PENDING": 5, "STORED": 10, "PARSING": 15, "COMPLETE": 100},
    )


def stories(enrich: Enrich, *, daily_limit_usd: Decimal) -> Pipeline:
    """Articles, until a language model has told their story."""
    return Pipeline(
        STORIES,
        starts="submitted",
        phases=(
            Phase(
                name="enrich",
                handler=enrich.run,
                queued="enrichment_queued",
                working="enriching",
                done="enriched",
                component="enrichment",
                policy=ENRICHMENT,
                # Longer than the model has for its answer: its silence is its failure, not the phase's.
                limit_seconds=minutes(5),
                provider=enrich.provider,
                paid=True,
                budget=STORIES_BUDGET,
                estimate_usd=enrich.estimate_usd,
                daily_limit_usd=daily_limit_usd,
            ),
        ),
        progress={"submitted": 10, "enrichment_queued": 20, "enriching": 50, "enriched": 100},
    )


def readings(generate: Generate) -> Pipeline:
    """Prompts, until a language model has written their text."""
    return Pipeline(
        READINGS,
        starts="requested",
        phases=(
            Phase(
                name="generating",
                handler=generate.run,
                done="generated",
                component="generation",
                policy=GENERATION,
                limit_seconds=GENERATION_SECONDS,
                provider=generate.provider,
                paid=True,
                budget=LANGUAGE_MODEL_BUDGET,
                estimate_usd=generate.estimate_usd,
            ),
        ),
        progress={"requested": 10, "generating": 50, "generated": 100},
    )
