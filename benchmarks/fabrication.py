"""Lets the real small model answer over real passages and counts invented citations, before and after the check.

It answers freely and held to a schema of the names shown, each without and with a second attempt where the check
removed something; beside it the connector that needs no model. Figures without a prefix are those of the default way.

Needs a model server: the one that `RAG_LOCAL_URL` names, or the demo's own model (`make models`), which it starts.
Answerable questions are FinanceBench's, each with its own evidence and look-alike pages of other filings;
unanswerable ones are NoMIRACL's, whose passages were all judged irrelevant. The worker's threshold is left
out: it leaves 115 of the 118 unanswerable questions a passage, so it would hardly change what is counted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.checking import embedder, likeness
from benchmarks.tabulating import show, write
from worker.attempts import Asked, Attempts
from worker.config import WorkerConfig
from worker.connectors import Connector, Health
from worker.connectors.extract import ExtractConnector
from worker.connectors.local import LocalConnector
from worker.drafts import written
from worker.prompt import Prompt
from worker.records import Draft, Passage, Verdict
from worker.stopwatch import Stopwatch

_SEED = 7
_ANSWER_TOKENS = 120
_ANSWER_SECONDS = 300.0
# Seen from outside, by a rule of its own: what looks like a file, and what stands on a sources line.
_FILE = re.compile(r"[\w()&.-]+\.(?:pdf|txt|md|html?|docx?|xlsx?|csv|json|xml)\b", re.IGNORECASE)
_LINE = re.compile(r"^\W*(?:sources?|references?)\W*:(.*)$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Task:
    """One question with its passages; `gold` names the documents that hold the answer."""

    question: str
    passages: tuple[Passage, ...]
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Size:
    """How many passages a question is shown, and of how many characters each."""

    passages: int = 4
    characters: int = 900


def answerable(data: Path, count: int, size: Size) -> list[Task]:
    """FinanceBench questions: the passage that holds the answer among three look-alikes of other filings."""
    rows = [json.loads(line) for line in (data / "financebench/questions.jsonl").read_text().splitlines()]
    chance = random.Random(_SEED)
    tasks = []
    for row in chance.sample(rows, min(count, len(rows))):
        others = [other for other in rows if other["doc_name"] != row["doc_name"]]
        passages = [_filing(other, size) for other in (row, *chance.sample(others, size.passages - 1))]
        chance.shuffle(passages)
        tasks.append(Task(row["question"], tuple(passages), frozenset({f"{row['doc_name']}.pdf"})))
    return tasks


def _filing(row: dict[str, Any], size: Size) -> Passage:
    return Passage(name=f"{row['doc_name']}.pdf", text=row["evidence"][0]["evidence_text"][: size.characters])


def unanswerable(data: Path, count: int, size: Size) -> list[Task]:
    """NoMIRACL questions whose passages are all irrelevant."""
    with gzip.open(data / "nomiracl_en/non_relevant.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    chosen = random.Random(_SEED).sample(rows, min(count, len(rows)))
    return [Task(row["question"], tuple(_articles(row, size)), frozenset()) for row in chosen]


def _articles(row: dict[str, Any], size: Size) -> Iterator[Passage]:
    for text in row["passages"][: size.passages]:
        title, _, body = text.partition(": ")
        name = re.sub(r"\W+", "_", title).strip("_").lower() or "article"
        yield Passage(name=f"{name}.txt", text=body[: size.characters])


def fabricated(text: str, passages: Sequence[Passage]) -> set[str]:
    """Return what a text offers as a source that was not shown, by a rule that shares nothing with the check."""
    shown = {passage.name.casefold() for passage in passages}
    named = {match[0].casefold() for match in _FILE.finditer(text)}
    listed = {part.strip(" .*-\t").casefold() for line in _LINE.findall(text) for part in re.split(r"[,;]", line)}
    offered = named | {part for part in listed if part}
    return {name for name in offered if name not in shown and not any(known in name for known in shown)}


@dataclass(slots=True)
class Count:
    """What was seen so far of one way of answering."""

    answers: int = 0
    raw: int = 0
    enforced: int = 0
    gold_cited: int = 0
    wrongly_dropped: int = 0
    gold_kept: int = 0
    sources_on_unanswerable: int = 0
    abstained_on_answerable: int = 0
    answered_unanswerable: int = 0
    seconds: float = 0.0

    def add(self, task: Task, drafts: Sequence[Draft], verdict: Verdict, seconds: float) -> None:
        """Count one answer and the drafts that led to it."""
        texts = [written(draft) for draft in drafts]
        kept = {source.name for source in verdict.sources}
        cited = {name for name in task.gold if any(name in text for text in texts)}
        self.answers += 1
        self.seconds += seconds
        self.raw += any(fabricated(text, task.passages) for text in texts)
        self.enforced += bool(fabricated(f"{verdict.text}\n{verdict.sources_line}", task.passages))
        self.gold_cited += bool(cited)
        self.gold_kept += bool(task.gold & kept)
        # A right citation counts as wrongly dropped only where its answer was shown to the reader.
        self.wrongly_dropped += bool(cited - kept) and not verdict.abstained
        self.sources_on_unanswerable += bool(kept) and not task.gold
        self.abstained_on_answerable += verdict.abstained and bool(task.gold)
        self.answered_unanswerable += not verdict.abstained and not task.gold

    def figures(self) -> dict[str, float]:
        """Shares of all answers; `wrongly_dropped` of the right citations; the rest in numbers."""
        answers = max(1, self.answers)
        return {
            "raw": self.raw / answers,
            "enforced": self.enforced / answers,
            "wrongly_dropped": self.wrongly_dropped / max(1, self.gold_cited),
            "sources_on_unanswerable": self.sources_on_unanswerable,
            "answered_unanswerable": self.answered_unanswerable,
            "right_sources": self.gold_kept,
            "abstained_on_answerable": self.abstained_on_answerable,
            "answers": self.answers,
            "seconds": self.seconds / answers,
        }


class Recording:
    """A connector that keeps what it was given."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self.drafts: list[Draft] = []

    def complete(self, prompt: Prompt, *, max_tokens: int, deadline: float) -> Draft:
        """Write a draft as the connector does."""
        self.drafts.append(self._connector.complete(prompt, max_tokens=max_tokens, deadline=deadline))
        return self.drafts[-1]

    def health(self) -> Health:
        """Ask the connector."""
        return self._connector.health()

    def close(self) -> None:
        """Close the connector."""
        self._connector.close()


