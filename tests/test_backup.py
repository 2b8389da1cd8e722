"""The runbook's back-up: Redis' folder, copied while it runs, is the same collection on another server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from worker.embedded import Stack, prepare, services
from worker.embedding import Embedder
from worker.index import Index
from worker.ingest import IngestFlow
from worker.records import Hit
from worker.store import Store
from worker.supervisor import Supervisor

QUESTIONS = ["What is the collision deductible?", "When does the match vest?"]


@contextmanager
def running(folder: Path) -> Iterator[Stack]:
    """The stack's own Redis on a data folder."""
    stack = prepare(folder)
    supervisor = Supervisor(stack.folder / "logs", say=print)
    try:
        supervisor.start(services(stack, {"PATH": os.environ["PATH"]})[0], timeout=60)
        yield stack
    finally:
        supervisor.stop()


def found(store: Store, embedder: Embedder) -> list[list[Hit]]:
    index = Index(store, device="cpu", fingerprint=embedder.fingerprint)
    queries = embedder.embed_passages(QUESTIONS)
    hits = index.search("handbook", queries, k=3)
    index.close()
    return hits


def copy_as_the_runbook_says(stack: Stack, target: Path) -> None:
    with redis.Redis.from_url(stack.url("default")) as administrator:
        administrator.config_set("auto-aof-rewrite-percentage", 0)
        assert administrator.info("persistence")["aof_rewrite_in_progress"] == 0
        shutil.copytree(stack.folder / "redis", target)
        administrator.config_set("auto-aof-rewrite-percentage", 100)


def test_a_copy_of_the_folder_answers_as_the_old_server_did(tmp_path: Path, embedder: Embedder):
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "auto.md").write_text("The collision deductible is $500.\n\nThe policy renews in May.")
    (documents / "vesting.md").write_text("The employer match vests over five years.")
    with running(tmp_path / "old") as old:
        store = Store.connect(old.url("worker"))
        IngestFlow(store=store, embedder=embedder).ingest(documents, collection="handbook")
        before = found(store, embedder), store.documents("handbook")
        copy_as_the_runbook_says(old, tmp_path / "new" / "redis")
        store.drop("handbook")  # what happens to the old server afterwards is nothing to the copy
        store.close()
    with running(tmp_path / "new") as new:
        store = Store.connect(new.url("worker"))
        assert (found(store, embedder), store.documents("handbook")) == before
        outcome = IngestFlow(store=store, embedder=embedder).ingest(documents, collection="handbook")
        assert (outcome.unchanged, outcome.chunks) == (2, 0)
        store.close()


def test_a_copy_whose_last_command_was_cut_off_still_starts(tmp_path: Path):
    with running(tmp_path / "old") as old:
        store = Store.connect(old.url("worker"))
        store.ensure("handbook", fingerprint="f", dimension=2)
        store.close()
        copy_as_the_runbook_says(old, tmp_path / "new" / "redis")
    (last,) = (tmp_path / "new" / "redis" / "appendonlydir").glob("*.incr.aof")
    with last.open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$9\r\nrag:cut-o")
    with running(tmp_path / "new") as new:
        store = Store.connect(new.url("worker"))
        assert store.collections() == ["handbook"]
        store.close()
