"""A model's wire on loopback: an HTTP server that answers as a test tells it to, and remembers what it was asked.

It speaks the OpenAI-compatible way (`completion`) and Claude's (`message`); what it says about itself is in its
`pages`, and whether it can hold a model to a schema in `constrains`; `probe` answers the question after that instead.
"""

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


def message(*blocks: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    """An answer as Claude's API sends it."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 40, "output_tokens": 9},
    }


def send_json(value: object, *, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
    """Answer with a JSON body."""
    return send_bytes(json.dumps(value).encode(), status=status, headers=headers)


def send_bytes(
    body: bytes, *, status: int = 200, promised: int | None = None, headers: dict[str, str] | None = None
) -> Reply:
    """Answer with bytes; `promised` above their number means that the connection breaks in the middle."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(promised or len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def _obeying(schema: dict[str, Any]) -> str | None:
    """What a model writes that is held to a schema which leaves it no choice; None where there is one."""
    words = [item.get("enum") for item in schema["properties"].values()]
    if any(word is None for word in words):
        return None
    return json.dumps({name: word[0] for name, word in zip(schema["properties"], words, strict=True)})


class Wire:
    """Replies are used in order; the last one stays for every further request."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.constrains = False
        self.probe: Reply | None = None
        self.pages: dict[str, Any] = {"/v1/models": {"data": [{"id": "tiny"}]}}
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def say(self, *replies: Reply) -> None:
        self.replies = list(replies)

    def page(self, path: str) -> Reply:
        """What the server says about itself at a path."""
        found = self.pages.get(path)
        return send_json({}, status=404) if found is None else found if callable(found) else send_json(found)

    def reply(self, asked: dict[str, Any]) -> Reply:
        """The answer to a question for a model."""
        schema = asked.get("response_format", {}).get("json_schema", {}).get("schema")
        probed = _obeying(schema) if schema else None
        if probed is not None:
            return self.probe or send_json(completion(probed if self.constrains else "Hello!"))
        self.requests.append(asked)
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
            wire.page(self.path)(self)

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            asked = json.loads(self.rfile.read(length))
            wire.headers.append(dict(self.headers))
            generates = self.path.endswith(("/chat/completions", "/messages"))
            (wire.reply(asked) if generates else wire.page(self.path))(self)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    wire.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield wire
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
