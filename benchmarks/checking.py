"""The check as a worker runs it, with the bundled embedder to compare words by."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from worker.citations import enforce_citations
from worker.embedding import Embedder
from worker.likeness import Likeness
from worker.records import Passage, Verdict


@cache
def embedder() -> Embedder:
    """The bundled MiniLM on the CPU, loaded once."""
    return Embedder(device="cpu")


@cache
def likeness() -> Likeness:
    """What a worker compares words and sentences with."""
    return Likeness(embedder())


def check(text: str, passages: Sequence[Passage], *, question: str = "", policy: str = "strict") -> Verdict:
    """Check a model's output; the arguments are those of `enforce_citations`."""
    return enforce_citations(text, passages, question=question, policy=policy, similarity=likeness())
