"""Questions and folders in, tickets out; a ticket gives the checked answer or the report."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Generic, Self, TypeVar

from producer.broker import Broker
from producer.config import ProducerConfig, read, redis_url
from producer.contract import Answer, IngestReport, IngestRequest, Message, Question, TaskStatus
from producer.errors import (
    AnswerTimeout,
    ConfigurationError,
    TaskCancelled,
    TaskExpired,
    TaskFailed,
    UnknownTask,
)
from producer.names import (
    ANSWER_QUEUE,
    ANSWER_TASK,
    DEFAULT_DEADLINE_SECONDS,
    INGEST_QUEUE,
    INGEST_TASK,
)
from producer.results import Results

R = TypeVar("R", bound=Message)


class Ticket(Generic[R]):
    """A task that was sent; its `id` finds it again from any process."""

    def __init__(self, id: str, results: Results, result_type: type[R]) -> None:
        self.id = id
        self._results = results
        self._result_type = result_type

    @property
    def status(self) -> TaskStatus:
        """What is known of the task now; raises BrokerUnavailable."""
        return self._results.status(self.id)

    def get(self, timeout: float = DEFAULT_DEADLINE_SECONDS) -> R:
        """Wait up to `timeout` seconds and return the result.

        Raises AnswerTimeout (the task goes on), TaskFailed, TaskExpired, TaskCancelled, UnknownTask or
        BrokerUnavailable.
        """
        status, result = self._results.wait(self.id, timeout=timeout)
        match status.state:
            case "succeeded":
                return self._result_type.from_dict(result)
            case "failed":
                raise TaskFailed(self.id, status.error, status.reason, retryable=status.retryable)
            case "expired":
                raise TaskExpired(self.id)
            case "cancelled":
                raise TaskCancelled(self.id)
            case "unknown":
                raise UnknownTask(self.id)
            case _:
                raise AnswerTimeout(f"{self.id}: still {status.state} after {timeout:g} seconds")

    def __repr__(self) -> str:
        return f"Ticket({self.id!r})"


class RagClient:
    """Sends questions and folders to the workers; safe to share among threads.

    >>> with RagClient("redis://:secret@spark:6379/0") as client:
    ...     print(client.ask("What is the deductible?", collection="handbook").get().text)

    Without an URL it reads `RAG_BROKER_URL`. Every call fails within about `timeout` seconds with
    BrokerUnavailable while Redis is away. Raises ConfigurationError where the URL is missing or is none.
    """

    def __init__(self, broker_url: str | None = None, *, timeout: float = 2.0) -> None:
        config = _config(broker_url, timeout)
        self._results = Results(config)
        self._broker = Broker(config)

    def ask(
        self,
        text: str,
        *,
        collection: str,
        connector: str = "local",
        top_k: int | None = None,
        min_score: float | None = None,
        policy: str = "strict",
        deadline: float = DEFAULT_DEADLINE_SECONDS,
    ) -> Ticket[Answer]:
        """Send a question and return at once.

        `deadline` is in seconds from now; a question that no worker answered by then expires. `top_k` passages
        at most are shown to the model, those of cosine below `min_score` never. `policy` is `strict` (unsupported
        sentences are removed) or `flag` (they stay and are flagged). Raises InvalidRequest, BrokerUnavailable.
        """
        now = time.time()
        question = Question(
            text=text,
            collection=collection,
            connector=connector,
            top_k=top_k,
            min_score=min_score,
            policy=policy,
            asked_at=now,
            deadline=now + deadline,
        )
        self._send(ANSWER_TASK, ANSWER_QUEUE, "answer", question)
        return self.ticket(question.id)

    def ingest(self, folder: str, *, collection: str) -> Ticket[IngestReport]:
        """Ask the ingest worker to make a folder the content of a collection; raises as `ask`.

        The worker reads the folder: give its path as that machine knows it.
        """
        request = IngestRequest(folder=str(folder), collection=collection)
        self._send(INGEST_TASK, INGEST_QUEUE, "ingest", request)
        return Ticket(request.id, self._results, IngestReport)

    def ticket(self, id: str) -> Ticket[Answer]:
        """Return the ticket of a question that was sent earlier, perhaps by another process."""
        return Ticket(id, self._results, Answer)

    def status(self, id: str) -> TaskStatus:
        """Return what is known of a task; an unknown, a queued, a running and an expired one differ."""
        return self._results.status(id)

    def close(self) -> None:
        """Give all connections back; the client is not usable afterwards."""
        self._broker.close()
        self._results.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, task: str, queue: str, kind: str, message: Question | IngestRequest) -> None:
        """Write the receipt first: a task without one would look unknown to whoever asks for it."""
        self._results.write_receipt(message.id, kind=kind, deadline=message.deadline)
        self._broker.send(task, message.to_dict(), id=message.id, queue=queue, deadline=message.deadline)


def _config(broker_url: str | None, timeout: float) -> ProducerConfig:
    if broker_url is None:
        return read(ProducerConfig)
    try:
        return ProducerConfig(broker_url=redis_url(broker_url), broker_timeout=timeout)
    except ValueError as error:
        raise ConfigurationError(f"broker_url {error}") from error
