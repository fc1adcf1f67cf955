"""The parts of the page about workers, the doctor and the database."""
