"""A question in, the passages that may answer it out; or none, when nothing is near enough."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from worker.conversation import Turns, searched
from worker.filters import Filter
from worker.records import Hit, Passage

# So many hits are looked at for each passage wanted, since some of them say the same.
_HITS_A_PASSAGE = 3
# By so much cosine must a conversation's best hit be nearer than the question's own. Of margins from 0 to .12 on
# MTRAG's finance questions, .06 to .1 find most follow-ups (nDCG@10 .289 -> .309; rewritten by hand they reach .334)
# and spoil no question that stands alone (.334 -> .336).
_CLEARLY = 0.08
# Passages that share this much of their word triples are one text in two places (Broder's resemblance, 1997).
_SAME_TEXT = 0.8
_SHINGLE = 3


class Searcher(Protocol):
    """What `worker.index.Index` offers."""

    def search(
        self,
        collection: str,
        queries: np.ndarray,
        *,
        k: int,
        min_score: float = -1.0,
        where: Filter | None = None,
        questions: Sequence[str] | None = None,
    ) -> list[list[Hit]]:
        """Return the hits of each query, best first."""
        ...


class QuestionEmbedder(Protocol):
    """What `worker.embedding.Embedder` offers."""

    def embed_query(self, text: str) -> np.ndarray:
        """Return the question's unit vector, float32 of shape (d,)."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return the text's length in tokens."""
        ...


def gather(
    question: str,
    *,
    collection: str,
    embedder: QuestionEmbedder,
    index: Searcher,
    k: int,
    max_tokens: int,
    min_score: float,
    where: Filter | None = None,
    history: Turns = (),
) -> tuple[Passage, ...]:
    """Return at most `k` passages, best first, of at most `max_tokens` tokens together; () means: abstain.

    `where` says which documents may answer; `history` is the conversation so far, oldest turn first. A passage has
    cosine `min_score` or more, or holds a rare name of the question. Texts that stand in several places are shown
    once. Raises UnknownCollection, EmbedderMismatch, StoreUnavailable.
    """
    texts = searched(question, history)
    queries = np.stack([embedder.embed_query(text) for text in texts])
    found = index.search(
        collection,
        queries,
        k=k * _HITS_A_PASSAGE,
        min_score=min_score,
        where=where,
        questions=[question] * len(texts),
    )
    passages = merge_same_texts(map(_passage, clearly_nearer(found)))[:k]
    return fit(passages, max_tokens=max_tokens, count_tokens=embedder.count_tokens)


def clearly_nearer(found: Sequence[list[Hit]]) -> list[Hit]:
    """Return the hits of the question by itself, unless those of it in its conversation are clearly nearer."""
    alone, *rest = found
    return next((hits for hits in rest if _best(hits) > _best(alone) + _CLEARLY), alone)


def merge_same_texts(passages: Iterable[Passage]) -> list[Passage]:
    """Keep the best of passages that say the same in nearly the same words; it names the others' documents."""
    kept: list[Passage] = []
    texts: list[frozenset[tuple[str, ...]]] = []
    for passage in passages:
        shingles = _shingles(passage.text)
        same = next((i for i, text in enumerate(texts) if _resemblance(text, shingles) >= _SAME_TEXT), None)
        if same is None:
            kept.append(passage)
            texts.append(shingles)
        else:
            kept[same] = _with_place(kept[same], passage.name)
    return kept


def fit(passages: Sequence[Passage], *, max_tokens: int, count_tokens: Callable[[str], int]) -> tuple[Passage, ...]:
    """Return as many whole passages as have room, the best first; what is left out was not shown."""
    shown: list[Passage] = []
    for passage in passages:
        max_tokens -= count_tokens(passage.text)
        if max_tokens < 0 and shown:
            break
        shown.append(passage)
    return tuple(shown)


def _best(hits: Sequence[Hit]) -> float:
    return max((hit.score for hit in hits), default=-1.0)


def _with_place(passage: Passage, name: str) -> Passage:
    if name == passage.name or name in passage.also_in:
        return passage
    return replace(passage, also_in=(*passage.also_in, name))


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return frozenset(tuple(words[i : i + _SHINGLE]) for i in range(max(1, len(words) - _SHINGLE + 1)))


def _resemblance(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    return len(one & other) / max(1, len(one | other))


def _passage(hit: Hit) -> Passage:
    chunk = hit.chunk
    return Passage(
        name=hit.document,
        text=chunk.text,
        page=chunk.page,
        heading=chunk.heading,
        location=chunk.location,
        start=chunk.start,
        score=hit.score,
    )
