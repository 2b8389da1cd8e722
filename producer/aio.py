"""Questions and documents in, tickets out, for asyncio; no thread, and one subscription for all that wait."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar, overload

from producer.config import ProducerConfig, read, redis_url
from producer.contract import (
    Answer,
    DeleteRequest,
    DocumentList,
    DocumentsRequest,
    Filters,
    IngestReport,
    IngestRequest,
    Message,
    Progress,
    Question,
    State,
    TaskStatus,
    Turn,
    UploadRequest,
)
from producer.envelope import envelope
from producer.errors import (
    AnswerTimeout,
    ConfigurationError,
    InvalidRequest,
    QuestionExpired,
    TaskCancelled,
    TaskExpired,
    TaskFailed,
    UnknownTask,
)
from producer.grants import Grant
from producer.link import Link
from producer.names import (
    ANSWER_QUEUE,
    ANSWER_TASK,
    DEFAULT_DEADLINE_SECONDS,
    DELETE_TASK,
    DOCUMENTS_TASK,
    INGEST_QUEUE,
    INGEST_TASK,
    LARGEST_UPLOAD_BYTES,
    UPLOAD_TASK,
)

R = TypeVar("R", bound=Message)
History = Sequence[Turn | Mapping[str, str]]

# More questions in the queues than workers can hold only grow old there.
IN_FLIGHT: Final = 32


class AsyncTicket(Generic[R]):
    """A task that was sent; its `id` finds it again from any process. `await ticket` is `await ticket.get()`."""

    def __init__(self, id: str, link: Link, result: type[R]) -> None:
        self.id = id
        self._link = link
        self._result = result

    @property
    async def status(self) -> TaskStatus:
        """All that is known of the task now; raises BrokerUnavailable."""
        return await self._link.status(self.id)

    @property
    async def state(self) -> State:
        """The state alone."""
        return (await self._link.look(self.id))[0].state

    @property
    async def progress(self) -> Progress | None:
        """How far an ingest is; None where it does not run."""
        return (await self._link.look(self.id))[0].progress

    async def get(self, timeout: float = DEFAULT_DEADLINE_SECONDS) -> R:
        """Wait up to `timeout` seconds and return the result.

        Raises AnswerTimeout (the task goes on), TaskFailed, TaskExpired (of a question: QuestionExpired),
        TaskCancelled, UnknownTask or BrokerUnavailable.
        """
        status, result = await self._link.wait(self.id, timeout=timeout)
        match status.state:
            case "succeeded":
                return self._result.from_dict(result)
            case "failed":
                raise TaskFailed(self.id, status.error, status.reason, retryable=status.retryable)
            case "expired":
                raise (QuestionExpired if self._result is Answer else TaskExpired)(self.id)
            case "cancelled":
                raise TaskCancelled(self.id)
            case "unknown":
                raise UnknownTask(self.id)
            case _:
                words = (await self._link.status(self.id)).words
                raise AnswerTimeout(f"{self.id}: not over after {timeout:g} seconds: still {words}")

    async def settled(self, timeout: float = DEFAULT_DEADLINE_SECONDS) -> Self:
        """Wait like `get`, but return the ticket itself, however the task ended; raises BrokerUnavailable."""
        await self._link.wait(self.id, timeout=timeout)
        return self

    async def cancel(self) -> bool:
        """Say that nobody wants the task any more.

        True where no worker had begun it: none will. A running question stops before the model is asked, an ingest
        between two documents; False then, and where the task is over. Raises BrokerUnavailable.
        """
        return await self._link.cancel(self.id)

    def __await__(self) -> Generator[Any, None, R]:
        return self.get().__await__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"


class AsyncRagClient:
    """Sends questions and documents to the workers; belongs to the event loop that it is first used in.

    >>> async with AsyncRagClient("redis://:secret@spark:6379/0") as client:
    ...     ticket = await client.ask("What is the deductible?", collection="handbook")
    ...     print((await ticket).text)

    Without an URL it reads `RAG_BROKER_URL`, and without a grant `RAG_GRANT`, which workers want that take signed
    requests only: what the grant does not allow fails there, as TaskFailed with the error `AccessDenied`. Every call
    fails within about `timeout` seconds with BrokerUnavailable while Redis is away. Raises ConfigurationError where
    the URL is missing, or URL or grant is none.
    """

    def __init__(self, broker_url: str | None = None, *, timeout: float = 2.0, grant: str | None = None) -> None:
        config = configuration(broker_url, timeout, grant)
        self._link = Link(config)
        self._grant = config.grant

    async def ask(
        self,
        text: str,
        *,
        collection: str,
        connector: str | None = None,
        top_k: int | None = None,
        min_score: float | None = None,
        policy: str | None = None,
        deadline: float = DEFAULT_DEADLINE_SECONDS,
        filters: Filters | None = None,
        history: History = (),
        question_id: str | None = None,
        reply_to: str = "",
    ) -> AsyncTicket[Answer]:
        """Send a question and return at once.

        Args:
            text: the question, up to 8,000 characters.
            collection: whose documents may answer.
            connector: `local` (the default) or `claude`.
            top_k: how many passages are shown to the model at most, 1 to 50.
            min_score: the cosine, -1 to 1, below which a passage is never shown.
            policy: `strict` (the default: unsupported sentences are removed) or `flag` (they stay and are flagged).
            deadline: seconds from now; a question that no worker answered by then expires.
            filters: which documents may answer.
            history: the conversation before this question, oldest turn first, as `Turn` or as
                `{"role": "user", "content": "..."}`. A follow-up is understood by it; only documents are evidence.
            question_id: your own id. Asked again while the first is on its way or answered, nothing is sent, and the
                ticket is that of the first; one that ended without an answer is asked anew.
            reply_to: where a `Reply` goes besides, at least once: `stream:NAME` (the Redis stream `rag:reply:NAME`,
                field `reply`) or `task:NAME@QUEUE` (a Celery task of yours, called with `reply=...`).

        Raises InvalidRequest, BrokerUnavailable.
        """
        now = time.time()
        given = {"id": question_id, "connector": connector, "policy": policy}
        question = Question(
            text=text,
            collection=collection,
            top_k=top_k,
            min_score=min_score,
            filters=filters,
            history=history,  # type: ignore[arg-type]  # dicts become turns
            reply_to=reply_to,
            asked_at=now,
            deadline=now + deadline,
            **{name: value for name, value in given.items() if value is not None},
        )
        await self._post(ANSWER_TASK, "answer", ANSWER_QUEUE, question, expires=not reply_to)
        return self.ticket(question.id)

    async def ask_many(
        self,
        texts: Iterable[str],
        *,
        collection: str,
        in_flight: int = IN_FLIGHT,
        deadline: float = DEFAULT_DEADLINE_SECONDS,
        **options: Any,
    ) -> AsyncIterator[AsyncTicket[Answer]]:
        """Ask many questions, `in_flight` at a time; yield each one's ticket, in their order, once it is over.

        `get` then returns at once, or raises what became of this one question; the others go on. `options` are those
        of `ask`. Raises as `ask`.
        """
        pending: deque[asyncio.Task[AsyncTicket[Answer]]] = deque()

        async def answered(text: str) -> AsyncTicket[Answer]:
            ticket = await self.ask(text, collection=collection, deadline=deadline, **options)
            return await ticket.settled(timeout=deadline)

        rest = iter(texts)
        try:
            while True:
                pending.extend(asyncio.create_task(answered(text)) for text in islice(rest, in_flight - len(pending)))
                if not pending:
                    return
                yield await pending.popleft()
        finally:
            for task in pending:
                task.cancel()

    async def ingest(self, folder: str, *, collection: str) -> AsyncTicket[IngestReport]:
        """Ask the ingest worker to make a folder the content of a collection; raises as `ask`.

        The worker reads the folder: give its path as that machine knows it.
        """
        request = IngestRequest(folder=str(folder), collection=collection)
        await self._post(INGEST_TASK, "ingest", INGEST_QUEUE, request)
        return self.ticket(request.id, IngestReport)

    async def ingest_bytes(
        self, name: str, data: bytes, *, collection: str, tags: Sequence[str] = ()
    ) -> AsyncTicket[IngestReport]:
        """Put one document into a collection, or a new version of it; raises as `ask`.

        `name` is what answers will call it; its ending says how it is read. `tags` are for `Filters`.
        """
        if not 0 < len(data) <= LARGEST_UPLOAD_BYTES:
            raise InvalidRequest(f"{name!r} has {len(data)} bytes; 1 to {LARGEST_UPLOAD_BYTES} can be uploaded")
        request = UploadRequest(
            name=name,
            collection=collection,
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            tags=tuple(tags),
        )
        await self._link.upload(request.id, data, seconds=request.deadline - time.time())
        await self._post(UPLOAD_TASK, "ingest", INGEST_QUEUE, request)
        return self.ticket(request.id, IngestReport)

    async def delete(self, name: str, *, collection: str) -> AsyncTicket[IngestReport]:
        """Take one document out of a collection: no answer is made from it any more. Raises as `ask`."""
        request = DeleteRequest(name=name, collection=collection)
        await self._post(DELETE_TASK, "ingest", INGEST_QUEUE, request)
        return self.ticket(request.id, IngestReport)

    async def documents(self, collection: str) -> AsyncTicket[DocumentList]:
        """Ask what is stored in a collection; raises as `ask`."""
        request = DocumentsRequest(collection=collection)
        await self._post(DOCUMENTS_TASK, "documents", ANSWER_QUEUE, request)
        return self.ticket(request.id, DocumentList)

    @overload
    def ticket(self, id: str) -> AsyncTicket[Answer]: ...
    @overload
    def ticket(self, id: str, result: type[R]) -> AsyncTicket[R]: ...
    def ticket(self, id: str, result: Any = Answer) -> AsyncTicket[Any]:
        """Return the ticket of a task that was sent earlier, perhaps by another process.

        `result` says what it is of: `Answer`, `IngestReport` or `DocumentList`.
        """
        return AsyncTicket(id, self._link, result)

    async def status(self, id: str) -> TaskStatus:
        """Return what is known of a task; an unknown, a queued, a running and an expired one differ."""
        return await self._link.status(id)

    async def survey(self) -> Mapping[str, Any]:
        """Return what Redis and the workers say of themselves, for `producer.checkup`; raises BrokerUnavailable."""
        return await self._link.survey((ANSWER_QUEUE, INGEST_QUEUE))

    async def close(self) -> None:
        """Give all connections back; the client is not usable afterwards."""
        await self._link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _post(self, task: str, kind: str, queue: str, message: Any, *, expires: bool = True) -> None:
        """Send a request. A worker drops what expired unread, which nobody could be told of by a reply."""
        until = message.deadline if expires else None
        content = message.to_dict()
        signed = {"signed": self._grant.sign(task, content)} if self._grant else {}
        text = envelope(task, {"message": content, **signed}, id=message.id, queue=queue, expires=until)
        await self._link.send(text, id=message.id, kind=kind, queue=queue, deadline=message.deadline)


def configuration(broker_url: str | None, timeout: float, grant: str | None) -> ProducerConfig:
    """Return a client's settings, from the environment where they are not given; raises ConfigurationError."""
    environment = {
        **os.environ,
        **_given("broker_url", "RAG_BROKER_URL", redis_url, broker_url),
        **_given("grant", "RAG_GRANT", Grant.of, grant),
    }
    config = read(ProducerConfig, environment)
    return config if broker_url is None else replace(config, broker_timeout=timeout)


def _given(argument: str, variable: str, parse: Callable[[str], object], text: str | None) -> dict[str, str]:
    """An argument in the place of its variable, refused under its own name."""
    if text is None:
        return {}
    try:
        parse(text)
    except ValueError as error:
        raise ConfigurationError(f"{argument} {error}") from error
    return {variable: text}
