"""The way into the open network, and nowhere else."""
