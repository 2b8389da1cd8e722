"""The Celery edge: a message in, the flow, a message out."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from celery import shared_task, states
from celery.exceptions import Reject

from producer.contract import (
    Answer,
    DeleteRequest,
    DocumentList,
    DocumentsRequest,
    IngestReport,
    IngestRequest,
    Message,
    Progress,
    Question,
    Reply,
    UploadRequest,
)
from producer.errors import RagError
from producer.grants import Signed
from producer.names import (
    ANSWER_TASK,
    CANCEL_PREFIX,
    CANCELLED_ERROR,
    DEADLINE_ERROR,
    DELETE_TASK,
    DOCUMENTS_TASK,
    INGEST_TASK,
    NIGHTLY_TASK,
    PROGRESS_EVENT,
    PROGRESS_STATE,
    UPLOAD_TASK,
)
from worker import runtime, stopping
from worker.capacity import require_room
from worker.delivery import SingleFlight, run_capped
from worker.errors import AccessDenied, Cancelled, IngestStopped, WorkerError
from worker.lease import LEASE_SECONDS
from worker.nights import due_night
from worker.records import IngestOutcome, IngestProgress
from worker.translation import answer_of, document_of, filter_of, report_of

_log = logging.getLogger(__name__)
# Progress is looked at by people: more often than this is only work for Redis.
_PROGRESS_SECONDS = 0.5
# What an app is told of a question that ended so; everything else has failed.
_ENDS = {DEADLINE_ERROR: "expired", CANCELLED_ERROR: "cancelled"}


_flights = SingleFlight()
M = TypeVar("M", bound=Message)
R = TypeVar("R", UploadRequest, DeleteRequest)


class TaskFailure(Exception):
    """Raised to Celery for every failure: (error type, reason, retryable), and never a client's words."""


def _task(name: str) -> Callable[[Callable[..., Any]], Any]:
    """Register a task whose result appears in no log line and in no event."""
    return shared_task(name=name, bind=True, throws=(TaskFailure,), resultrepr_maxsize=0)


@_task(ANSWER_TASK)
def answer(self: Any, message: Mapping[str, Any], signed: Signed | None = None) -> Any:
    """Answer one question; whoever it names for a reply is told before the task ends, so that none is lost.

    What cannot be read, or was not allowed, is nobody's question: its sender alone is told, by the result.
    """
    with _told_as_failure():
        question = _allowed(self, Question, message, signed)
    try:
        with _told_as_failure():
            ended = _once(
                self, lambda: _answered(question), deadline=question.deadline, require=lambda: _require_time(question)
            )
    except TaskFailure as failure:
        error, reason, retryable = failure.args
        _reply(question, _ENDS.get(error, "failed"), error=error, reason=reason, retryable=retryable)
        raise
    _reply(question, "succeeded", answer=Answer.from_dict(ended))
    return ended


def _require_time(question: Question) -> None:
    runtime.current().pace.require_time(question.connector, asked_at=question.asked_at, deadline=question.deadline)


def _reply(question: Question, state: str, **end: Any) -> None:
    if question.reply_to:
        reply = Reply(question_id=question.id, state=state, **end)
        runtime.current().board.deliver(question.reply_to, question.id, reply.to_dict())


@_task(INGEST_TASK)
def ingest(self: Any, message: Mapping[str, Any], signed: Signed | None = None) -> Any:
    """Make a folder the content of a collection."""
    with _told_as_failure():
        request = _allowed(self, IngestRequest, message, signed)
        return _once(self, lambda: _ingested(self, request), deadline=request.deadline)


@_task(NIGHTLY_TASK)
def nightly(self: Any, collection: str, folder: str) -> Any:
    """Ingest one configured folder, once a night; sent by beat every hour, so that a night is not missed."""
    with _told_as_failure():
        _require_configured(collection, folder)
        request = IngestRequest(folder=folder, collection=collection)
        return _once(self, lambda: _ingested_tonight(self, request), deadline=request.deadline)


def _allowed(task: Any, kind: type[M], message: Mapping[str, Any], signed: Signed | None) -> M:
    """Read a request that its sender may have done; raises ContractError, InvalidRequest, AccessDenied."""
    request = kind.from_dict(message)
    runtime.current().access.require(task.name, task.request.id, message, signed)
    return request


def _require_configured(collection: str, folder: str) -> None:
    """Raise AccessDenied where requests are signed and this one, which beat cannot sign, is none of beat's."""
    current = runtime.current()
    if current.access and (collection, Path(folder)) not in current.config.folders:
        raise AccessDenied("this folder is none of the RAG_FOLDERS of the ingest worker")


def _once(
    task: Any,
    work: Callable[[], dict[str, Any]],
    *,
    deadline: float,
    require: Callable[[], None] = lambda: None,
) -> Any:
    """Do a task's work once, however often it is delivered; `require` raises where it is not to be begun now."""
    task_id = task.request.id

    def run() -> Any:
        if _is_redelivered(task):
            ended = task.backend.get_task_meta(task_id)
            if ended["status"] == states.SUCCESS:
                return ended["result"]
            if ended["status"] == states.FAILURE:
                raise ended["result"]
        require()
        task.update_state(state=states.STARTED)
        return run_capped(task_id, work, journal=runtime.current().journal, deadline=deadline)

    return _flights.run(task_id, run)


def _is_redelivered(task: Any) -> bool:
    return bool(task.request.delivery_info.get("redelivered"))


def _answered(question: Question) -> dict[str, Any]:
    started = time.time()
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
        where=filter_of(question.filters),
        history=tuple((turn.role, turn.content) for turn in question.history),
        cancelled=lambda: runtime.current().board.is_cancelled(question.id),
    )
    if outcome.timings.get("generate"):
        runtime.current().pace.note(question.connector, time.time() - started)
    return answer_of(question, outcome, queued=started - question.asked_at).to_dict()


