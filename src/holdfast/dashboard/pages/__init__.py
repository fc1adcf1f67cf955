"""Every page, declared by being imported."""

from holdfast.dashboard.pages import document, flow, health, job, jobs, search

__all__ = ["document", "flow", "health", "job", "jobs", "search"]
