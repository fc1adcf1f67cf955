"""The names of traces and spans: worked out, not drawn, so that workers who never met share a trace."""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of one installation. Jobs are numbered from 1 in each, and several may share a collector."""

    installation: str

    def trace(self, job_id: int) -> int:
        """The trace that all attempts of a job are in."""
        return self._number(16, "trace", job_id)

    def job(self, job_id: int) -> int:
        """The span that stands for the job: the parent of its attempts."""
        return self._number(8, "job", job_id)

    def attempt(self, job_id: int, token: int) -> int:
        """The span of an attempt. No two claims of a job have the same token."""
        return self._number(8, "attempt", job_id, token)

    def traceparent(self, job_id: int, token: int) -> str:
        """What a call made by an attempt carries, as W3C Trace Context has it."""
        return f"00-{self.trace(job_id):032x}-{self.attempt(job_id, token):016x}-01"

    def _number(self, size: int, *parts: object) -> int:
        text = "/".join(map(str, (self.installation, *parts)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big")
