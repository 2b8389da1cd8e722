"""A question in, a verdict out: evidence, prompt, model, check. What a model wrote never leaves unchecked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from worker.citations import enforce_citations
from worker.connectors import Connector
from worker.conversation import Turns, in_context
from worker.drafts import Trace
from worker.errors import Cancelled, DeadlineExceeded, ModelRefused
from worker.evidence import QuestionEmbedder, Searcher, gather
from worker.filters import Filter
from worker.prompt import NO_ANSWER, Prompt
from worker.records import Draft, Outcome, Passage, Verdict
from worker.stopwatch import Stopwatch


class AnswerFlow:
    """Holds what lives as long as the process; safe to share among threads.

    `top_k`, `evidence_tokens`, `min_score` and `answer_tokens` are what a question gets that asks for nothing else.
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
        trace: Trace | None = None,
    ) -> None:
        self._embedder = embedder
        self._index = index
        self._connectors = connectors
        self._top_k = top_k
        self._evidence_tokens = evidence_tokens
        self._min_score = min_score
        self._answer_tokens = answer_tokens
        self._trace = trace

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
        model = self._connector(connector)
        asked = in_context(question, history)
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
        with watch.stage("generate"):
            draft = self._draft(Prompt(asked, passages), model, deadline, id)
        with watch.stage("check"):
            verdict = _check(draft, passages, asked, policy)
        return Outcome(verdict, passages, _reason(verdict), draft.model, draft.usage, watch.seconds)

    def _connector(self, name: str) -> Connector:
        """Look before anything is done: a question for a model that is not there must not end as "no answer"."""
        if name not in self._connectors:
            raise ModelRefused(f"connector {name!r} is not set up on this worker; see RAG_CLAUDE_API_KEY")
        return self._connectors[name]

    def _draft(self, prompt: Prompt, model: Connector, deadline: float, id: str) -> Draft:
        draft = model.complete(prompt, max_tokens=self._answer_tokens, deadline=deadline)
        if self._trace:
            self._trace.write(id, prompt, draft)
        return draft


def _check(draft: Draft, passages: tuple[Passage, ...], question: str, policy: str) -> Verdict:
    verdict = enforce_citations(draft.text, passages, question=question, citations=draft.citations, policy=policy)
    return replace(verdict, truncated=verdict.truncated or draft.truncated)


def _no_evidence(policy: str) -> Verdict:
    return Verdict(text=NO_ANSWER, abstained=True, policy="flag" if policy == "flag" else "strict")


def _reason(verdict: Verdict) -> str:
    if not verdict.abstained:
        return ""
    return "nothing_supported" if "nothing_supported" in verdict.flags else "model_abstained"


def _require_time(deadline: float) -> None:
    if time.time() >= deadline:
        raise DeadlineExceeded("the deadline passed before the model was asked")