def _ingested(task: Any, request: IngestRequest) -> dict[str, Any]:
    _require_room()
    flag, database = CANCEL_PREFIX + task.request.id, runtime.current().store.database
    # The run that died with its process, and comes back with this one, still has the collection's lease for a while.
    wait = 2 * LEASE_SECONDS if _is_redelivered(task) else 0.0
    try:
        outcome = runtime.current().ingests.ingest(
            Path(request.folder),
            collection=request.collection,
            progress=_ProgressTeller(task),
            stop=lambda: stopping.is_told() or database.exists(flag),
            wait=wait,
        )
    except IngestStopped as error:
        if stopping.is_told():
            _put_back(task)
        raise Cancelled(str(error)) from None
    return report_of(request.collection, outcome).to_dict()


def _put_back(task: Any) -> NoReturn:
    """Leave the task in its queue, as if it had not been started; what is stored by now is not read again."""
    task.backend.forget(task.request.id)
    raise Reject("the worker stops", requeue=True)


def _ingested_tonight(task: Any, request: IngestRequest) -> dict[str, Any]:
    """Ingest unless another task does or did for this night; where this one fails, the next hour's may try."""
    journal, config = runtime.current().journal, runtime.current().config
    night = due_night(datetime.now(config.time_zone), config.nightly_at)
    if not journal.claim_night(request.collection, night, task.request.id):
        done = f"the night of {night} is done, or is being done"
        return IngestReport(collection=request.collection, warnings=(done,)).to_dict()
    try:
        return _ingested(task, request)
    except Cancelled:  # somebody does not want it tonight
        raise
    except (WorkerError, RagError):
        journal.give_night_back(request.collection, night)
        raise


def _require_room() -> None:
    require_room(runtime.current().journal.memory(), mark=runtime.current().config.redis_mark)


@_task(UPLOAD_TASK)
def upload(self: Any, message: Mapping[str, Any], signed: Signed | None = None) -> Any:
    """Store one document whose bytes wait in Redis."""
    with _told_as_failure():
        request = _allowed(self, UploadRequest, message, signed)
        return _once(self, lambda: _reported(request, _uploaded), deadline=request.deadline)


def _uploaded(request: UploadRequest) -> IngestOutcome:
    _require_room()
    singles, claims = runtime.current().singles, runtime.current().claims
    if singles.is_stored(request.name, request.sha256, request.tags, collection=request.collection):
        claims.forget(request.id)
        return IngestOutcome(unchanged=1)
    with claims.claimed(request.id, name=request.name, size=request.size, sha256=request.sha256) as path:
        return singles.upload(
            path,
            name=request.name,
            content_hash=request.sha256,
            collection=request.collection,
            tags=request.tags,
        )


@_task(DELETE_TASK)
def delete(self: Any, message: Mapping[str, Any], signed: Signed | None = None) -> Any:
    """Take one document out of every answer."""
    with _told_as_failure():
        request = _allowed(self, DeleteRequest, message, signed)
        return _once(self, lambda: _reported(request, _deleted), deadline=request.deadline)


def _deleted(request: DeleteRequest) -> IngestOutcome:
    return runtime.current().singles.delete(request.name, collection=request.collection)


def _reported(request: R, work: Callable[[R], IngestOutcome]) -> dict[str, Any]:
    return report_of(request.collection, work(request)).to_dict()


@_task(DOCUMENTS_TASK)
def documents(self: Any, message: Mapping[str, Any], signed: Signed | None = None) -> dict[str, Any]:
    """List what is stored in a collection."""
    with _told_as_failure():
        request, store = _allowed(self, DocumentsRequest, message, signed), runtime.current().store
        collection = request.collection
        store.generation(collection)  # an unknown one is an error, not an empty list
        facts, stored = store.facts(collection), store.documents(collection)
        return DocumentList(
            collection=collection,
            folder=facts.folder,
            ingested_at=facts.ingested_at,
            warning=facts.warning,
            documents=tuple(document_of(info) for _, info in sorted(stored.items())),
        ).to_dict()


class _ProgressTeller:
    """Passes progress on to whoever waits (result key) and to operators (event), a few times a second.

    It is called between documents: the place to end where Redis is nearly full.
    """

    def __init__(self, task: Any) -> None:
        self._task = task
        self._told_at = 0.0

    def __call__(self, progress: IngestProgress) -> None:
        now = time.monotonic()
        if now - self._told_at < _PROGRESS_SECONDS and progress.done < progress.total:
            return
        self._told_at = now
        _require_room()
        told = Progress(**asdict(progress))
        self._task.update_state(state=PROGRESS_STATE, meta=told.to_dict())
        # Flower shows an event's `result` while the task runs.
        words = f"{told.done} of {told.total} documents"
        self._task.send_event(PROGRESS_EVENT, done=told.done, total=told.total, result=words)


@contextmanager
def _told_as_failure() -> Iterator[None]:
    """Tell every error as TaskFailure; an unforeseen one by type and place alone: its words may be a client's."""
    try:
        yield
    except (TaskFailure, Reject):
        raise
    except (WorkerError, RagError) as error:
        raise TaskFailure(type(error).__name__, str(error), error.retryable) from None
    except Exception as error:  # noqa: BLE001 - nothing may leave this room untranslated
        place = "".join(traceback.format_tb(error.__traceback__))
        _log.error("unforeseen %s\n%s", type(error).__name__, place)
        reason = f"unforeseen {type(error).__name__}; the worker's log says where"
        raise TaskFailure("InternalError", reason, False) from None
