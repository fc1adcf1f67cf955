"""The parts of the page that tells what failed."""
