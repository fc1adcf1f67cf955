"""As much of S3 as keeping small objects takes: a real server on loopback that can be made to hang."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

NOTHING_LISTED = b'<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>'


class ObjectStore(ThreadingHTTPServer):
    """Keeps what is put. While it hangs it takes requests and answers none."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.objects: dict[str, bytes] = {}
        self.waiting = 0
        self._working = threading.Event()
        self._working.set()

    @property
    def url(self) -> str:
        """For HOLDFAST_STORAGE_URL."""
        return f"s3://weather?endpoint=http://127.0.0.1:{self.server_address[1]}&region=us-east-1"

    def hang(self) -> None:
        self._working.clear()

    def resume(self) -> None:
        self._working.set()

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing of callers who did not wait for their answer."""

    def wait(self) -> None:
        if not self._working.is_set():
            self.waiting += 1
            self._working.wait()


class _Request(BaseHTTPRequestHandler):
    server: ObjectStore
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.wait()
        self.server.objects[urlsplit(self.path).path] = body
        self._say(200)

    def do_HEAD(self) -> None:
        self.server.wait()
        found = self.server.objects.get(urlsplit(self.path).path)
        self._say(404 if found is None else 200, b"" if found is None else found)

    def do_GET(self) -> None:
        """Lists: nothing is ever being removed here, and nobody reads."""
        self.server.wait()
        self._say(200, NOTHING_LISTED)

    def _say(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", formatdate(usegmt=True))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def keeping_objects() -> Iterator[ObjectStore]:
    """An object store that listens while the block runs."""
    with ObjectStore() as store:
        threading.Thread(target=store.serve_forever, daemon=True).start()
        try:
            yield store
        finally:
            store.resume()
            store.shutdown()
