"""Prompts in, sentences of the evidence out, word for word, each with its source: a draft without a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from worker.citations.numerals import read_figures
from worker.citations.support import Evidence, Unit
from worker.citations.wording import content_stems
from worker.connectors import Health
from worker.prompt import NO_ANSWER, Prompt
from worker.records import Citation, Draft, Passage

_NAME = "extract"
_SENTENCES = 2
# The share of the question's words that a sentence must hold. With it, over all of NoMIRACL's questions and four
# passages each, 14 % are answered where nothing shown answers, and 41 % where something may.
_LEAST = 0.6
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAMED = re.compile(r"(?<=\s)[A-Z][\w'’-]+")
_ASKS_FOR_A_NUMBER = re.compile(
    r"\b(?:how (?:many|much|old|long|far|large|high|big|tall)|when|what (?:year|date|age))\b", re.I
)
_ASKS_FOR_A_NAME = re.compile(r"\b(?:who|whom|whose|where)\b", re.I)


class SentenceEmbedder(Protocol):
    """What `worker.embedding.Embedder` offers."""

    @property
    def min_score(self) -> float:
        """The cosine below which a text is about something else than the question."""
        ...

    def embed_query(self, text: str) -> np.ndarray:
        """Return the question's unit vector, float32 of shape (d,)."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return the texts' unit vectors, float32 of shape (n, d)."""
        ...


class ExtractConnector:
    """Answers offline and at once; it can quote, and neither sum up nor reckon."""

    def __init__(self, embedder: SentenceEmbedder) -> None:
        self._embedder = embedder

    def complete(self, prompt: Prompt, *, max_tokens: int, deadline: float) -> Draft:
        """Write a draft of the sentences that best match the question, or say that there is no answer."""
        found = self._best(prompt)
        if not found:
            return Draft(text=NO_ANSWER, model=_NAME)
        return Draft(
            text="\n\n".join(unit.text for unit in found),
            citations=tuple(_citation(unit, prompt.passages) for unit in found),
            model=_NAME,
        )

    def health(self) -> Health:
        """Say that it is there: it needs nothing."""
        return Health(reachable=True, model=_NAME)

    def close(self) -> None:
        """Hold nothing."""

    def _best(self, prompt: Prompt) -> list[Unit]:
        """The sentences that hold the question's words, are near to it, and give what it asks for; best first."""
        units = [unit for unit in _holding(prompt) if _gives(unit.text, prompt.question)]
        if not units:
            return []
        vectors = self._embedder.embed_passages([unit.text for unit in units])
        cosines = vectors @ self._embedder.embed_query(prompt.question)
        # One sentence that answers is nearer to its question than the best part of a paragraph need be.
        least = (1 + self._embedder.min_score) / 2
        return [units[i] for i in np.argsort(-cosines, kind="stable") if cosines[i] >= least][:_SENTENCES]


def _holding(prompt: Prompt) -> list[Unit]:
    """The sentences that hold the question's words; where it names a year that is shown, those of that year alone."""
    evidence = Evidence(prompt.passages)
    words = content_stems(prompt.question)
    held = {unit: _numbers_of(unit, prompt.passages) for unit in evidence.units}
    wanted = _numbers(prompt.question) & frozenset().union(*held.values())
    return [
        unit
        for unit, numbers in held.items()
        if wanted <= numbers and evidence.coverage(words, unit.vocabulary) >= _LEAST
    ]


def _numbers_of(unit: Unit, passages: tuple[Passage, ...]) -> frozenset[str]:
    """The numbers of a sentence, its headings and its document's name, as in `auto_policy_2024.pdf`."""
    name = passages[unit.passage].name.replace("_", " ")
    return _numbers(f"{unit.text} {unit.context} {name}")


def _numbers(text: str) -> frozenset[str]:
    spelled = {str(figure.value) for figure in read_figures(text, 0, len(text)) if figure.spelled}
    return frozenset(_NUMBER.findall(text)) | spelled


def _gives(sentence: str, question: str) -> bool:
    """Whether a sentence holds a number, or a name, that the question did not hold already and asks for."""
    if _ASKS_FOR_A_NUMBER.search(question):
        return bool(_numbers(sentence) - _numbers(question))
    if _ASKS_FOR_A_NAME.search(question):
        return bool(set(_NAMED.findall(sentence)) - set(_NAMED.findall(question)))
    return True


def _citation(unit: Unit, passages: tuple[Passage, ...]) -> Citation:
    return Citation(name=passages[unit.passage].name, quote=unit.text, passage=unit.passage)
