"""The Celery edge: a message in, the flow, a message out. The only room that knows contract and records."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from celery import shared_task

from producer.contract import (
    Answer,
    Audit,
    Dropped,
    Figure,
    Filters,
    IngestReport,
    IngestRequest,
    Progress,
    Question,
    Refusal,
    Reply,
    Sentence,
    Shown,
    Source,
)
from producer.errors import RagError
from producer.names import (
    ANSWER_TASK,
    CANCELLED_ERROR,
    DEADLINE_ERROR,
    INGEST_TASK,
    NIGHTLY_TASK,
    PROGRESS_EVENT,
    PROGRESS_STATE,
)
from worker import runtime
from worker.citations import REASONS
from worker.errors import Cancelled, DeadlineExceeded, WorkerError
from worker.filters import Filter
from worker.records import CitedSource, IngestOutcome, IngestProgress, Outcome, Passage

_log = logging.getLogger(__name__)
# Progress is looked at by people: more often than this is only work for Redis.
_PROGRESS_SECONDS = 0.5
# What an app is told of a question that ended so; everything else has failed.
_ENDS = {DEADLINE_ERROR: "expired", CANCELLED_ERROR: "cancelled"}


class TaskFailure(Exception):
    """Raised to Celery for every failure: (error type, reason, retryable), and never a client's words."""


def _task(name: str, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Register a task whose result appears in no log line and in no event."""
    return shared_task(name=name, bind=True, throws=(TaskFailure,), resultrepr_maxsize=0, **options)


@_task(ANSWER_TASK, acks_late=True)
def answer(self: Any, message: Mapping[str, Any]) -> Any:
    """Answer one question; whoever it names for a reply is told before the task ends, so that none is lost."""
    try:
        ended = _answer_task(self, message)
    except TaskFailure as failure:
        error, reason, retryable = failure.args
        _reply(message, _ENDS.get(error, "failed"), error=error, reason=reason, retryable=retryable)
        raise
    _reply(message, "succeeded", answer=Answer.from_dict(ended))
    return ended


def _answer_task(task: Any, message: Mapping[str, Any]) -> Any:
    with _told_as_failure():
        question = Question.from_dict(message)
        started = time.time()
        if started > question.deadline:
            raise DeadlineExceeded("the question's deadline passed while it waited")
        if runtime.current().board.is_cancelled(question.id):
            raise Cancelled("the question was cancelled while it waited")
        outcome = runtime.current().answers.answer(
            question.text,
            id=question.id,
            collection=question.collection,
            connector=question.connector,
            top_k=question.top_k,
            min_score=question.min_score,
            policy=question.policy,
            deadline=question.deadline,
            where=_filter(question.filters),
            history=tuple((turn.role, turn.content) for turn in question.history),
            cancelled=lambda: runtime.current().board.is_cancelled(question.id),
        )
        return _answer(question, outcome, queued=started - question.asked_at).to_dict()


def _reply(message: Mapping[str, Any], state: str, **end: Any) -> None:
    to = message.get("reply_to", "")
    if to:
        reply = Reply(question_id=message["id"], state=state, **end)
        runtime.current().board.deliver(to, message["id"], reply.to_dict())


# An ingest is idempotent and runs every night; one that died with its worker is not put back, as a file that
# kills the worker would kill it again.
@_task(INGEST_TASK, acks_late=False)
def ingest(self: Any, message: Mapping[str, Any]) -> dict[str, Any]:
    """Make a folder the content of a collection."""
    with _told_as_failure():
        return _ingest(self, IngestRequest.from_dict(message))


@_task(NIGHTLY_TASK, acks_late=False)
def nightly(self: Any, collection: str, folder: str) -> dict[str, Any]:
    """Ingest one configured folder; sent by beat."""
    with _told_as_failure():
        return _ingest(self, IngestRequest(folder=folder, collection=collection))


def _ingest(task: Any, request: IngestRequest) -> dict[str, Any]:
    outcome = runtime.current().ingests.ingest(
        Path(request.folder), collection=request.collection, progress=_ProgressTeller(task)
    )
    return _report(request.collection, outcome).to_dict()


class _ProgressTeller:
    """Passes progress on to whoever waits (result key) and to operators (event), a few times a second."""

    def __init__(self, task: Any) -> None:
        self._task = task
        self._told_at = 0.0

    def __call__(self, progress: IngestProgress) -> None:
        now = time.monotonic()
        if now - self._told_at < _PROGRESS_SECONDS and progress.done < progress.total:
            return
        self._told_at = now
        told = Progress(**asdict(progress))
        self._task.update_state(state=PROGRESS_STATE, meta=told.to_dict())
        self._task.send_event(PROGRESS_EVENT, done=told.done, total=told.total)


@contextmanager
def _told_as_failure() -> Iterator[None]:
    """Tell every error as TaskFailure; an unforeseen one by type and place alone: its words may be a client's."""
    try:
        yield
    except (WorkerError, RagError) as error:
        raise TaskFailure(type(error).__name__, str(error), error.retryable) from None
    except Exception as error:  # noqa: BLE001 - nothing may leave this room untranslated
        place = "".join(traceback.format_tb(error.__traceback__))
        _log.error("unforeseen %s\n%s", type(error).__name__, place)
        reason = f"unforeseen {type(error).__name__}; the worker's log says where"
        raise TaskFailure("InternalError", reason, False) from None


# --- contract to records, and back ------------------------------------------------------------------


def _filter(filters: Filters | None) -> Filter | None:
    if filters is None:
        return None
    return Filter(
        patterns=filters.names,
        folder=filters.folder,
        modified_from_ns=_nanoseconds(filters.modified_from),
        modified_until_ns=_nanoseconds(filters.modified_until),
        tags=frozenset(filters.tags),
    )


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)


