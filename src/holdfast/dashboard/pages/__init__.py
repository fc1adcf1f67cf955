"""Every page, declared by being imported."""

from holdfast.dashboard.pages import document, failures, flow, health, job, jobs, money, search

__all__ = ["document", "failures", "flow", "health", "job", "jobs", "money", "search"]
