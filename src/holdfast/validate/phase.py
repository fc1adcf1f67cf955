"""The phase that refuses texts not worth the phases that follow, and finds out their language."""

import asyncio
import codecs

from holdfast.artifacts.store import ArtifactStore
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done
from holdfast.errors import EmptyText
from holdfast.standard import Carried
from holdfast.validate.language import guess_language
from holdfast.validate.measures import Measures, measure
from holdfast.validate.rules import Rules


class Validate:
    """Reads the text once, in flat memory. Same text and rules, same verdict; every refusal is permanent."""

    def __init__(self, store: ArtifactStore, rules: Rules) -> None:
        self._store = store
        self._rules = rules

    async def run(self, attempt: Attempt) -> Done:
        """Hand the document on with its language and what its owner should know about its text."""
        carried = Carried.from_json(attempt.input)
        measures = await asyncio.to_thread(self._measure, attempt, carried)
        warnings = self._rules.check_content(measures)
        # What a document says about itself is often a template's; what its words say is better, when they say anything.
        language = await asyncio.to_thread(guess_language, measures.sample) or _code(carried.language)
        warnings += self._rules.check_language(language)
        found = carried.adding(*warnings, language=language, characters=measures.characters)
        return Done(output=found.to_json(), metadata=found.kept_in(attempt.document.metadata))

    def _measure(self, attempt: Attempt, carried: Carried) -> Measures:
        if carried.text is None:
            raise EmptyText("the document has no text: check what its extraction said", error_code="EMPTY")
        stream = self._store.stream(attempt.document.organisation, carried.text)
        measures = Measures()
        for measures in measure(codecs.iterdecode(stream, "utf-8", errors="replace")):
            self._rules.check_length(measures)
            attempt.progress(measures.characters / max(1, carried.characters))
            if attempt.ended:
                break
        return measures


def _code(declared: str | None) -> str | None:
    """The language of a declaration such as en-GB."""
    return declared.replace("_", "-").partition("-")[0].lower() or None if declared else None