def run(tasks: Sequence[Task], connectors: Mapping[str, Connector], *, policy: str) -> dict[str, Count]:
    """Ask every question in every way; a repaired answer begins with the unrepaired one's own draft."""
    counts = {
        name: Count() for way in connectors for name in ((way, f"{way} repaired") if way != "extract" else (way,))
    }
    for number, task in enumerate(tasks, 1):
        for way, connector in connectors.items():
            _count(task, way, connector, policy, counts)
        print(f"\r{number} of {len(tasks)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return counts


def _count(task: Task, way: str, connector: Connector, policy: str, counts: Mapping[str, Count]) -> None:
    recording, watch = Recording(connector), Stopwatch()
    repairs = {way: int(way != "extract")}
    attempts = Attempts({way: recording}, answer_tokens=_ANSWER_TOKENS, repairs=repairs, similarity=likeness())
    asked = Asked("", task.question, task.passages, way, policy, time.time() + _ANSWER_SECONDS)
    best, each = attempts.at(asked, watch)
    first = watch.seconds["generate"] / len(each)
    counts[way].add(task, recording.drafts[:1], each[0].verdict, first)
    if f"{way} repaired" in counts:
        counts[f"{way} repaired"].add(task, recording.drafts, best.verdict, watch.seconds["generate"])


@contextmanager
def model_url() -> Iterator[str]:
    """Yield the URL of a model server; the demo's own is started where none is named."""
    named = os.environ.get("RAG_LOCAL_URL")
    if named:
        yield named
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "RAG_MODEL_PORT": str(port)}
    server = subprocess.Popen([sys.executable, "-m", "worker", "model"], env=environment)
    try:
        _await(f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()


def _await(url: str) -> None:
    for _ in range(120):
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.5)
    raise SystemExit(f"no model server at {url}")


def default_way() -> str:
    """The way in which a worker with no settings of its own answers."""
    defaults = {field.name: field.default for field in fields(WorkerConfig)}
    way = "constrained" if defaults["constrained"] == "auto" else "free"
    return f"{way} repaired" if defaults["repair_attempts"] else way


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--passages", type=int, default=4, help="shown with each question")
    parser.add_argument("--characters", type=int, default=900, help="of each passage")
    parser.add_argument("--policy", choices=("strict", "flag"), default="strict")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    unknown = arguments.questions // 3
    size = Size(arguments.passages, arguments.characters)
    tasks = answerable(arguments.data, arguments.questions - unknown, size)
    tasks += unanswerable(arguments.data, unknown, size)
    random.Random(_SEED).shuffle(tasks)
    with model_url() as url:
        connectors: dict[str, Connector] = {
            "free": LocalConnector(url),
            "constrained": LocalConnector(url, constrained=True),
            "extract": ExtractConnector(embedder()),
        }
        counts = run(tasks, connectors, policy=arguments.policy)
        for connector in connectors.values():
            connector.close()
    figures = {way: count.figures() for way, count in counts.items()}
    columns = ("figure", *figures)
    rows = [(figure, *(own[figure] for own in figures.values())) for figure in next(iter(figures.values()))]
    show(f"Invented citations, policy {arguments.policy}; default: {default_way()}", columns, rows)
    others = {f"{way} {name}".replace(" ", "_"): value for way, own in figures.items() for name, value in own.items()}
    write({**figures[default_way()], **others}, arguments.json)


if __name__ == "__main__":
    main()
