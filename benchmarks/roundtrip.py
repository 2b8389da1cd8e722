"""Question in, answer out, when there is nothing to do: our round trip beside other task queues', in one run.

    python -m benchmarks.roundtrip [--peer NAME=PYTHON ...] [--rounds N] [--json FILE]

The answer worker is our own in all but the embedder (`benchmarks.light`) and abstains, as no document is near to the
question: message, receipt, search, check, result and announcement are real, and no model is asked. All workers share
one Redis; the clients take turns. `--peer rq=/venvs/rq/bin/python` measures `rq`, `dramatiq` or `arq` with a Python
that has it installed; Celery is measured always. Figures: `p50_ms`, `p99_ms` of RagClient, `async_p50_ms`,
`async_p99_ms` of AsyncRagClient, for each peer `NAME_p50_ms`, `NAME_p99_ms` and `vs_NAME_p50`, our median over the
peer's: below 1 ours is faster.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from benchmarks.crew import Crew
from benchmarks.tabulating import show, write
from producer import AsyncRagClient, RagClient

PEERS = Path(__file__).parent / "roundtrip_peers.py"
COLLECTION = "handbook"
# No word of it is in the only document.
QUESTION = "How do I bake sourdough bread?"
A_TURN = 25

Round = Callable[[int], list[float]]


def main() -> None:
    """Measure, print a table, write the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="not used: the only document is made here")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    pythons = {"celery": sys.executable, **dict(peer.split("=", 1) for peer in arguments.peer)}
    times = measure(pythons, rounds=arguments.rounds)
    medians = {name: float(np.median(values)) for name, values in times.items()}
    lasts = {name: float(np.percentile(values, 99)) for name, values in times.items()}
    figures = {"p50_ms": medians["sync"], "p99_ms": lasts["sync"]}
    for name in times:
        if name != "sync":
            figures |= {f"{name}_p50_ms": medians[name], f"{name}_p99_ms": lasts[name]}
    figures |= {f"vs_{name}_p50": medians["sync"] / medians[name] for name in pythons}
    rows = [(name, medians[name], lasts[name], medians["sync"] / medians[name]) for name in times]
    show("Round trip of a task that does nothing, ms", ["who", "p50", "p99", "ours / theirs"], rows)
    write(figures, arguments.json)


def measure(pythons: Mapping[str, str], *, rounds: int) -> dict[str, list[float]]:
    """Return each one's round trips in milliseconds; the first turn of each is not counted."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        crew = Crew(Path(folder), app="benchmarks.light", settings={})
        stack.callback(crew.stop)
        crew.start("redis", "answer", "ingest")
        clients: dict[str, Round] = {
            "sync": stack.enter_context(our_client(crew.url)),
            "async": stack.enter_context(our_async_client(crew.url)),
        }
        for name, python in pythons.items():
            clients[name] = stack.enter_context(peer(name, python, crew.url))
        times: dict[str, list[float]] = {name: [] for name in clients}
        for turn in range(rounds + 1):
            for name, client in clients.items():
                taken = client(A_TURN)
                times[name] += taken if turn else []
        return times


@contextmanager
def our_client(url: str) -> Iterator[Round]:
    """RagClient, with one document for the question to be far from."""
    with RagClient(url) as client:
        client.ingest_bytes("rates.md", b"The collision deductible is $500.", collection=COLLECTION).get(timeout=60)
        yield lambda count: [timed(lambda: client.ask(QUESTION, collection=COLLECTION).get()) for _ in range(count)]


@contextmanager
def our_async_client(url: str) -> Iterator[Round]:
    """AsyncRagClient on a loop of its own."""

    async def several(client: AsyncRagClient, count: int) -> list[float]:
        times = []
        for _ in range(count):
            start = time.perf_counter()
            await (await client.ask(QUESTION, collection=COLLECTION))
            times.append((time.perf_counter() - start) * 1000)
        return times

    with asyncio.Runner() as runner:
        client = AsyncRagClient(url)
        yield lambda count: runner.run(several(client, count))
        runner.run(client.close())


@contextmanager
def peer(name: str, python: str, url: str) -> Iterator[Round]:
    """A peer's worker and client, each a process of its own."""
    command = [python, str(PEERS), name]
    worker = subprocess.Popen([*command, "worker", url], stdout=subprocess.DEVNULL, cwd=PEERS.parent)
    client = subprocess.Popen(
        [*command, "client", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PEERS.parent
    )
    assert client.stdin is not None
    assert client.stdout is not None
    requests, replies = client.stdin, client.stdout

    def several(count: int) -> list[float]:
        requests.write(f"{count}\n")
        requests.flush()
        times: list[float] = json.loads(replies.readline())
        return times

    try:
        yield several
    finally:
        for process in (client, worker):
            process.terminate()
            process.wait(20)


def timed(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
