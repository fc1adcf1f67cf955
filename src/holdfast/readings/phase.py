"""The phase that has a language model write a text from a prompt."""

from decimal import Decimal
from typing import Any

from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Connection
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Save
from holdfast.providers.answers import Answers, answer_key
from holdfast.providers.asking import Asking, Question
from holdfast.providers.language_model import LanguageModel, Prompt
from holdfast.written import Form, Written

REQUEST = Form(what="prompt", main="prompt", others=("instructions",))
INSTRUCTION = "Write the text that the material asks for. Answer with the text only."
ANSWER_TOKENS = 4_000


class Generate:
    """Pays once for a text, however many attempts it takes; only a job that is reset has another one written."""

    def __init__(self, store: ArtifactStore, model: LanguageModel, answers: Answers) -> None:
        self.provider = model.provider
        self._model = model
        self._answers = answers
        self._requests = Written(store, REQUEST)

    async def run(self, attempt: Attempt) -> Done:
        """Safe to repeat: what was answered is remembered, and the text is stored with the attempt or not at all."""
        request = await self._requests.read(attempt)
        document = attempt.document
        prompt = Prompt("\n\n".join((INSTRUCTION, request.get("instructions", ""))).strip(), "", request["prompt"])
        wanted = [document.id, attempt.run, prompt.instruction, prompt.question]
        key = answer_key(self._model.provider or "", self._model.name, wanted)
        asking = Asking(self._answers, attempt)
        asked = await asking.ask({key: self._question(prompt)})
        text = asked.answers[key]
        return Done(
            output={"characters": len(text)},
            save=_store(attempt, text, self._model.name),
            cost_usd=asked.cost_usd,
        )

    def estimate_usd(self, attempt: Attempt) -> Decimal:
        """What the text may cost at most."""
        prompt = Prompt(INSTRUCTION, "", "x" * self._requests.bytes_of(attempt))
        return self._model.estimate_usd(prompt, most_tokens=ANSWER_TOKENS)

    def _question(self, prompt: Prompt) -> Question:
        async def ask() -> tuple[Any, Decimal]:
            answer = await self._model.answer(prompt, most_tokens=ANSWER_TOKENS)
            return answer.text, answer.cost_usd

        return Question(ask)


def _store(attempt: Attempt, text: str, model: str) -> Save:
    async def save(connection: Connection) -> None:
        await connection.execute("select holdfast.store_reading($1, $2, $3)", attempt.document.id, text, model)

    return save
