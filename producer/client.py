"""Questions and documents in, tickets out; a ticket gives the checked answer or the report.

The same as `aio`, for code without an event loop: each call runs there, on one background thread of the client.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

from producer.aio import IN_FLIGHT, AsyncRagClient, AsyncTicket, History, configuration
from producer.background import BackgroundLoop
from producer.contract import Answer, DocumentList, Filters, IngestReport, Message, Progress, State, TaskStatus
from producer.errors import ClientClosed
from producer.names import DEFAULT_DEADLINE_SECONDS

R = TypeVar("R", bound=Message)
T = TypeVar("T")

_CLOSED = "the client is closed; make another one, whose tickets find by their ids what this one sent"


class Ticket(Generic[R]):
    """A task that was sent; its `id` finds it again from any process."""

    def __init__(self, id: str, client: RagClient, result: type[R]) -> None:
        self.id = id
        self._client = client
        self._result = result

    @property
    def status(self) -> TaskStatus:
        """All that is known of the task now; raises BrokerUnavailable."""
        return self._client.status(self.id)

    @property
    def state(self) -> State:
        """The state alone."""
        return self._run(_state)

    @property
    def progress(self) -> Progress | None:
        """How far an ingest is; None where it does not run."""
        return self._run(_progress)

    def get(self, timeout: float = DEFAULT_DEADLINE_SECONDS) -> R:
        """Wait up to `timeout` seconds and return the result.

        Raises AnswerTimeout (the task goes on), TaskFailed, TaskExpired (of a question: QuestionExpired),
        TaskCancelled, UnknownTask or BrokerUnavailable.
        """
        return self._run(lambda ticket: ticket.get(timeout))

    def cancel(self) -> bool:
        """Say that nobody wants the task any more.

        True where no worker had begun it: none will. A running question stops before the model is asked, an ingest
        between two documents; False then, and where the task is over. Raises BrokerUnavailable.
        """
        return self._run(lambda ticket: ticket.cancel())

    def _run(self, call: Callable[[AsyncTicket[R]], Coroutine[Any, Any, T]]) -> T:
        return self._client._run(lambda client: call(client.ticket(self.id, self._result)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"


async def _state(ticket: AsyncTicket[Any]) -> State:
    return await ticket.state


async def _progress(ticket: AsyncTicket[Any]) -> Progress | None:
    return await ticket.progress


class RagClient:
    """Sends questions and documents to the workers; safe to share among threads, and usable after a fork.

    >>> with RagClient("redis://:secret@spark:6379/0") as client:
    ...     print(client.ask("What is the deductible?", collection="handbook").get().text)

    Without an URL it reads `RAG_BROKER_URL`, and without a grant `RAG_GRANT`, which workers want that take signed
    requests only: what the grant does not allow fails there, as TaskFailed with the error `AccessDenied`. Every call
    fails within about `timeout` seconds with BrokerUnavailable while Redis is away. Raises ConfigurationError where
    the URL is missing, or URL or grant is none.
    """

    def __init__(self, broker_url: str | None = None, *, timeout: float = 2.0, grant: str | None = None) -> None:
        self._config = configuration(broker_url, timeout, grant)
        # Neither threads nor connections outlive a fork, so each process makes its own when it first needs them.
        self._processes: dict[int, tuple[BackgroundLoop, AsyncRagClient]] = {}
        self._closed = False

    def ask(
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
    ) -> Ticket[Answer]:
        """Send a question and return at once; arguments and errors are those of `AsyncRagClient.ask`.

        Args:
            text: the question, up to 8,000 characters.
            collection: whose documents may answer.
            connector: `local` (the default) or `claude`.
            top_k: how many passages are shown to the model at most, 1 to 50.
            min_score: the cosine, -1 to 1, below which a passage is never shown.
            policy: `strict` (the default: unsupported sentences are removed) or `flag` (they stay and are flagged).
            deadline: seconds from now; a question that no worker answered by then expires.
            filters: which documents may answer.
            history: the conversation before this question, oldest turn first.
            question_id: your own id; asked twice, it is answered once.
            reply_to: where a `Reply` goes besides: `stream:NAME` or `task:NAME@QUEUE`.

        Raises InvalidRequest, BrokerUnavailable.
        """
        sent = self._run(
            lambda client: client.ask(
                text,
                collection=collection,
                connector=connector,
                top_k=top_k,
                min_score=min_score,
                policy=policy,
                deadline=deadline,
                filters=filters,
                history=history,
                question_id=question_id,
                reply_to=reply_to,
            )
        )
        return self.ticket(sent.id)

    def ask_many(
        self, texts: Iterable[str], *, collection: str, in_flight: int = IN_FLIGHT, **options: Any
    ) -> Iterator[Ticket[Answer]]:
        """Ask many questions, `in_flight` at a time; yield each one's ticket, in their order, once it is over.

        `get` then returns at once, or raises what became of this one question; the others go on. `options` are those
        of `ask`. Raises as `ask`.
        """
        loop, client = self._process()
        tickets = client.ask_many(texts, collection=collection, in_flight=in_flight, **options)
        try:
            while (ticket := loop.run(_next(tickets))) is not None:
                yield self.ticket(ticket.id)
        finally:
            if not self._closed:
                loop.run(tickets.aclose())  # type: ignore[attr-defined]  # it is a generator

    def ingest(self, folder: str, *, collection: str) -> Ticket[IngestReport]:
        """Ask the ingest worker to make a folder the content of a collection; raises as `ask`.

        The worker reads the folder: give its path as that machine knows it.
        """
        return self._report(self._run(lambda client: client.ingest(folder, collection=collection)))

    def ingest_bytes(
        self, name: str, data: bytes, *, collection: str, tags: Sequence[str] = ()
    ) -> Ticket[IngestReport]:
        """Put one document into a collection, or a new version of it; raises as `ask`.

        `name` is what answers will call it; its ending says how it is read. `tags` are for `Filters`.
        """
        return self._report(
            self._run(lambda client: client.ingest_bytes(name, data, collection=collection, tags=tags))
        )

    def delete(self, name: str, *, collection: str) -> Ticket[IngestReport]:
        """Take one document out of a collection: no answer is made from it any more. Raises as `ask`."""
        return self._report(self._run(lambda client: client.delete(name, collection=collection)))

    def documents(self, collection: str) -> Ticket[DocumentList]:
        """Ask what is stored in a collection; raises as `ask`."""
        return self.ticket(self._run(lambda client: client.documents(collection)).id, DocumentList)

    @overload
    def ticket(self, id: str) -> Ticket[Answer]: ...
    @overload
    def ticket(self, id: str, result: type[R]) -> Ticket[R]: ...
    def ticket(self, id: str, result: Any = Answer) -> Ticket[Any]:
        """Return the ticket of a task that was sent earlier, perhaps by another process.

        `result` says what it is of: `Answer`, `IngestReport` or `DocumentList`.
        """
        return Ticket(id, self, result)

    def status(self, id: str) -> TaskStatus:
        """Return what is known of a task; an unknown, a queued, a running and an expired one differ."""
        return self._run(lambda client: client.status(id))

    def survey(self) -> Mapping[str, Any]:
        """Return what Redis and the workers say of themselves, for `producer.checkup`; raises BrokerUnavailable."""
        return self._run(lambda client: client.survey())

    def close(self) -> None:
        """Give all connections back; the client is not usable afterwards."""
        self._closed = True
        process = self._processes.pop(os.getpid(), None)
        if process:
            _close(*process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _report(self, sent: AsyncTicket[IngestReport]) -> Ticket[IngestReport]:
        return self.ticket(sent.id, IngestReport)

    def _run(self, call: Callable[[AsyncRagClient], Coroutine[Any, Any, T]]) -> T:
        loop, client = self._process()
        try:
            return loop.run(call(client))
        except CancelledError:
            # By `close` in another thread: nothing else cancels what runs on this loop.
            raise ClientClosed(_CLOSED) from None

    def _make(self) -> AsyncRagClient:
        config = self._config
        grant = str(config.grant) if config.grant else None
        return AsyncRagClient(config.broker_url, timeout=config.broker_timeout, grant=grant)

    def _process(self) -> tuple[BackgroundLoop, AsyncRagClient]:
        """Return this process's loop and client. No lock: one that was held during a fork stays locked for ever."""
        if self._closed:
            raise ClientClosed(_CLOSED)
        pid = os.getpid()
        if pid not in self._processes:
            mine = (BackgroundLoop(), self._make())
            if self._processes.setdefault(pid, mine) is not mine:
                _close(*mine)
        return self._processes[pid]


async def _next(tickets: Any) -> AsyncTicket[Answer] | None:
    return await anext(tickets, None)


def _close(loop: BackgroundLoop, client: AsyncRagClient) -> None:
    loop.cancel()
    loop.run(client.close())
    loop.close()
