"""Questions and ingests in, what became of each out: answered, failed, expired, lost, torn, answered twice, stuck."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import redis

from producer import BrokerUnavailable, RagClient, RagError, TaskError
from producer.contract import Answer
from producer.names import ANSWER_QUEUE, INGEST_QUEUE, RESULT_PREFIX

T = TypeVar("T")

_ENDS = ("SUCCESS", "FAILURE", "REVOKED")
COLLECTION = "plans"
PLANS = 8
# Longer than any deadline: who has heard nothing by then never will.
GRACE_SECONDS = 40.0


class Traffic:
    """Asks and ingests through the real client; safe to share among threads.

    Each plan's document says its version in two places, far apart: an answer with two versions is torn. Each question
    has words of its own, by which a model server knows it again.
    """

    def __init__(self, url: str, folder: Path, *, deadline: float) -> None:
        self.counts: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.oddities: list[str] = []
        self.seconds: list[float] = []
        self.waited: list[float] = []
        self._deadline = deadline
        self._folder = folder
        self._version = 100  # never the number of a plan, which the question is found by
        self._texts: dict[str, str] = {}
        self._unanswered: list[str] = []
        self._lock = threading.Lock()
        self._client = RagClient(url)

    def write_documents(self) -> None:
        """Give every plan's document the next version."""
        self._version += 1
        filling = "\n\n".join(f"Paragraph {n} has other things to say, and says them at length." for n in "abcd")
        for plan in range(PLANS):
            told = f"plan {plan} pays is in version {self._version}."
            text = f"What {told}\n\n{filling}\n\nAll that {told}\n"
            # In one step: an ingest that was sent before may be reading.
            part = self._folder.parent / "part"
            part.write_text(text)
            part.replace(self._folder / f"plan-{plan}.md")

    def ingest(self) -> None:
        """Write the next version of the documents, ingest them, and wait for the report."""
        self.write_documents()
        with self._noted("ingest"):
            ticket = self._client.ingest(str(self._folder), collection=COLLECTION)
            _patiently(lambda: ticket.get(self._deadline + GRACE_SECONDS), seconds=self._deadline)
            self._count("ingests")

    def ask(self, number: int) -> None:
        """Ask one question, told from all others by its number, and wait for whatever becomes of it."""
        plan, start = random.randrange(PLANS), time.monotonic()
        # In letters: a digit would be near another plan.
        words = "".join("abcdefghij"[int(digit)] for digit in str(number))
        with self._noted("question"):
            ticket = self._client.ask(
                f"What does plan {plan} pay? Asked by {words}.", collection=COLLECTION, deadline=self._deadline
            )
            self._unanswered.append(ticket.id)
            answer = _patiently(lambda: ticket.get(self._deadline + GRACE_SECONDS), seconds=self._deadline)
            self._note_answer(plan, ticket.id, answer, time.monotonic() - start)

    def changed(self, client: redis.Redis) -> int:
        """Return how many answers are no longer what they were when they were read."""
        return sum(_stored_text(client, task) not in (None, text) for task, text in self._texts.items())

    def without_end(self, client: redis.Redis) -> dict[str, str]:
        """Return the questions that were sent and have no end, with their last state."""
        ids = [task for task in self._unanswered if task not in self._texts]
        stored: Any = client.mget([RESULT_PREFIX + task for task in ids]) if ids else []
        states = {task: json.loads(meta)["status"] if meta else "" for task, meta in zip(ids, stored, strict=True)}
        return {task: state for task, state in states.items() if state not in _ENDS}

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def _noted(self, what: str) -> _Noted:
        return _Noted(self, what)

    def _count(self, name: str) -> None:
        with self._lock:
            self.counts[name] += 1

    def _note_answer(self, plan: int, id: str, answer: Answer, seconds: float) -> None:
        versions = set(re.findall(r"version (\d+)", answer.text))
        self._count("answered")
        if len(versions) > 1:
            self._count("torn")
        if not versions or f"plan {plan} pays" not in answer.text or answer.question_id != id:
            self._count("wrong")
            shown = ", ".join(passage.name for passage in answer.audit.shown)
            self.oddities.append(
                f"plan {plan}, {id}: {answer.question_id}, {answer.text!r}, {answer.reason}, shown {shown}"
            )
        with self._lock:
            self.seconds.append(seconds)
            self.waited.append(answer.timings["queue"])
            self._texts[answer.question_id] = answer.text


class _Noted:
    """Turns what the client raises into figures."""

    def __init__(self, traffic: Traffic, what: str) -> None:
        self._traffic = traffic
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, RagError):
            return False
        name = str(getattr(error, "error", type(error).__name__))
        told = isinstance(error, TaskError)
        outcome = "expired" if name == "TaskExpired" else "failed" if told else "late"
        self._traffic._count("not_sent" if isinstance(error, BrokerUnavailable) else outcome)
        self._traffic.errors[f"{self._what}: {name}"] += 1
        return True


def left_over(client: redis.Redis) -> int:
    """Return how many tasks are in a queue or with a worker."""
    left: Any = [client.hlen("unacked"), client.llen(ANSWER_QUEUE), client.llen(INGEST_QUEUE)]
    return sum(left)


def _stored_text(client: redis.Redis, id: str) -> str | None:
    stored: Any = client.get(RESULT_PREFIX + id)
    if stored is None:
        return None
    result = json.loads(stored).get("result")
    return str(result.get("text")) if isinstance(result, dict) else ""


def _patiently(wait: Callable[[], T], *, seconds: float) -> T:
    """Wait again while Redis is away: only the wait broke off, the task goes on."""
    end = time.monotonic() + seconds + GRACE_SECONDS
    while time.monotonic() < end:
        with suppress(BrokerUnavailable):
            return wait()
        time.sleep(0.2)
    return wait()
