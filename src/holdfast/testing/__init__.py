"""What the tests of your pipeline need: a provider of models on loopback that fails as it is told to.

It is a real HTTP server, so that what is tested is what runs: the connection, the time limits, the classification.
"""

from holdfast.testing.faults import (
    FAULTS,
    HANG,
    PAGE,
    RESET,
    TRUNCATED,
    absurd_usage,
    budget_exceeded,
    content_policy,
    context_length,
    rate_limited,
    refusal,
    server_error,
    wrong_json,
)
from holdfast.testing.stand_in import CannotListen, StandIn
from holdfast.testing.wire import KEY, BadCall, Call, Reply, Turn, Twist

__all__ = [
    "FAULTS",
    "HANG",
    "KEY",
    "PAGE",
    "RESET",
    "TRUNCATED",
    "BadCall",
    "Call",
    "CannotListen",
    "Reply",
    "StandIn",
    "Turn",
    "Twist",
    "absurd_usage",
    "budget_exceeded",
    "content_policy",
    "context_length",
    "rate_limited",
    "refusal",
    "server_error",
    "wrong_json",
]
