"""A web server on loopback that is busy when it is first asked: a link that fails, and recovers on retry."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE = b"""<!doctype html><html lang="en"><head><title>Ferry timetable</title></head><body><h1>Ferry timetable</h1>
<p>The ferry to Gull Island leaves the south basin at 06:40, 09:15, 13:05 and 18:30.</p>
<h2>Sundays</h2>
<p>On Sundays the first ferry leaves at 09:15. Bicycles travel free of charge, as long as there is room.</p>
</body></html>"""


@contextmanager
def busy_at_first() -> Iterator[str]:
    """The address of a page that is answered with 503 once, then served."""
    asked = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            busy = not asked.is_set()
            asked.set()
            self.send_response(503 if busy else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", "0" if busy else str(len(PAGE)))
            self.end_headers()
            if not busy:
                self.wfile.write(PAGE)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing: the terminal is for the tour."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/timetable.html"
        finally:
            server.shutdown()
