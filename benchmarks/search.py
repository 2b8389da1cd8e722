"""Exact search against its peers, interleaved, at several sizes and batches.

    python -m benchmarks.search [--json FILE] [--sizes 10000,100000,1000000] [--repeats 7]

Figures: `ms_X_N_bB` median milliseconds a batch; `speedup_X_N_bB` how many times faster ours is than X;
`vs_read_N_bB` ours as a multiple of reading the float32 matrix once; `recall_X_N_bB` of the approximate ones; `_t1`
on one thread; `identical` whether ours always found what float64 brute force over the float32 values finds, ties
aside. On a machine that does other work too, set OMP_WAIT_POLICY=passive.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.contenders import (
    Contender,
    Faiss,
    FaissWithBlas,
    Floats,
    Hnswlib,
    Numpy,
    Ours,
    OursWithTexts,
    PeerAbsent,
    RediSearch,
    Rows,
    Torch,
    clustered_units,
)

DIMENSION = 384
BATCHES = (1, 8, 32, 128)
BEST = 10
TABLE_WIDTH = 150
# Graphs take minutes to build at a million rows, and tell nothing new there.
LARGEST_GRAPH = 100_000

Figures = dict[str, float | bool]


def main() -> None:
    """Measure every size, print a table each, write the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="not used: the vectors are made here")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    console, figures = Console(width=TABLE_WIDTH), Figures()
    console.print(f"torch uses {torch.get_num_threads()} threads")
    for size in map(int, arguments.sizes.split(",")):
        figures |= measure(size, arguments.repeats, console)
    figures["identical"] = all(value for key, value in figures.items() if key.startswith("identical_"))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def measure(size: int, repeats: int, console: Console) -> Figures:
    """All figures of one size; prints its table."""
    vectors = clustered_units(size, DIMENSION, seed=size)
    queries = clustered_queries(vectors, max(BATCHES))
    figures = Figures()
    with ExitStack() as stack:
        contenders = list(build(vectors, stack, console))
        for batch in BATCHES:
            figures |= compare(contenders, vectors, queries[:batch], repeats, f"{label(size)}_b{batch}")
        if size == LARGEST_GRAPH:
            threads = torch.get_num_threads()
            torch.set_num_threads(1)
            figures |= compare(contenders, vectors, queries[:1], repeats, f"{label(size)}_b1_t1")
            torch.set_num_threads(threads)
    console.print(table(size, [contender.name for contender in contenders], figures))
    return figures


def build(vectors: Floats, stack: ExitStack, console: Console) -> Iterator[Contender]:
    """The contenders that can take part here and are sensible at this size."""
    candidates: list[Callable[[], list[Contender]]] = [
        lambda: [Ours(vectors)],
        lambda: [Torch(vectors)],
        lambda: [Numpy(vectors)],
        lambda: [flat := Faiss(vectors, kind="flat"), FaissWithBlas(flat)],
        lambda: [RediSearch(vectors, stack, kind="flat")],
    ]
    if len(vectors) <= LARGEST_GRAPH:
        candidates += [
            lambda: [OursWithTexts(vectors, stack)],
            lambda: [Faiss(vectors, kind="hnsw")],
            lambda: [Hnswlib(vectors)],
            lambda: [RediSearch(vectors, stack, kind="hnsw")],
        ]
    for candidate in track(candidates, description=f"building {label(len(vectors))}", console=console):
        try:
            yield from candidate()
        except PeerAbsent as absent:
            console.print(f"left out: {absent}")


