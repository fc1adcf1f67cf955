"""Says why an isolated child ended without an answer."""

import signal

from holdfast.errors import CorruptInput, PhaseError, ResourceExhausted
from holdfast.sandbox.supervisor import MEMORY_EXIT, MOST_PROCESSES, PROCESSES_EXIT

# How Rust, C++ and the C library say that memory ran out, before they abort.
_OUT_OF_MEMORY_WORDS = ("memory allocation of", "bad_alloc", "Cannot allocate memory", "out of memory")
_SHOWN_CHARACTERS = 400
_KEPT_CHARACTERS = 1_000


def explain_end(name: str, *, exit_code: int, last_words: str) -> PhaseError:
    """Return the error for a child that ended with `exit_code`, negative for a signal, saying `last_words`.

    Exhaustion may pass on another machine or day; a crash is taken to be the document's doing.
    """
    details = {"function": name, "exit_code": exit_code, "last_words": last_words[-_KEPT_CHARACTERS:]}
    if exit_code == MEMORY_EXIT or _speaks_of_memory(exit_code, last_words):
        text = "it took more memory than there is for one document: split the file into smaller ones"
        return ResourceExhausted(text, error_code="MEMORY_LIMIT", details=details)
    if exit_code == PROCESSES_EXIT:
        text = (
            f"it started more than {MOST_PROCESSES} processes, more than there are for one document: do not repeat it"
        )
        return ResourceExhausted(text, error_code="PROCESS_LIMIT", details=details)
    if exit_code in (-signal.SIGPROF, -signal.SIGXCPU):
        text = "it took more processor time than there is for one document: split the file into smaller ones"
        return ResourceExhausted(text, error_code="CPU_LIMIT", details=details)
    if exit_code == -signal.SIGKILL:
        text = (
            "its reader was killed by the system, most likely for its use of memory: split the file if it happens again"
        )
        return ResourceExhausted(text, error_code="KILLED", details=details)
    ending = _describe(exit_code)
    text = f"its reader {ending} on this document{_quote(last_words)}"
    return CorruptInput(text, error_code="CRASHED", details=details)


def explain_false_start(name: str, *, exit_code: int, last_words: str) -> PhaseError:
    """Return the error for a child that ended before it could look at any document."""
    details = {"exit_code": exit_code, "last_words": last_words[-_KEPT_CHARACTERS:]}
    text = f"no child process could be started for {name}: it {_describe(exit_code)}{_quote(last_words)}"
    return ResourceExhausted(text, error_code="CHILD_NOT_STARTED", details=details)


def _speaks_of_memory(exit_code: int, last_words: str) -> bool:
    return exit_code == -signal.SIGABRT and any(words in last_words for words in _OUT_OF_MEMORY_WORDS)


def _describe(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended with exit code {exit_code} and no answer"
    try:
        return f"died of {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"died of signal {-exit_code}"


def _quote(last_words: str) -> str:
    return f"; its last words: {last_words[-_SHOWN_CHARACTERS:]}" if last_words else ""
