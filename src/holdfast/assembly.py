"""Chooses the tools by the settings and puts them into the hands of the phases."""

from contextlib import AsyncExitStack
from copy import copy
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from holdfast.artifacts.store import ArtifactStore
from holdfast.chunk.phase import Chunk
from holdfast.chunk.section import Sizes
from holdfast.configs.phase import ParseConfigs
from holdfast.db.connection import Database
from holdfast.embed.phase import Embed
from holdfast.engine.isolated_children import Children
from holdfast.engine.isolation import Limits
from holdfast.engine.journal import Journal
from holdfast.engine.pipeline import Pipeline
from holdfast.errors import InvalidInput
from holdfast.extract.page import PageWords
from holdfast.extract.phase import Extract, ExtractLimits
from holdfast.extract.recordings import Recordings
from holdfast.graph.adding import AddToGraph
from holdfast.graph.by_model import ModelExtractor
from holdfast.graph.extracting import ExtractGraph
from holdfast.graph.mentions import MentionExtractor
from holdfast.intake.fetching import Fetcher
from holdfast.intake.intake import Intake
from holdfast.intake.media_type import sniff_stream
from holdfast.intake.old_files import OldFiles
from holdfast.intake.phase import Store
from holdfast.network.addresses import Guard
from holdfast.network.pinned import PinnedClient
from holdfast.notices.delivering import Deliverer
from holdfast.notices.delivery import Sender
from holdfast.notices.mail import MailSender, MailServer
from holdfast.notices.webhook import SECONDS as WEBHOOK_SECONDS
from holdfast.notices.webhook import WebhookSender
from holdfast.pipelines import (
    GENERATION_SECONDS,
    READINGS,
    STORIES,
    Dealings,
    Rooms,
    configs,
    documents,
    readings,
    stories,
)
from holdfast.providers.answers import Answers
from holdfast.providers.deepgram import DeepgramModel, DeepgramTranscriber, deepgram_api
from holdfast.providers.embedder import Embedder
from holdfast.providers.gathering import Gathering
from holdfast.providers.http import Endpoint, HttpApi
from holdfast.providers.light import LightEmbedder
from holdfast.providers.openai_embedder import EmbeddingModel, OpenAIEmbedder
from holdfast.providers.openai_model import ChatModel, OpenAIModel
from holdfast.providers.openai_transcriber import OpenAITranscriber, TranscriptionModel
from holdfast.providers.pricing import USUAL_TRANSCRIBERS, chat_prices, embedding_prices, usd_per_minute
from holdfast.providers.transcriber import Transcriber
from holdfast.providers.whisper import WhisperTranscriber
from holdfast.publish.phase import Publish
from holdfast.readings.phase import Generate
from holdfast.sandbox.platform import usable_cores
from holdfast.settings import Settings
from holdfast.stories.phase import Enrich
from holdfast.validate.phase import Validate
from holdfast.validate.rules import Rules

_MEGABYTE = 1 << 20
_TRANSCRIPTION_SECONDS = 1500.0
_LLM_SECONDS = 120.0
# Longer than the phase has: what hangs ends by the phase's limit, the same as check_timeouts() would end it.
_GENERATION_SECONDS = GENERATION_SECONDS + 30
_DEEPGRAM_URL = "https://api.deepgram.com/v1"
_OPENAI_URL = "https://api.openai.com/v1"


