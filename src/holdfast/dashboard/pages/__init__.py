"""Every page, declared by being imported."""

from holdfast.dashboard.pages import flow, job, jobs

__all__ = ["flow", "job", "jobs"]
