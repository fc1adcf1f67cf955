"""Puts the pages in front of the API, under one roof."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from nicegui import core, ui

from holdfast.dashboard.files import add_files
from holdfast.dashboard.sessions import ForViewers, Sessions, add_door
from holdfast.dashboard.wrong import tell_what_is_wrong

STATIC = Path(__file__).parent / "static"


def mount(api: FastAPI) -> None:
    """Serve the pages at / beside the API. Once per process: the toolkit has one application."""
    from holdfast.dashboard import pages  # noqa: F401  (declares every page)

    sessions = Sessions()
    add_door(api, sessions)
    add_files(api)
    tell_what_is_wrong()
    api.mount("/dashboard", StaticFiles(directory=STATIC), name="dashboard")
    # The toolkit lets every page of the web open its socket, unless told otherwise: this leaves those of our own host.
    core.sio.eio.cors_allowed_origins = None
    ui.run_with(
        api,
        title="Holdfast",
        favicon=STATIC / "holdfast.svg",
        dark=None,
        language="en-US",
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=10.0,
        show_welcome_message=False,
    )
    api.add_middleware(ForViewers, doorkeeper=lambda: api.state.doorkeeper, sessions=sessions)
