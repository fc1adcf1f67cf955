"""Traces for whoever collects them. The engine knows nothing of it: this room listens to its events."""