class Assembly:
    """The tools and the built-in pipelines for one set of settings. Nothing is loaded or opened before it is used."""

    def __init__(self, settings: Settings, database: Database, resources: AsyncExitStack) -> None:
        self._settings = settings
        self._database = database
        self._resources = resources

    def with_database(self, database: Database) -> "Assembly":
        """The same tools, opened once, for another view of the database."""
        _ = self.store, self.embedder, self.children, self.journal
        other = copy(self)
        other._database = database
        return other

    @cached_property
    def store(self) -> ArtifactStore:
        """Where artifacts are."""
        return ArtifactStore(self._settings.artifacts_url)

    @cached_property
    def journal(self) -> Journal:
        """Where paid results are while the database is away."""
        return Journal(self._settings.home / "journal")

    @cached_property
    def embedder(self) -> Embedder:
        """What turns texts into vectors."""
        return self._light_embedder() if self._settings.embedder == "light" else self._remote_embedder()

    def embedder_named(self, name: str) -> Embedder:
        """One of the embedders that the settings describe, by its kind or its full name."""
        known = {"light": self._light_embedder(), "openai": self._remote_embedder()}
        for kind, embedder in known.items():
            if name in (kind, embedder.name):
                return embedder
        names = ", ".join(f"{kind} ({embedder.name})" for kind, embedder in known.items())
        raise InvalidInput(f'the settings describe no embedder "{name}": name one of {names}')

    def _light_embedder(self) -> Embedder:
        # What of it holds the interpreter's lock lets no more than these run side by side.
        return Gathering(LightEmbedder(), at_once=min(usable_cores(), 8))

    def _remote_embedder(self) -> Embedder:
        settings = self._settings
        model = EmbeddingModel(
            settings.embedder_model,
            settings.embedder_dimension,
            shortens=settings.embedder_shortens,
            prices=embedding_prices(settings, settings.embedder_model),
        )
        api = self._api("embedder", settings.embedder_base_url, settings.embedder_api_key)
        return Gathering(OpenAIEmbedder(api, model), at_once=4)

    @cached_property
    def transcriber(self) -> Transcriber | None:
        """What turns recordings into text, if anything does."""
        settings = self._settings
        key = settings.transcriber_api_key
        match settings.transcriber:
            case "openai":
                endpoint = _endpoint("transcriber", settings.transcriber_base_url or _OPENAI_URL, key)
                api = self._kept(HttpApi(replace(endpoint, seconds=_TRANSCRIPTION_SECONDS)))
                name = settings.transcriber_model or USUAL_TRANSCRIBERS["openai"]
                return OpenAITranscriber(api, TranscriptionModel(name, usd_per_minute(settings, name)))
            case "deepgram":
                endpoint = _endpoint("transcriber", settings.transcriber_base_url or _DEEPGRAM_URL, key)
                name = settings.transcriber_model or USUAL_TRANSCRIBERS["deepgram"]
                model = DeepgramModel(name, usd_per_minute(settings, name))
                api = self._kept(deepgram_api(replace(endpoint, seconds=_TRANSCRIPTION_SECONDS)))
                return DeepgramTranscriber(api, model)
            case "whisper":
                return self._whisper()
            case "auto":
                return self._whisper() if find_spec("faster_whisper") else None
            case "none":
                return None

    @cached_property
    def language_model(self) -> OpenAIModel | None:
        """What situates chunks, finds facts and tells stories, if one is configured."""
        return self._chat_model(_LLM_SECONDS)

    @cached_property
    def _writer(self) -> OpenAIModel | None:
        return self._chat_model(_GENERATION_SECONDS)

    def _chat_model(self, seconds: float) -> OpenAIModel | None:
        settings = self._settings
        if settings.llm_base_url is None or settings.llm_model is None:
            return None
        prices = chat_prices(settings, settings.llm_model)
        endpoint = _endpoint("language model", settings.llm_base_url, settings.llm_api_key)
        api = self._kept(HttpApi(replace(endpoint, seconds=seconds)))
        return OpenAIModel(api, ChatModel(settings.llm_model, prices, settings.llm_tokens_field))

    def intake(self, pipeline: str) -> Intake:
        """The way in. Raises InvalidInput where a built-in pipeline lacks its settings."""
        self.check_offered(pipeline)
        return Intake(self._database, self.store, pipeline=pipeline, most_bytes=self._most_bytes)

    def pipelines(self) -> tuple[Pipeline, ...]:
        """Every built-in pipeline whose tools are there."""
        return (self.documents(), self.configs(), *self._written_by_model())

    def check_offered(self, *pipelines: str) -> None:
        """Raise InvalidInput that names the missing settings for a built-in pipeline that is not there without them."""
        for name in pipelines:
            if name in (STORIES, READINGS) and self.language_model is None:
                raise InvalidInput(
                    f'pipeline "{name}" needs a language model: set HOLDFAST_LLM_BASE_URL and HOLDFAST_LLM_MODEL, and '
                    "HOLDFAST_LLM_API_KEY if the service asks for a key"
                )

    def documents(self) -> Pipeline:
        """The documents pipeline with its tools."""
        return documents(self._rooms(), self._dealings())

    def configs(self) -> Pipeline:
        """The pipeline of configuration archives with its tools."""
        parse = ParseConfigs(self._database, self.store, self.children)
        return configs(self._storing(), parse, reading=usable_cores())

    def _written_by_model(self) -> tuple[Pipeline, ...]:
        model, writer = self.language_model, self._writer
        if model is None or writer is None:
            return ()
        settings, answers = self._settings, Answers(self._database, self.journal)
        page = PageWords(self.store, self.children)
        enrich = Enrich(self.store, model, answers, page=page, estimate_usd=settings.stories_estimate_usd)
        return (
            stories(enrich, daily_limit_usd=settings.stories_daily_usd),
            readings(Generate(self.store, writer, answers)),
        )

    def _rooms(self) -> Rooms:
        settings, database, store = self._settings, self._database, self.store
        answers = Answers(database, self.journal)
        limits = ExtractLimits(file_bytes=self._most_bytes, characters=settings.most_text_mb * _MEGABYTE)
        return Rooms(
            store=self._storing(),
            extract=Extract(
                database, store, self.children, Recordings(self.transcriber, answers), sniff_stream, limits=limits
            ),
            validate=Validate(store, Rules(languages=frozenset(settings.languages))),
            chunk=Chunk(
                database,
                store,
                sizes=Sizes(settings.chunk_tokens, settings.chunk_overlap_tokens),
                model=self._model_for("context"),
                answers=answers,
                calls_at_once=settings.llm_calls_at_once,
            ),
            embed=Embed(database, self.embedder),
            extract_graph=ExtractGraph(
                database,
                store,
                ModelExtractor(model, answers, calls_at_once=settings.llm_calls_at_once)
                if (model := self._model_for("graph"))
                else MentionExtractor(),
            ),
            add_to_graph=AddToGraph(database, store),
            publish=Publish(database),
        )

    def _storing(self) -> Store:
        return Store(self.store, self._database, Fetcher(self._guard), most_bytes=self._most_bytes)

    def _dealings(self) -> Dealings:
        context, graph = self._model_for("context"), self._model_for("graph")
        return Dealings(
            transcriber=self.transcriber.provider if self.transcriber else None,
            embedder=self.embedder.provider,
            context_model=context.provider if context else None,
            graph_model=graph.provider if graph else None,
            extracting=usable_cores(),
        )

    def old_files(self, folder: Path) -> OldFiles:
        """The files of an installation that is taken over."""
        return OldFiles(self._database, self.store, folder, most_bytes=self._most_bytes)

    @cached_property
    def deliverer(self) -> Deliverer:
        """What tells receivers: webhooks, and addresses for mail if the settings name a mail server."""
        settings = self._settings
        client = PinnedClient(self._guard, connect_seconds=WEBHOOK_SECONDS, read_seconds=WEBHOOK_SECONDS)
        senders: dict[str, Sender] = {"webhook": WebhookSender(client)}
        if settings.smtp_url is not None and settings.alert_mail_from is not None:
            server = MailServer.from_url(settings.smtp_url.get_secret_value())
            senders["mail"] = MailSender(server, sender=settings.alert_mail_from)
        return Deliverer(self._database, senders)

    @cached_property
    def children(self) -> Children:
        """The processes that open untrusted files; to be entered before a worker runs."""
        limits = Limits(memory_mb=1536, cpu_seconds=600, wall_seconds=1500, file_mb=4096)
        return Children(limits=limits, at_most=usable_cores(), hidden=self._hidden)

    @property
    def _hidden(self) -> tuple[Path, ...]:
        """What an untrusted file must never see: every organisation's artifacts, and the database's files."""
        folders = [self._settings.home]
        if self._settings.artifacts_url.startswith("file://"):
            folders.append(Path(unquote(urlsplit(self._settings.artifacts_url).path)))
        return tuple(folders)

    def _whisper(self) -> WhisperTranscriber:
        return WhisperTranscriber(hidden=self._hidden, folder=self._settings.transcriber_folder, threads=usable_cores())

    @property
    def _guard(self) -> Guard:
        return Guard(allowed=frozenset(self._settings.allowed_hosts))

    def _model_for(self, task: str) -> OpenAIModel | None:
        return self.language_model if task in self._settings.llm_tasks else None

    @property
    def _most_bytes(self) -> int:
        return self._settings.most_file_mb * _MEGABYTE

    def _api(self, provider: str, base_url: str, key: SecretStr | None) -> HttpApi:
        return self._kept(HttpApi(_endpoint(provider, base_url, key)))

    def _kept(self, api: HttpApi) -> HttpApi:
        self._resources.push_async_callback(api.close)
        return api


def _endpoint(provider: str, base_url: str, key: SecretStr | None) -> Endpoint:
    return Endpoint(provider, base_url, key.get_secret_value() if key else None)
