"""What Redis holds about a task in, its state out: receipt, result and cancel flag together tell all states apart.

Celery calls an id that was never sent, a queued one and a lost one all PENDING; so each message comes with a receipt.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from producer.contract import Progress, State, TaskStatus
from producer.names import (
    CANCELLED_ERROR,
    DEADLINE_ERROR,
    FAILURE_TYPE,
    LOST_ERROR,
    PROGRESS_STATE,
    SILENCE_SECONDS,
)

_ENDS: dict[str, State] = {DEADLINE_ERROR: "expired", CANCELLED_ERROR: "cancelled"}


def receipt(*, kind: str, queue: str, deadline: float) -> str:
    """Return what is stored beside a message; `deadline` is in Unix seconds."""
    return json.dumps({"kind": kind, "queue": queue, "deadline": deadline})


def interpret(id: str, receipt: str | None, meta: str | None, flag: str | None) -> tuple[TaskStatus, Any]:
    """Return a task's status and, where it succeeded, its result as JSON."""
    sent: Mapping[str, Any] = json.loads(receipt) if receipt else {}
    kind, queue = sent.get("kind", ""), sent.get("queue", "")
    if meta is None:
        return TaskStatus(id=id, state=_without_result(sent, bool(flag)), kind=kind, queue=queue), None
    told = json.loads(meta)
    state, result = told.get("status"), told.get("result")
    if state == "SUCCESS":
        return TaskStatus(id=id, state="succeeded", kind=kind), result
    if state == PROGRESS_STATE:
        return _progress(id, kind, Progress.from_dict(result)), None
    if state == "FAILURE":
        return _failure(id, kind, result), None
    if state == "REVOKED":
        return TaskStatus(id=id, state=_revoked(sent), kind=kind), None
    return TaskStatus(id=id, state="started", kind=kind), None


def ahead(receipt: str, *, last: int, waiting: int) -> int:
    """Return how many of the `waiting` messages a queue's workers take before this one; `last` was sent last.

    A message that is not among them any more is in a worker's hands: nobody is ahead of it.
    """
    behind = last - int(json.loads(receipt).get("number", 0))
    return max(0, waiting - behind - 1)


def seconds_until_it_may_change(status: TaskStatus, receipt: str | None) -> float:
    """Return when a state may change although nothing is announced: at the deadline of what is still queued."""
    if status.state != "queued" or not receipt:
        return SILENCE_SECONDS
    return max(0.0, float(json.loads(receipt)["deadline"]) - time.time()) + 0.01


def _without_result(sent: Mapping[str, Any], cancelled: bool) -> State:
    if not sent:
        return "unknown"
    if cancelled:
        return "cancelled"
    return "expired" if time.time() > sent["deadline"] else "queued"


def _revoked(sent: Mapping[str, Any]) -> State:
    """Celery revokes both what expired in the queue and what an operator cancelled."""
    return "expired" if sent and time.time() > sent["deadline"] else "cancelled"


def _progress(id: str, kind: str, progress: Progress) -> TaskStatus:
    if time.time() - progress.told_at > SILENCE_SECONDS:
        reason = f"the worker has said nothing for {SILENCE_SECONDS:g} seconds; send the task again"
        return TaskStatus(id=id, state="failed", kind=kind, error=LOST_ERROR, reason=reason, retryable=True)
    return TaskStatus(id=id, state="progress", kind=kind, progress=progress)


def _failure(id: str, kind: str, result: object) -> TaskStatus:
    """Read the worker's (error type, reason, retryable), or Celery's own words for a lost worker."""
    told: Mapping[str, Any] = result if isinstance(result, Mapping) else {}
    error, reason, retryable = told.get("exc_type", "Error"), "the worker was lost or gave no reason", True
    if error == FAILURE_TYPE and len(told.get("exc_message", ())) == 3:
        error, reason, retryable = told["exc_message"]
    state = _ENDS.get(error, "failed")
    return TaskStatus(id=id, state=state, kind=kind, error=error, reason=reason, retryable=bool(retryable))
