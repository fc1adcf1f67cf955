"""The phase that has a language model tell the story of an article."""

from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Connection
from holdfast.engine import strict_json
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Save
from holdfast.providers.answers import Answers, answer_key
from holdfast.providers.asking import Asking, Question
from holdfast.providers.language_model import LanguageModel, Prompt
from holdfast.stories.telling import ANSWER_TOKENS, INSTRUCTION, SCHEMA, Story, read_story
from holdfast.written import Form, Page, Written

ARTICLE = Form(what="article", main="text", others=("title", "url", "published_at"))
FEWEST_USD = Decimal("0.003")


class Enrich:
    """Asks once about the same words, whichever article, attempt or run they come in. A refusal is the article's."""

    def __init__(
        self,
        store: ArtifactStore,
        model: LanguageModel,
        answers: Answers,
        *,
        page: Page | None = None,
        estimate_usd: Decimal = FEWEST_USD,
    ) -> None:
        self.provider = model.provider
        self._model = model
        self._answers = answers
        self._articles = Written(store, ARTICLE, page=page)
        self._fewest_usd = estimate_usd

    async def run(self, attempt: Attempt) -> Done:
        """Safe to repeat: what was answered is remembered, and the story is stored with the attempt or not at all."""
        article = await self._articles.read(attempt)
        prompt = Prompt(INSTRUCTION, "", "\n\n".join(article[name] for name in ("title", "text") if name in article))
        key = answer_key(self._model.provider or "", self._model.name, [INSTRUCTION, SCHEMA, prompt.question])
        asking = Asking(self._answers, attempt)
        asked = await asking.ask({key: self._question(prompt)})
        story = read_story(asked.answers[key])
        return Done(
            output=_summary(story), save=_store(attempt, story, article, self._model.name), cost_usd=asked.cost_usd
        )

    def estimate_usd(self, attempt: Attempt) -> Decimal:
        """What a story is said to cost, or more where so long an article may cost more at this model's prices."""
        prompt = Prompt(INSTRUCTION, "", "x" * self._articles.bytes_of(attempt))
        return max(self._fewest_usd, self._model.estimate_usd(prompt, most_tokens=ANSWER_TOKENS))

    def _question(self, prompt: Prompt) -> Question:
        async def ask() -> tuple[Any, Decimal]:
            answer = await self._model.answer(prompt, schema=SCHEMA, most_tokens=ANSWER_TOKENS)
            return answer.value, answer.cost_usd

        return Question(ask)


def _summary(story: Story) -> dict[str, Any]:
    return {"category": story.category, "severity": story.severity, "entities": len(story.entity_counter)}


def _store(attempt: Attempt, story: Story, article: Mapping[str, str], model: str) -> Save:
    about = {name: article[name] for name in ARTICLE.others if name in article}
    body = strict_json.dump({**about, **asdict(story), "model": model}).decode()

    async def save(connection: Connection) -> None:
        await connection.execute("select holdfast.store_story($1, $2::text::jsonb)", attempt.document.id, body)

    return save
