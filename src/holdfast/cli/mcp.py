"""`holdfast mcp`: search for agents, spoken over standard input and output."""

from importlib.util import find_spec
from typing import Annotated

import typer

from holdfast.cli.options import an_organisation
from holdfast.cli.running import finish

Organisation = Annotated[
    str | None,
    typer.Option(
        "--org",
        callback=an_organisation,
        help="The only organisation it sees; default: HOLDFAST_ORGANISATION.",
        show_default=False,
    ),
]


def mcp(org: Organisation = None) -> None:
    """Serve search to an agent over MCP, on standard input and output.

    Name this command in the agent's settings. It offers three tools that only read, and only one organisation: search,
    read on in a document, and look up what is known about it. Needs the extra "mcp".
    """

    async def work() -> None:
        from holdfast.app import open_app
        from holdfast.errors import InvalidInput
        from holdfast.extras import install
        from holdfast.settings import load_settings

        if find_spec("mcp") is None:
            raise InvalidInput(f"the extra mcp is not installed: run {install('mcp')}")
        from holdfast.agents.server import build

        settings = load_settings()
        async with open_app(settings) as app:
            await build(app, settings.organisation if org is None else org).run_stdio_async()

    finish(work)
