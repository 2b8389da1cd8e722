"""More questions than the workers can take: throughput, waits, and who expires instead of everybody waiting.

`python -m benchmarks.load_test --questions 5000 --soak 20000 --json FILE` measures what one answer worker takes with
a model server that needs 50 ms, then sends questions at 1, 2 and 4 times that, whoever waits or not, each with its
deadline; and then so many more that a leak would show in the worker's memory. Embedder and index are the light ones:
what is measured is the queue, the flow and the check.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.crew import Crew
from benchmarks.scripted_model import ScriptedModel
from benchmarks.tabulating import show, write
from benchmarks.traffic import COLLECTION, Traffic, left_over
from producer import RagClient
from producer.names import RESULT_PREFIX

MODEL_SECONDS = 0.05
DEADLINE_SECONDS = 8.0
FACTORS = (1, 2, 4)
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Rush:
    """What became of questions that were sent at one rate."""

    sent: int
    states: Counter[str]
    seconds: float
    cpu: float
    """Seconds of a processor that the worker used."""
    waits: Sequence[float]
    """Seconds in the queue, of those that were answered; ascending."""

    def figures(self, name: str) -> dict[str, float]:
        """The figures of a rush, each with the name at its end."""
        return {
            f"sent_a_second_{name}": self.sent / self.seconds,
            f"answered_{name}": self.states["SUCCESS"],
            f"expired_{name}": self.states["REVOKED"] + self.states["FAILURE"],
            f"without_end_{name}": self.sent - self.states.total(),
            f"throughput_{name}": self.states["SUCCESS"] / self.seconds,
            f"cpu_ms_a_question_{name}": 1000 * self.cpu / self.sent,
            f"wait_p50_s_{name}": statistics.median(self.waits or [0.0]),
            f"wait_p95_s_{name}": self.waits[int(0.95 * (len(self.waits) - 1))] if self.waits else 0.0,
        }


@contextmanager
def worker(folder: Path) -> Iterator[Crew]:
    """One answer worker that knows the plans' documents."""
    model = ScriptedModel(seconds=MODEL_SECONDS)
    (folder / "plans").mkdir()
    crew = Crew(folder / "crew", app="benchmarks.light", settings={"RAG_LOCAL_URL": model.url})
    try:
        crew.start("redis", "answer", "ingest")
        traffic = Traffic(crew.url, folder / "plans", deadline=60.0)
        traffic.ingest()
        traffic.close()
        with crew.watching():
            yield crew
    finally:
        crew.stop()
        model.stop()


def rush(crew: Crew, questions: int, *, rate: float, deadline: float) -> Rush:
    """Send questions at `rate` a second, wait until none is left, and read what became of them."""
    start, cpu, ids = time.monotonic(), processor_seconds(crew), []
    with RagClient(crew.url) as client:
        for number in range(questions):
            time.sleep(max(0.0, start + number / rate - time.monotonic()))
            ticket = client.ask(f"What does plan {number % 8} pay?", collection=COLLECTION, deadline=deadline)
            ids.append(ticket.id)
    _await_quiet(crew)
    seconds, cpu = time.monotonic() - start, processor_seconds(crew) - cpu
    results = list(_results(crew, ids))
    waits = sorted(result["result"]["timings"]["queue"] for result in results if result["status"] == "SUCCESS")
    return Rush(questions, Counter(str(result["status"]) for result in results), seconds, cpu, waits)


def capacity(crew: Crew, questions: int) -> float:
    """Return how many questions a second the worker takes when all of them wait for it."""
    return rush(crew, questions, rate=1e6, deadline=600.0).figures("")["throughput_"]


def processor_seconds(crew: Crew) -> float:
    """Return the processor time of the answer worker."""
    fields = Path(f"/proc/{crew.pid('answer')}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(crew: Crew) -> float:
    """Return the resident megabytes of the answer worker."""
    status = Path(f"/proc/{crew.pid('answer')}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def measure(crew: Crew, questions: int, soak: int) -> dict[str, float]:
    """All figures."""
    able = capacity(crew, min(questions, 1000))
    figures = {"capacity": able}
    for factor in FACTORS:
        figures |= rush(crew, questions, rate=factor * able, deadline=DEADLINE_SECONDS).figures(f"{factor}x")
    figures["memory_mb_before"] = memory(crew)
    for quarter in range(4):
        rush(crew, soak // 4, rate=able, deadline=600.0)
        figures[f"memory_mb_after_{(quarter + 1) * soak // 4}"] = memory(crew)
    return figures


def _await_quiet(crew: Crew) -> None:
    with crew.client() as client:
        while left_over(client):
            time.sleep(0.05)


def _results(crew: Crew, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    with crew.client() as client:
        for start in range(0, len(ids), _PAGE):
            stored: Any = client.mget([RESULT_PREFIX + task for task in ids[start : start + _PAGE]])
            yield from (json.loads(result) for result in stored if result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=5000)
    parser.add_argument("--soak", type=int, default=20000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, worker(Path(folder)) as crew:
        figures = measure(crew, arguments.questions, arguments.soak)
    show("one answer worker, 8 threads, a model of 50 ms", ["figure", "value"], list(figures.items()))
    write(figures, arguments.json)


if __name__ == "__main__":
    main()
