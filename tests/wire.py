"""A model's wire on loopback: an HTTP server that answers as a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler], None]


def completion(text: str, *, finish: str = "stop", model: str = "tiny") -> dict[str, Any]:
    """A chat completion as OpenAI-compatible servers send it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return {"model": model, "choices": [choice], "usage": {"prompt_tokens": 11, "completion_tokens": 7}}


def send_json(value: object, *, status: int = 200) -> Reply:
    """Answer with a JSON body."""
    return send_bytes(json.dumps(value).encode(), status=status)


def send_bytes(body: bytes, *, status: int = 200, promised: int | None = None) -> Reply:
    """Answer with bytes; `promised` above their number means that the connection breaks in the middle."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(promised or len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


class Wire:
    """Replies are used in order; the last one stays for every further request."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def say(self, *replies: Reply) -> None:
        self.replies = list(replies)

    def _next(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A connector that hangs up on a slow reply is what such a test wants to see."""


@contextmanager
def serving() -> Iterator[Wire]:
    """Serve on a free port of the loopback until the test ends."""
    wire = Wire()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            send_json({"data": [{"id": "tiny"}]})(self)

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            wire.requests.append(json.loads(self.rfile.read(length)))
            wire.headers.append(dict(self.headers))
            wire._next()(self)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    wire.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield wire
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
