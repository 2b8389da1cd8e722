"""A model server that quotes the first document it is shown, as slowly as it is told to, and counts its calls."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_DOCUMENT = re.compile(r"^Document: (.+)\n((?:  .*(?:\n|$))+)", re.MULTILINE)
_CHAT = "/chat/completions"
_QUESTION = re.compile(r"^Question: (.*)", re.MULTILINE)


class ScriptedModel:
    """Speaks the OpenAI-compatible chat protocol on the loopback; `asked` counts the calls for each question.

    `on_question` is called with each before it is answered.
    """

    def __init__(self, *, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.asked: Counter[str] = Counter()
        self.on_question: Callable[[str], object] = lambda question: None
        self._lock = threading.Lock()
        self._port = 0
        self._server: _Server | None = None
        self.start()

    @property
    def url(self) -> str:
        """The server's address, with its `/v1`."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def is_down(self) -> bool:
        """Whether connections are refused."""
        return self._server is None

    def start(self) -> None:
        """Listen, on the same port as before."""
        self._server = _Server(("127.0.0.1", self._port), _handler(self))
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Refuse connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Quote every passage of the first document that the last message shows."""
        prompt = request["messages"][-1]["content"]
        question = (_QUESTION.findall(prompt) or [""])[-1]
        if question:
            with self._lock:
                self.asked[question] += 1
        self.on_question(question)
        time.sleep(self.seconds)
        shown = _DOCUMENT.findall(prompt)
        name = shown[0][0] if shown else ""
        text = " ".join(" ".join(body.split()) for other, body in shown if other == name)
        message = {"role": "assistant", "content": f"{text}\nSources: {name}"}
        return {"model": "scripted", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A worker that was killed hangs up: that is what a benchmark of faults wants."""


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._reply({"data": [{"id": "scripted"}], "status": "ok"}, "/models", "/health")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._reply(model.complete(json.loads(body)) if self.path.endswith(_CHAT) else None, _CHAT)

        def _reply(self, value: object, *paths: str) -> None:
            if model.is_down:  # on a connection from before
                self.close_connection = True
                return
            body = json.dumps(value).encode()
            self.send_response(200 if self.path.endswith(paths) else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
