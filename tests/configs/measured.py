"""Reading an archive in a child that tells how much memory it took."""

import resource
from collections.abc import Callable
from typing import Any

from holdfast.configs.child import read_configs


def read_and_measure(payload: dict[str, Any], progress: Callable[[float], None]) -> dict[str, Any]:
    """The isolated side, with `growth_mb`: its peak of memory beyond that before it began."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = read_configs(payload, progress)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**answer, "growth_mb": (after - before) / 1024}
