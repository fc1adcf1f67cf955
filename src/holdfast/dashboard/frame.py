"""What stands around every page: the way to the others, who is looking, light or dark."""

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import Request
from nicegui import ui

from holdfast.api.problems import Refused
from holdfast.dashboard.markup import tag
from holdfast.dashboard.viewer import Viewer, viewer_of
from holdfast.errors import HoldfastError

PAGES = {
    "/": "Flow",
    "/jobs": "Jobs",
    "/failures": "Failures",
    "/money": "Money",
    "/health": "Health",
    "/search": "Search",
}
FOR_OPERATORS = frozenset({"/money", "/health"})
RECHECK_SECONDS = 5.0
# A page asks several questions, and each may take what the database or an embedder is granted.
BUILD_SECONDS = 60.0
HEAD = """
<link rel="stylesheet" href="/dashboard/holdfast.css">
<script src="/dashboard/holdfast.js"></script>
"""
SKIP = tag("a", "Skip to the content", class_="skip", href="#content")
BRAND = tag("a", tag("img", src="/dashboard/holdfast.svg", alt=""), "Holdfast", class_="brand", href="/")


def page(path: str, *, title: str | None = None) -> ui.page:
    """Declares what stands at a path. The toolkit alone would give a page up after three seconds."""
    return ui.page(path, title=title, response_timeout=BUILD_SECONDS)


@contextmanager
def framed(request: Request, path: str, *, heading: str | None = None) -> Iterator[Viewer]:
    """The frame of the page at this path; what is put up inside stands in its middle.

    An error of ours, such as a job that is not there, is told instead of what failed.
    """
    viewer = viewer_of(request)
    ui.add_head_html(HEAD)
    with ui.element("header").classes("bar"):
        ui.html(SKIP + BRAND, sanitize=False).classes("brand-place")
        _ways(viewer, path)
        _corner(viewer)
    with ui.element("section").classes("content").props("id=content tabindex=-1"):
        ui.html(tag("h1", heading or PAGES[path]), sanitize=False)
        try:
            yield viewer
        except HoldfastError as error:
            ui.label(str(error)).classes("problem").props("role=alert")
    ui.timer(RECHECK_SECONDS, lambda: _recheck(viewer), immediate=False)


def _ways(viewer: Viewer, here: str) -> None:
    with ui.element("nav").props('aria-label="Pages"'):
        for path, name in PAGES.items():
            if viewer.is_operator or path not in FOR_OPERATORS:
                link = ui.link(name, path)
                if path == here:
                    link.classes("here").props("aria-current=page")


def _corner(viewer: Viewer) -> None:
    with ui.element("div").classes("viewer"):
        if viewer.organisation is not None:
            ui.label(viewer.organisation).classes("organisation")
        theme = ui.button(icon="contrast").props('flat round dense aria-label="Light or dark" title="Light or dark"')
        theme.on("click", js_handler="() => window.holdfast.changeTheme()")
        if viewer.has_key:
            leave = tag("form", tag("button", "Leave", class_="act"), method="post", action="/logout")
            ui.html(leave, sanitize=False)


async def _recheck(viewer: Viewer) -> None:
    """Send a viewer away whose key was revoked meanwhile."""
    try:
        await viewer.call.recheck()
    except Refused:
        ui.navigate.to("/login")