def _answer(question: Question, outcome: Outcome, *, queued: float) -> Answer:
    verdict = outcome.verdict
    return Answer(
        question_id=question.id,
        text=verdict.text,
        sources=tuple(_source(source, outcome.passages) for source in verdict.sources),
        sources_line=verdict.sources_line,
        abstained=verdict.abstained,
        reason=outcome.reason,
        connector=question.connector,
        model=outcome.model,
        policy=verdict.policy,
        timings={"queue": max(0.0, queued), **outcome.timings},
        usage=outcome.usage,
        audit=_audit(outcome),
    )


def _audit(outcome: Outcome) -> Audit:
    verdict = outcome.verdict
    return Audit(
        cited=verdict.cited,
        kept=tuple(source.name for source in verdict.sources),
        dropped=tuple(
            Dropped(**asdict(dropped), explanation=REASONS.get(dropped.reason, "")) for dropped in verdict.dropped
        ),
        shown=tuple(
            Shown(name=passage.name, score=passage.score, page=passage.page, heading=passage.heading)
            for passage in outcome.passages
        ),
        verified_by_check=tuple(_source(source, outcome.passages) for source in verdict.verified_by_check),
        citations_reported=verdict.citations_reported,
        truncated=verdict.truncated,
        flags=verdict.flags,
        sentences=tuple(
            Sentence(start=s.start, end=s.end, state=s.state, support=s.support, flags=s.flags)
            for s in verdict.sentences
        ),
        figures=tuple(Figure(string=f.string, state=f.state, reason=f.reason) for f in verdict.figures),
    )


def _source(source: CitedSource, passages: tuple[Passage, ...]) -> Source:
    """Move the quote's offsets from the passage to the document."""
    passage = passages[source.passage]
    found = source.start is not None and source.end is not None
    return Source(
        name=source.name,
        page=passage.page,
        heading=passage.heading,
        location=passage.location,
        quote=source.quote,
        start=passage.start + (source.start or 0) if found else None,
        end=passage.start + (source.end or 0) if found else None,
        score=passage.score,
        also_in=passage.also_in,
    )


def _report(collection: str, outcome: IngestOutcome) -> IngestReport:
    return IngestReport(
        collection=collection,
        added=outcome.added,
        changed=outcome.changed,
        removed=outcome.removed,
        unchanged=outcome.unchanged,
        refused=tuple(Refusal(**asdict(refused)) for refused in outcome.refused),
        chunks=outcome.chunks,
        seconds=outcome.seconds,
        warnings=outcome.warnings,
    )
