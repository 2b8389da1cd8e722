"""Broker, results and documents over TLS: the server must show a certificate that is trusted and is its own.

The server of the wheel speaks no TLS, so a proxy made of Python's `ssl` stands before it; clients cannot tell.
"""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme

from producer import BrokerUnavailable, RagClient
from producer.config import redis_url as checked
from worker.errors import StoreUnavailable
from worker.store import Store

ROOT = Path(__file__).parent.parent

# A worker's half, in a process of its own: takes the question from the broker and puts an answer into the backend.
WORKER = """
from worker.app import app
with app.connection_for_read() as connection:
    message = connection.SimpleQueue("spark.answer").get(timeout=10)
    message.ack()
app.backend.store_result(message.headers["id"], {"question_id": "1", "text": "over TLS"}, "SUCCESS")
"""


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class TlsProxy:
    """Takes TLS on a free port and passes on what is in it to a plain server."""

    def __init__(self, target: tuple[str, int], context: ssl.SSLContext) -> None:
        self._target = target
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=self._listener.accept()[:1], daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with (
            suppress(OSError),
            self._context.wrap_socket(plain, server_side=True) as client,
            socket.create_connection(self._target) as server,
        ):
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
            back.join()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def secure(authority: trustme.CA, redis_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A `rediss://` URL; the certificate is for the name that the test gives, else for the server's own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(getattr(request, "param", "127.0.0.1")).configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    server = urlsplit(redis_url)
    proxy = TlsProxy((server.hostname or "", server.port or 0), context)
    yield f"rediss://127.0.0.1:{proxy.port}/0?ssl_ca_certs={tmp_path / 'ca.pem'}"
    proxy.close()


def test_a_question_and_its_answer_travel_over_tls(secure: str):
    with RagClient(secure) as app:
        ticket = app.ask("What is the deductible?", collection="handbook")
        environment = {**os.environ, "RAG_BROKER_URL": secure}
        subprocess.run([sys.executable, "-c", WORKER], cwd=ROOT, env=environment, check=True, timeout=60)
        assert ticket.get(timeout=10).text == "over TLS"


def test_documents_travel_over_tls(secure: str):
    store = Store.connect(checked(secure))
    store.ensure("handbook", fingerprint="f", dimension=2)
    assert store.collections() == ["handbook"]
    store.close()


def test_a_server_whose_authority_nobody_named_is_refused(secure: str):
    unnamed = secure.partition("?")[0]
    with RagClient(unnamed) as app, pytest.raises(BrokerUnavailable):
        app.ask("What is the deductible?", collection="handbook")
    with pytest.raises(StoreUnavailable):
        Store.connect(checked(unnamed)).collections()


@pytest.mark.parametrize("secure", ["somebody-else.example"], indirect=True)
def test_a_certificate_for_another_server_is_refused(secure: str):
    with RagClient(secure) as app, pytest.raises(BrokerUnavailable):
        app.ask("What is the deductible?", collection="handbook")


def test_a_certificate_is_required_unless_the_operator_says_otherwise():
    assert checked("rediss://h:1/0") == "rediss://h:1/0?ssl_cert_reqs=required"
    assert checked("rediss://h:1/0?ssl_ca_certs=/ca") == "rediss://h:1/0?ssl_ca_certs=/ca&ssl_cert_reqs=required"
    assert checked("rediss://h:1/0?ssl_cert_reqs=none") == "rediss://h:1/0?ssl_cert_reqs=none"
