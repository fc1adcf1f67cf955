"""`python -m holdfast.testing`: the stand-in as a process, for trying settings by hand or from another language."""

import argparse
import asyncio
from contextlib import suppress

from holdfast.testing import FAULTS, KEY, CannotListen, StandIn


async def serve(port: int, faults: list[str]) -> None:
    """Say where it is, then answer until interrupted. The first calls meet these faults, in their order."""
    async with StandIn(port=port) as provider:
        provider.script(*(FAULTS[name] for name in faults))
        print(f"serving on {provider.base_url} for the key {KEY}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m holdfast.testing", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="where to listen; by default a free port")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        choices=sorted(FAULTS),
        help="what the next call meets; repeat for the calls after it",
    )
    arguments = parser.parse_args()
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(serve(arguments.port, arguments.fault))
    except CannotListen as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
