"""Lets the real small model answer over real passages and counts invented citations, before and after the check.

Needs a model server: the one that `RAG_LOCAL_URL` names, or the demo's own model (`make models`), which it starts.
Answerable questions are FinanceBench's, each with its own evidence and look-alike pages of other filings;
unanswerable ones are NoMIRACL's, whose passages were all judged irrelevant.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.tabulating import show, write
from worker.citations import enforce_citations
from worker.connectors.local import LocalConnector
from worker.errors import ConnectorError
from worker.prompt import Prompt
from worker.records import Passage, Verdict

_SEED = 7
_PASSAGE_CHARACTERS = 900
_PASSAGES = 4
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


def answerable(data: Path, count: int) -> list[Task]:
    """FinanceBench questions: the passage that holds the answer among three look-alikes of other filings."""
    rows = [json.loads(line) for line in (data / "financebench/questions.jsonl").read_text().splitlines()]
    chance = random.Random(_SEED)
    tasks = []
    for row in chance.sample(rows, min(count, len(rows))):
        others = [other for other in rows if other["doc_name"] != row["doc_name"]]
        passages = [_filing(other) for other in (row, *chance.sample(others, _PASSAGES - 1))]
        chance.shuffle(passages)
        tasks.append(Task(row["question"], tuple(passages), frozenset({f"{row['doc_name']}.pdf"})))
    return tasks


def _filing(row: dict[str, Any]) -> Passage:
    return Passage(name=f"{row['doc_name']}.pdf", text=row["evidence"][0]["evidence_text"][:_PASSAGE_CHARACTERS])


def unanswerable(data: Path, count: int) -> list[Task]:
    """NoMIRACL questions whose passages are all irrelevant."""
    with gzip.open(data / "nomiracl_en/non_relevant.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    chosen = random.Random(_SEED).sample(rows, min(count, len(rows)))
    return [Task(row["question"], tuple(_articles(row)), frozenset()) for row in chosen]


def _articles(row: dict[str, Any]) -> Iterator[Passage]:
    for text in row["passages"][:_PASSAGES]:
        title, _, body = text.partition(": ")
        name = re.sub(r"\W+", "_", title).strip("_").lower() or "article"
        yield Passage(name=f"{name}.txt", text=body[:_PASSAGE_CHARACTERS])


def fabricated(text: str, passages: Sequence[Passage]) -> set[str]:
    """Return what a text offers as a source that was not shown, by a rule that shares nothing with the check."""
    shown = {passage.name.casefold() for passage in passages}
    named = {match[0].casefold() for match in _FILE.finditer(text)}
    listed = {part.strip(" .*-\t").casefold() for line in _LINE.findall(text) for part in re.split(r"[,;]", line)}
    offered = named | {part for part in listed if part}
    return {name for name in offered if name not in shown and not any(known in name for known in shown)}


@dataclass(slots=True)
class Count:
    """What was seen so far."""

    answers: int = 0
    raw: int = 0
    enforced: int = 0
    gold_cited: int = 0
    wrongly_dropped: int = 0
    sources_on_unanswerable: int = 0
    abstained: int = 0
    failed: int = 0

    def add(self, task: Task, draft: str, verdict: Verdict) -> None:
        """Count one answer."""
        after = f"{verdict.text}\n{verdict.sources_line}"
        self.answers += 1
        self.raw += bool(fabricated(draft, task.passages))
        self.enforced += bool(fabricated(after, task.passages))
        self.abstained += verdict.abstained
        self.sources_on_unanswerable += bool(verdict.sources) and not task.gold
        self._add_gold(task, draft, verdict)

    def _add_gold(self, task: Task, draft: str, verdict: Verdict) -> None:
        """A right citation counts as wrongly dropped only where its answer was shown to the reader."""
        cited = {name for name in task.gold if name in draft}
        kept = {source.name for source in verdict.sources}
        self.gold_cited += bool(cited)
        self.wrongly_dropped += bool(cited - kept) and not verdict.abstained


def run(tasks: Sequence[Task], connector: LocalConnector, *, policy: str) -> Count:
    """Ask every question once."""
    count = Count()
    for number, task in enumerate(tasks, 1):
        prompt = Prompt(task.question, task.passages)
        try:
            draft = connector.complete(prompt, max_tokens=_ANSWER_TOKENS, deadline=time.time() + _ANSWER_SECONDS)
        except ConnectorError as error:
            count.failed += 1
            print(f"{number}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        verdict = enforce_citations(draft.text, task.passages, question=task.question, policy=policy)
        count.add(task, draft.text, verdict)
        print(f"\r{number} of {len(tasks)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return count


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


def report(count: Count) -> dict[str, float]:
    """Return the figures as shares of all answers; `wrongly_dropped` of the right citations."""
    answers = max(1, count.answers)
    return {
        "raw": count.raw / answers,
        "enforced": count.enforced / answers,
        "wrongly_dropped": count.wrongly_dropped / max(1, count.gold_cited),
        "sources_on_unanswerable": count.sources_on_unanswerable,
        "abstained": count.abstained / answers,
        "answers": count.answers,
        "failed": count.failed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--policy", choices=("strict", "flag"), default="strict")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    unknown = arguments.questions // 3
    tasks = answerable(arguments.data, arguments.questions - unknown) + unanswerable(arguments.data, unknown)
    with model_url() as url:
        connector = LocalConnector(url)
        figures = report(run(tasks, connector, policy=arguments.policy))
        connector.close()
    show(f"Invented citations, policy {arguments.policy}", ("figure", "value"), list(figures.items()))
    write(figures, arguments.json)


if __name__ == "__main__":
    main()
