"""A question with its passages in, every checked attempt at an answer out: a draft, its repair, a fallback."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from worker.citations import Similarity, enforce_citations
from worker.connectors import Connector
from worker.conversation import Turns, asked_before, in_context
from worker.drafts import Trace
from worker.errors import ConnectorError, DeadlineExceeded, ModelRefused
from worker.prompt import Prompt
from worker.records import Attempt, Draft, Passage, Verdict
from worker.repair import is_better, problems
from worker.stopwatch import Stopwatch
from worker.unfinished import finished

FALLBACK = "fallback"
"""The flag of an answer that another connector gave, after the check had refused every draft of the chosen one."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """What every attempt at one question shares; `deadline` is in Unix seconds."""

    id: str
    question: str
    passages: tuple[Passage, ...]
    connector: str
    policy: str
    deadline: float
    history: Turns = ()

    def prompt(self, *told: str) -> Prompt:
        """Return the prompt; `told` is what an earlier draft was refused for."""
        return Prompt(in_context(self.question, self.history), self.passages, told)


class Attempts:
    """Asks connectors until the check is content, or there is no more to try.

    `repairs` says how often a connector is asked again where the check removed something; one that is not named is
    asked once. `fallback` names the connector that answers where the check refused every draft; "" for none.
    `similarity` is what the check compares words and sentences with.
    """

    def __init__(
        self,
        connectors: Mapping[str, Connector],
        *,
        answer_tokens: int,
        repairs: Mapping[str, int] | None = None,
        fallback: str = "",
        similarity: Similarity | None = None,
        trace: Trace | None = None,
    ) -> None:
        self._connectors = connectors
        self._answer_tokens = answer_tokens
        self._repairs = repairs or {}
        self._fallback = fallback
        self._similarity = similarity
        self._trace = trace

    def require(self, name: str) -> None:
        """Raise ModelRefused where a connector is not set up: that must not end as "no answer"."""
        if name not in self._connectors:
            raise ModelRefused(f"connector {name!r} is not set up on this worker; see RAG_CLAUDE_API_KEY")

    def at(self, asked: Asked, watch: Stopwatch) -> tuple[Attempt, tuple[Attempt, ...]]:
        """Return the best attempt and all of them in order; raises what the connector raises at its first draft."""
        best = self._attempt(asked, asked.connector, asked.prompt(), watch)
        attempts = [best]
        for _ in range(self._repairs.get(asked.connector, 0)):
            told = problems(best.verdict)
            another = self._repair(asked, told, watch) if told else None
            if another is None:
                break
            attempts.append(another)
            best = another if is_better(another.verdict, best.verdict) else best
        if self._fallback and reason(best.verdict) == "nothing_supported":
            attempts.append(self._fall_back(asked, watch))
            best = best if attempts[-1].verdict.abstained else attempts[-1]
        return best, tuple(attempts)

    def _repair(self, asked: Asked, told: tuple[str, ...], watch: Stopwatch) -> Attempt | None:
        """Try once more in at most half of the time that is left, as an answer is there already."""
        now = time.time()
        allowed = (asked.deadline - now) / 2
        if allowed < watch.seconds["generate"]:
            return None
        try:
            return self._attempt(replace(asked, deadline=now + allowed), asked.connector, asked.prompt(*told), watch)
        except (ConnectorError, DeadlineExceeded) as error:
            _log.info("question %s: no repair, %s", asked.id, type(error).__name__)
            return None

    def _fall_back(self, asked: Asked, watch: Stopwatch) -> Attempt:
        attempt = self._attempt(asked, self._fallback, asked.prompt(), watch)
        return replace(attempt, verdict=replace(attempt.verdict, flags=(*attempt.verdict.flags, FALLBACK)))

    def _attempt(self, asked: Asked, connector: str, prompt: Prompt, watch: Stopwatch) -> Attempt:
        with watch.stage("generate"):
            draft = self._connectors[connector].complete(
                prompt, max_tokens=self._answer_tokens, deadline=asked.deadline
            )
        if self._trace:
            self._trace.write(asked.id, prompt, draft)
        shown = asked.passages[: draft.shown]
        with watch.stage("check"):
            verdict = _check(draft, shown, asked, self._similarity)
        return Attempt(verdict, connector, shown, draft.model, draft.usage)


def reason(verdict: Verdict) -> str:
    """Why there is no answer; "" where there is one."""
    if not verdict.abstained:
        return ""
    if "nothing_supported" in verdict.flags:
        return "nothing_supported"
    return "truncated" if verdict.truncated else "model_abstained"


def _check(draft: Draft, shown: tuple[Passage, ...], asked: Asked, similarity: Similarity | None) -> Verdict:
    text = finished(draft.text) if draft.truncated else draft.text
    verdict = enforce_citations(
        text,
        shown,
        question=asked.question,
        before=asked_before(asked.history),
        citations=draft.citations,
        policy=asked.policy,
        similarity=similarity,
    )
    return replace(verdict, truncated=verdict.truncated or draft.truncated)
