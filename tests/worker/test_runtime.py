"""A worker starts whether or not its models are there, and says in its log which are."""

from __future__ import annotations

import logging
import socket
import threading

import pytest

from tests.wire import serving
from worker.config import load
from worker.runtime import Runtime


@pytest.fixture
def nowhere():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def started(**settings) -> Runtime:
    runtime = Runtime(load({name: str(value) for name, value in settings.items()}))
    runtime.warm_up(answering=True)
    for thread in threading.enumerate():
        if thread.name == "model-health":
            thread.join(60)
    return runtime


def test_a_model_that_is_away_stops_no_worker_and_is_logged(redis_url, nowhere, caplog):
    caplog.set_level(logging.INFO, "worker")
    settings = {"RAG_CLAUDE_API_KEY": "key-not-to-be-shown", "RAG_CLAUDE_URL": nowhere}
    started(RAG_BROKER_URL=redis_url, RAG_LOCAL_URL=f"{nowhere}/v1", **settings)
    assert "connector local: not reachable" in caplog.text
    assert "connector claude: not reachable" in caplog.text
    assert "key-not-to-be-shown" not in caplog.text


def test_a_model_that_is_there_is_logged_with_what_it_can(redis_url, caplog):
    caplog.set_level(logging.INFO, "worker")
    with serving() as wire:
        wire.pages["/v1/models"] = {"data": [{"id": "tiny", "max_model_len": 8192}]}
        runtime = started(RAG_BROKER_URL=redis_url, RAG_LOCAL_URL=f"{wire.url}/v1")
    assert "connector local: tiny, 8192 tokens, constrained decoding no" in caplog.text
    assert set(runtime.connectors) == {"local", "extract"}
