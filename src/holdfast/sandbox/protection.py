"""Says, in an operator's words, which protection this system does not give against what untrusted files may do."""

from collections.abc import Iterable

# What is true where the system does not grant the protection of that name.
GAPS = {
    "network": "readers can reach the network",
    "files": "they can read every file of this user",
    "read_only": "they can write wherever this user can",
    "processes": "they see this user's other processes",
    "proc": "they can read the environment of other processes",
    "no_new_privileges": "they can start programs with more rights",
    "memory_limit": "their memory is watched, not limited",
    "process_limit": "their processes are counted, not limited",
    "descendants": "a program that they start and hide may outlive them",
}
# What is true instead where a system hides other processes: there no supervisor stays above a reader.
UNWATCHED_GAPS = {
    "memory_limit": "nothing limits their memory",
    "process_limit": "nothing limits how many processes they start",
}


def describe_gaps(granted: Iterable[str]) -> list[str]:
    """Return one line about all that is missing, or nothing if nothing is."""
    granted = set(granted)
    missing = [name for name in GAPS if name not in granted]
    if "processes" in granted:
        gaps = [UNWATCHED_GAPS.get(name, GAPS[name]) for name in missing]
    else:
        gaps = [GAPS[name] for name in missing if name != "proc"]  # which goes without saying
    if not gaps:
        return []
    advice = "read docs/install.md#protection before you take in files of strangers"
    return [f"the sandbox of file readers has gaps on this system: {', '.join(gaps)}; {advice}"]
