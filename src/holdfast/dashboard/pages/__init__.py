"""Every page, declared by being imported."""

from holdfast.dashboard.pages import flow

__all__ = ["flow"]
