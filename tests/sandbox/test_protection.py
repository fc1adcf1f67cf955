"""The gaps that an operator is told of are those that there are."""

from holdfast.sandbox.protection import GAPS, describe_gaps


def test_memory_and_processes_are_called_watched_only_where_somebody_watches() -> None:
    (supervised,) = describe_gaps(GAPS.keys() - {"processes", "memory_limit", "process_limit"})
    assert "their memory is watched, not limited, their processes are counted, not limited;" in supervised
    (alone,) = describe_gaps(GAPS.keys() - {"memory_limit", "process_limit"})
    assert "system: nothing limits their memory, nothing limits how many processes they start;" in alone
    assert describe_gaps(GAPS) == []
