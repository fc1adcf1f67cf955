"""Ends a worker process whose event loop no longer runs: others take its jobs over, a supervisor starts it anew."""

import faulthandler
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.engine import events
from holdfast.engine.worker import Worker

EXIT_CODE = 70
LOOKS_PER_LEASE = 20


@contextmanager
def watched(worker: Worker, lease_seconds: float) -> Iterator[None]:
    """Watch the worker from a thread while the block runs. For the main thread only.

    A handler that never yields stops the loop but not this thread. One that also keeps the interpreter's lock, as a
    runaway regular expression does, stops this thread too: then the kernel's timer ends the process, by SIGPROF. That
    timer counts processor time, so that a process that was merely suspended is left alone.
    """
    faulthandler.register(signal.SIGPROF, all_threads=True, chain=True)
    over = threading.Event()
    threading.Thread(target=_watch, args=(worker, lease_seconds, over), name="watchdog", daemon=True).start()
    try:
        yield
    finally:
        over.set()
        signal.setitimer(signal.ITIMER_PROF, 0)


def _watch(worker: Worker, lease_seconds: float, over: threading.Event) -> None:
    pause = lease_seconds / LOOKS_PER_LEASE
    last_tick = worker.ticked_at
    silent_seconds = -math.inf  # nothing is late before the first tick: connecting takes as long as it takes
    while silent_seconds < lease_seconds:
        signal.setitimer(signal.ITIMER_PROF, 2 * lease_seconds)
        began_at = time.monotonic()
        if over.wait(pause):
            signal.setitimer(signal.ITIMER_PROF, 0)
            return
        # After a suspension only one pause counts: the loop gets its chance before it is judged.
        silent_seconds += min(time.monotonic() - began_at, 2 * pause)
        if worker.ticked_at != last_tick:
            silent_seconds, last_tick = 0.0, worker.ticked_at
    _end(worker, silent_seconds)


def _end(worker: Worker, silent_seconds: float) -> None:
    events.worker_stalled(worker.id, silent_seconds)
    logging.shutdown()
    faulthandler.dump_traceback(file=sys.stderr, all_threads=True)  # shows which handler it is
    os._exit(EXIT_CODE)
