"""What is shown where there is no page, and where one broke."""

from fastapi import Request
from fastapi.responses import PlainTextResponse, Response
from nicegui import Client, app, ui
from nicegui.page import page

from holdfast.dashboard.frame import HEAD, framed
from holdfast.dashboard.markup import link
from holdfast.dashboard.words import nothing_yet


def tell_what_is_wrong() -> None:
    """Answer unknown paths and broken pages in our own words. The error itself is in the log and not shown."""
    app.add_exception_handler(404, _missing)
    app.on_page_exception(_broken)


async def _missing(request: Request, _: Exception) -> Response:
    if not hasattr(request.state, "viewer"):  # a file of the toolkit
        return PlainTextResponse("not found", 404)
    with Client(page(""), request=request) as client, framed(request, "", heading="There is no such page"):
        ui.html(nothing_yet("Nothing is kept at this address.", "Go to the ", link("/", "flow"), "."), sanitize=False)
    return client.build_response(request, 404)


def _broken() -> None:
    ui.add_head_html(HEAD)
    home = link("/", "go to the flow")
    ui.html(nothing_yet("This page broke. Why is in the log.", "Load it again, or ", home, "."), sanitize=False)
