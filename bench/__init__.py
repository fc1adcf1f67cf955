"""Benchmarks: both sides of every ratio are measured in one run, on a durable server of their own."""
