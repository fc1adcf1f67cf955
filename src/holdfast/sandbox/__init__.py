"""Keeps what an untrusted document can do to a process of its own. Nothing here knows jobs."""
