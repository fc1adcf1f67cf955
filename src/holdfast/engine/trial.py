"""A few jobs of many that failed alike, retried before the rest."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from holdfast.engine.attempt import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """`trying` until the first jobs show what becomes of them; then `passed`, and the rest is retried, or `stopped`.

    `ended_at` is None until nothing is left to do; `why` says why it was stopped.
    """

    trial_id: int
    state: Literal["trying", "passed", "stopped"]
    organisation: str | None
    filter: dict[str, Json]
    first_jobs: list[int]
    retried: int
    reason: str | None
    created_at: datetime
    created_by: str
    ended_at: datetime | None
    why: str | None
