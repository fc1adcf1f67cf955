"""Runs the bare side of a comparison in a process of its own, which prints how many seconds it took."""

import asyncio
import sys


async def run_bare(module: str, *arguments: str) -> float:
    """Seconds, as `python -m MODULE ARGUMENTS` measured and printed them."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"{module} ended with {process.returncode}: see its output above")
    return float(printed)
