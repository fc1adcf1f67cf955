"""How many retries a job has used of those that its failure allows, in words."""


def told_retries(used: int, most: int) -> str:
    """Retries count for the phase, whatever failed; how many are allowed is the last failure's."""
    if used <= most:
        return f"{used} of {most} used"
    return f"{used} used for other failures; this one allows {most or 'none'}"
