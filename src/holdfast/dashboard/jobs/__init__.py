"""What the pages of jobs are made of."""
