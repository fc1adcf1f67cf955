"""Holdfast carries documents through phases that cost money and fail often, and loses nothing."""
