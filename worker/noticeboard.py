"""What workers and apps tell one another beside queues and results: who is there, what nobody wants, replies.

rag:workers:QUEUE        hash     node -> JSON: told_at (Unix seconds), node, concurrency, faults (sentences)
rag:cancel:ID            string   there while nobody wants the task any more; written by the app
NAME of `stream:NAME`    stream   field `reply`: JSON of `producer.contract.Reply`
QUEUE of `task:T@QUEUE`  list     a Celery message that calls the app's own task T with `reply=...`
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from producer.envelope import envelope
from producer.names import ABSENT_SECONDS, CANCEL_PREFIX, REPLY_PREFIX, REPLY_STREAM_LENGTH, WORKERS_PREFIX
from worker.database import Database
from worker.errors import StoreError, StoreUnavailable

_RETRY_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)


class Noticeboard:
    """Safe to share between threads; calls raise StoreUnavailable while Redis is away."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def is_cancelled(self, id: str) -> bool:
        """Say whether nobody wants the task any more."""
        return self._database.exists(CANCEL_PREFIX + id)

    def tell_presence(self, queues: Sequence[str], node: str, *, concurrency: int, faults: Sequence[str]) -> None:
        """Say that a worker listens on these queues, and what an operator should mend; forget who left long ago."""
        now = time.time()
        told = json.dumps({"told_at": now, "node": node, "concurrency": concurrency, "faults": list(faults)})
        with self._database.translated():
            for queue in queues:
                key = WORKERS_PREFIX + queue
                others = self._database.client.hgetall(key)
                gone = [name for name, text in others.items() if now - json.loads(text)["told_at"] > ABSENT_SECONDS]
                if gone:
                    self._database.client.hdel(key, *gone)
                self._database.client.hset(key, node, told)

    def take_leave(self, queues: Sequence[str], node: str) -> None:
        """Say that a worker listens no more."""
        for queue in queues:
            self._database.call(self._database.client.hdel, WORKERS_PREFIX + queue, node)

    def deliver(self, to: str, id: str, reply: Mapping[str, Any]) -> None:
        """Send the end of question `id` to `stream:NAME` or `task:NAME@QUEUE`, as `Question.reply_to` has it.

        However long Redis is away: where the worker dies meanwhile, the next one answers and replies. An app's task
        gets the id `ID:reply`, by which a reply that comes twice is known.
        """
        while True:
            try:
                return self._deliver(to, id, reply)
            except StoreUnavailable:
                time.sleep(_RETRY_SECONDS)
            except StoreError as error:
                _log.error("the reply of %s cannot be delivered to %s: %s", id, to, error)
                return

    def _deliver(self, to: str, id: str, reply: Mapping[str, Any]) -> None:
        kind, _, name = to.partition(":")
        call, client = self._database.call, self._database.client
        if kind == "stream":
            fields = {"reply": json.dumps(reply)}
            call(client.xadd, REPLY_PREFIX + name, fields, maxlen=REPLY_STREAM_LENGTH, approximate=True)
        else:
            task, _, queue = name.partition("@")
            call(client.lpush, queue, envelope(task, {"reply": reply}, id=f"{id}:reply", queue=queue))

    def close(self) -> None:
        """Close the connections."""
        self._database.close()
