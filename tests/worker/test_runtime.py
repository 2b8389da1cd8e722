"""What a worker finds at its start decides what it refuses, and what an operator reads about it."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tests.snapshots import content
from tests.wire import serving
from worker.config import load
from worker.connectors.scripted import ScriptedConnector
from worker.errors import EmbedderMismatch
from worker.ingest import IngestFlow
from worker.runtime import Runtime
from worker.store import Store

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def store(redis_url):
    store = Store.connect(redis_url)
    yield store
    store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.md").write_text("The collision deductible is $500.")
    return folder


def test_a_collection_that_this_embedder_did_not_write_is_refused_and_the_others_answer(
    store, embedder, folder, redis_url, caplog
):
    for collection in ("good", "moved"):
        IngestFlow(store=store, embedder=embedder).ingest(folder, collection=collection)
    store.ensure("foreign", fingerprint="another embedder", dimension=3)
    (document,) = content(store, "moved").values()
    store.ensure("moved", fingerprint=embedder.fingerprint, dimension=384, chunking=store.generation("good").chunking)
    store.replace("moved", document.info, document.chunks, np.roll(document.vectors, 1, axis=1))

    runtime = Runtime(load({"RAG_BROKER_URL": redis_url}))
    with caplog.at_level(logging.INFO):
        runtime.warm_up(answering=True)
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.CRITICAL]
    assert len(told) == 2
    assert all(
        f"python -m worker rebuild {name}" in line for name, line in zip(("foreign", "moved"), told, strict=True)
    )

    def ask(collection: str):
        question = "How do I bake sourdough bread?"
        return runtime.answers.answer(question, collection=collection, deadline=time.time() + 60)

    assert ask("good").reason == "no_evidence"
    for collection in ("foreign", "moved"):
        with pytest.raises(EmbedderMismatch):
            ask(collection)


def test_a_workers_check_knows_like_words_by_its_own_embedder(store, embedder, tmp_path, redis_url):
    text = "New paths were paid for in 1975. Elm Hollow Park was founded by the county in 1968."
    (tmp_path / "park.txt").write_text(text)
    IngestFlow(store=store, embedder=embedder).ingest(tmp_path, collection="parks")
    runtime = Runtime(load({"RAG_BROKER_URL": redis_url}))

    def sources(draft: str):
        runtime.connectors["local"] = ScriptedConnector([f"{draft}\nSources: park.txt"] * 2)
        question = "When was Elm Hollow Park established?"
        answered = runtime.answers.answer(question, collection="parks", deadline=time.time() + 60)
        return [source.name for source in answered.verdict.sources]

    assert (sources("1968"), sources("1975")) == (["park.txt"], [])


def test_a_worker_starts_while_redis_is_away(caplog):
    Runtime(load({"RAG_BROKER_URL": "redis://127.0.0.1:1"})).warm_up(answering=True)
    assert "are not checked now" in caplog.text


def worker(redis_url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RAG_BROKER_URL": redis_url, "COLUMNS": "300"}
    command = [sys.executable, "-m", "worker", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)


def test_a_collection_is_moved_to_the_place_where_its_folder_is_now(store, embedder, folder, redis_url):
    flow = IngestFlow(store=store, embedder=embedder)
    flow.ingest(folder, collection="c")
    moved = folder.rename(folder.parent / "moved")
    ran = worker(redis_url, "move", "c", str(moved))
    assert ran.returncode == 0, ran.stderr
    assert flow.ingest(moved, collection="c").unchanged == 1


@pytest.mark.parametrize(
    ("arguments", "error"), [("c /no/such/folder", "FolderUnavailable"), ("c .", "UnknownCollection")]
)
def test_a_move_that_cannot_be_is_one_readable_line(redis_url, arguments, error):
    ran = worker(redis_url, "move", *arguments.split())
    assert (ran.returncode, error in ran.stderr, "Traceback" in ran.stderr) == (1, True, False)


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
