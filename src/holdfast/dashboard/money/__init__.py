"""The parts of the page about money."""
