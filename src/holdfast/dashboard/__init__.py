"""The pages that operators open: each shows what `overview` and `search` answer, and acts through `control`."""