def compare(contenders: list[Contender], vectors: Floats, queries: Floats, repeats: int, suffix: str) -> Figures:
    """Medians of interleaved runs, and what follows from them."""
    matrix = torch.from_numpy(vectors)
    runs: dict[str, Callable[[], object]] = {"read": lambda: matrix.view(-1).sum()}
    for contender in contenders:
        runs[contender.name] = lambda contender=contender: contender.search(queries, BEST)  # type: ignore[misc]
    milliseconds = interleaved(runs, repeats if len(queries) <= 8 else max(3, repeats // 2))
    figures: Figures = {f"ms_{name}_{suffix}": value for name, value in milliseconds.items()}
    for name, value in milliseconds.items():
        if name not in ("ours", "read"):
            figures[f"speedup_{name}_{suffix}"] = value / milliseconds["ours"]
    figures[f"vs_read_{suffix}"] = milliseconds["ours"] / milliseconds["read"]
    truth = brute_force_scores(vectors, queries)
    for contender in contenders:
        found = contender.search(queries, BEST)
        if contender.name.startswith("ours"):
            figures[f"identical_{contender.name}_{suffix}"] = identical(found, truth)
        elif not contender.exact:
            figures[f"recall_{contender.name}_{suffix}"] = recall(found, truth)
    return figures


def interleaved(runs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median milliseconds of each, all run in turn, so that a busy moment hits all alike; one round to warm up."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for turn in range(repeats + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return {name: 1000 * statistics.median(values) for name, values in seconds.items()}


def brute_force_scores(vectors: Floats, queries: Floats) -> np.ndarray:
    """(q, n) cosines in float64 over the float32 values."""
    exact = queries.astype(np.float64)
    parts = [exact @ vectors[at : at + 50_000].astype(np.float64).T for at in range(0, len(vectors), 50_000)]
    return np.concatenate(parts, axis=1)


def identical(found: Rows, truth: np.ndarray) -> bool:
    """Whether the rows are the best ones, in order; rows whose cosines are equal to 1e-12 may change places."""
    for rows, line in zip(found, truth, strict=True):
        best = -np.sort(-np.partition(line, -BEST)[-BEST:])
        if len(set(rows)) != BEST or np.abs(line[rows] - best).max() > 1e-12:
            return False
    return True


def recall(found: Rows, truth: np.ndarray) -> float:
    """The share of the true ten best rows that were found."""
    best = np.argpartition(-truth, BEST, axis=1)[:, :BEST]
    return float(
        np.mean([len(set(rows) & set(line.tolist())) / BEST for rows, line in zip(found, best, strict=True)])
    )


def clustered_queries(vectors: Floats, count: int) -> Floats:
    """Queries near some of the rows, as questions are near paragraphs."""
    rng = np.random.default_rng(1)
    queries = vectors[rng.integers(0, len(vectors), count)]
    queries = queries + 0.03 * rng.standard_normal(queries.shape, dtype=np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    return queries


def label(size: int) -> str:
    """100000 as `100k`."""
    return f"{size // 1_000_000}m" if size >= 1_000_000 else f"{size // 1000}k"


def table(size: int, names: list[str], figures: Figures) -> Table:
    """One line a contender: milliseconds a batch, and ours relative to it."""
    suffixes = [f"{label(size)}_b{batch}" for batch in BATCHES]
    suffixes += [f"{label(size)}_b1_t1"] if f"ms_ours_{label(size)}_b1_t1" in figures else []
    result = Table(title=f"{size:,} x {DIMENSION}, best {BEST}: ms a batch (ours is ... x as fast)")
    for heading in ("", *suffixes, "recall"):
        result.add_column(heading, justify="right" if heading else "left")
    for name in ("read", *names):
        cells = [
            f"{figures[f'ms_{name}_{suffix}']:.2f} ({speedup(figures, name, suffix):.2f})" for suffix in suffixes
        ]
        share = figures.get(f"recall_{name}_{suffixes[0]}")
        result.add_row(name, *cells, "exact" if share is None else f"{share:.3f}")
    return result


def speedup(figures: Figures, name: str, suffix: str) -> float:
    """How many times faster ours is."""
    return figures[f"ms_{name}_{suffix}"] / figures[f"ms_ours_{suffix}"]


if __name__ == "__main__":
    main()
