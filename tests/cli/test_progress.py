"""Long work says how far it is, on stderr only, and short work says nothing."""

import os
import pty
import subprocess
import sys

LONG_WORK = """
import time
from holdfast.cli import progress as shown
shown.QUIET_SECONDS = shown.TERMINAL_SECONDS = shown.PLAIN_SECONDS = {seconds}
with shown.progress("jobs done") as tell:
    for done in (500, 1000, 1500):
        time.sleep(0.02)
        tell(done)
print("ended")
"""


def plain(seconds: float) -> subprocess.CompletedProcess[str]:
    code = LONG_WORK.format(seconds=seconds)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)


def test_elsewhere_each_word_is_a_plain_line() -> None:
    ended = plain(0.01)
    assert ended.stderr.splitlines() == ["500 jobs done", "1,000 jobs done", "1,500 jobs done"]
    assert ended.stdout == "ended\n"


def test_short_work_says_nothing() -> None:
    assert plain(60).stderr == ""


def test_on_a_terminal_one_line_moves_and_is_gone_at_the_end() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", LONG_WORK.format(seconds=0.01)], stderr=theirs, stdout=subprocess.PIPE
    ):
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 1024):
                seen += part
        except OSError:  # how a pseudo terminal says that nobody is left on the other side
            pass
    os.close(ours)
    assert b"1,500 jobs done" in seen
    assert b"\n" not in seen
    assert seen.endswith(b"\r\x1b[K")
