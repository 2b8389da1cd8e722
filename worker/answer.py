"""A question in, a verdict out: evidence, prompt, model, check. What a model wrote never leaves unchecked."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from worker.attempts import Asked, Attempts, reason
from worker.citations import Similarity
from worker.connectors import Connector
from worker.conversation import Turns
from worker.drafts import Trace
from worker.errors import Cancelled, DeadlineExceeded
from worker.evidence import QuestionEmbedder, Searcher, gather
from worker.filters import Filter
from worker.prompt import NO_ANSWER
from worker.records import Attempt, Outcome, Verdict
from worker.stopwatch import Stopwatch


class AnswerFlow:
    """Holds what lives as long as the process; safe to share among threads.

    `top_k`, `evidence_tokens`, `min_score` and `answer_tokens` are what a question gets that asks for nothing else;
    `repairs`, `fallback`, `similarity` and `trace` are explained in `Attempts`.
    """

    def __init__(
        self,
        *,
        embedder: QuestionEmbedder,
        index: Searcher,
        connectors: Mapping[str, Connector],
        top_k: int,
        evidence_tokens: int,
        min_score: float,
        answer_tokens: int,
        repairs: Mapping[str, int] | None = None,
        fallback: str = "",
        similarity: Similarity | None = None,
        trace: Trace | None = None,
    ) -> None:
        self._embedder = embedder
        self._index = index
        self._top_k = top_k
        self._evidence_tokens = evidence_tokens
        self._min_score = min_score
        self._attempts = Attempts(
            connectors,
            answer_tokens=answer_tokens,
            repairs=repairs,
            fallback=fallback,
            similarity=similarity,
            trace=trace,
        )

    def answer(
        self,
        question: str,
        *,
        collection: str,
        deadline: float,
        id: str = "",
        connector: str = "local",
        top_k: int | None = None,
        min_score: float | None = None,
        policy: str = "strict",
        where: Filter | None = None,
        history: Turns = (),
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Outcome:
        """Answer from the collection's documents, or abstain.

        `deadline` is in Unix seconds. `where` says which documents may answer; `history` is the conversation so far,
        oldest turn first; `cancelled` is asked before the model is. Raises UnknownCollection, StoreUnavailable,
        DeadlineExceeded, Cancelled, or what the connector raises.
        """
        self._attempts.require(connector)
        watch = Stopwatch()
        with watch.stage("retrieve"):
            passages = gather(
                question,
                collection=collection,
                embedder=self._embedder,
                index=self._index,
                k=top_k or self._top_k,
                max_tokens=self._evidence_tokens,
                min_score=self._min_score if min_score is None else min_score,
                where=where,
                history=history,
            )
        if not passages:
            return Outcome(_no_evidence(policy), reason="no_evidence", timings=watch.seconds)
        _require_time(deadline)
        if cancelled():
            raise Cancelled("the question was cancelled before the model was asked")
        asked = Asked(id, question, passages, connector, policy, deadline, history)
        best, attempts = self._attempts.at(asked, watch)
        return Outcome(
            verdict=best.verdict,
            passages=best.passages,
            reason=reason(best.verdict),
            connector=best.connector,
            model=best.model,
            attempts=attempts,
            usage=_usage(attempts),
            timings=watch.seconds,
        )


def _usage(attempts: Sequence[Attempt]) -> dict[str, int]:
    """Every attempt is paid for, the best one or not."""
    total: Counter[str] = Counter()
    for attempt in attempts:
        total.update(attempt.usage)
    return dict(total)


def _no_evidence(policy: str) -> Verdict:
    return Verdict(text=NO_ANSWER, abstained=True, policy="flag" if policy == "flag" else "strict")


def _require_time(deadline: float) -> None:
    if time.time() >= deadline:
        raise DeadlineExceeded("the deadline passed before the model was asked")
