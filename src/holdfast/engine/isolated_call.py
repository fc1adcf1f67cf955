"""One isolated call: the worker's conversation with a child, from request to answer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.engine import strict_json
from holdfast.engine.autopsy import explain_end, explain_false_start
from holdfast.engine.classify import Failure, restore
from holdfast.engine.isolated_child import HEADER_BYTES, frame_size
from holdfast.engine.isolated_process import IsolatedProcess
from holdfast.errors import CorruptInput, InvalidInput, PhaseError, TimedOut, TooLarge

ProgressListener = Callable[[float], None]

_MEGABYTE = 1 << 20
# For an answer already in the pipe when its writer has ended.
_LAST_WORDS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a child answered. If it is `worn`, another call in it would be worse off than in a fresh one."""

    value: object
    error: PhaseError | None
    worn: bool

    def unwrap(self) -> object:
        """Return the value, or raise the error that the function raised."""
        if self.error is not None:
            raise self.error
        return self.value


@dataclass(frozen=True, slots=True)
class Call:
    """A call that has been made ready: `request` is what a child reads."""

    name: str
    request: bytes
    wall_seconds: float
    output_mb: int
    on_progress: ProgressListener | None

    async def run(self, process: IsolatedProcess) -> Answer:
        """Return the answer. Whatever is raised instead means that the child must not be asked again."""
        try:
            async with asyncio.timeout(self.wall_seconds) as clock:
                process.ask(self.request)
                return await self._converse(process)
        except TimeoutError as error:
            if not clock.expired():
                raise
            text = f"{self.name} was stopped after its {self.wall_seconds:g} s"
            raise TimedOut(text, error_code="TIMEOUT") from error

    async def _converse(self, process: IsolatedProcess) -> Answer:
        """Return the answer, or raise what explains why there is none."""
        reading = asyncio.create_task(self._read_answer(process))
        ending = asyncio.create_task(process.exited.wait())
        try:
            await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                process.kill()
                await asyncio.wait({reading}, timeout=_LAST_WORDS_SECONDS)
            answer = reading.result() if reading.done() else None
            return answer or await self._explain_silence(process)
        finally:
            reading.cancel()
            ending.cancel()

    async def _explain_silence(self, process: IsolatedProcess) -> Answer:
        exit_code = await process.exit_code()
        if process.granted is None:
            raise explain_false_start(self.name, exit_code=exit_code, last_words=process.errors.text())
        raise explain_end(self.name, exit_code=exit_code, last_words=process.errors.text())

    async def _read_answer(self, process: IsolatedProcess) -> Answer | None:
        """Return the answer after all that comes before it, or None if the child fell silent."""
        room = self.output_mb * _MEGABYTE
        try:
            while True:
                size = frame_size(await process.answers.readexactly(HEADER_BYTES))
                room -= size
                if room < 0:
                    text = f"{self.name} answered with more than {self.output_mb} MB"
                    raise TooLarge(text, error_code="OUTPUT_LIMIT")
                answer = self._take(await process.answers.readexactly(size), process)
                if answer is not None:
                    return answer
        except asyncio.IncompleteReadError:
            return None
        except InvalidInput as error:
            text = f"{self.name} broke and answered nonsense: {error}"
            raise CorruptInput(text, error_code="NONSENSE_ANSWER") from error

    def _take(self, body: bytes, process: IsolatedProcess) -> Answer | None:
        match strict_json.load(body):
            case {"granted": list(granted)} if process.granted is None:
                process.granted = tuple(map(str, granted))
            case {"call": int(number)} if number < process.calls:
                pass  # a thread that outlived its call
            case {"call": process.calls, "progress": float() | int() as fraction}:
                if self.on_progress is not None:
                    self.on_progress(min(max(0.0, fraction), 1.0))
            case {"call": process.calls, "result": value, "worn": bool(worn)}:
                return Answer(value, None, worn)
            case {"call": process.calls, "failure": account, "worn": bool(worn)}:
                return Answer(None, restore(Failure.from_json(account)), worn)
            case _:
                raise InvalidInput("the frame holds neither progress nor result nor failure")
        return None
