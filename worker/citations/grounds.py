"""What an answer is held against, each part read once: the passages shown, their figures, the question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from worker.citations.alignment import Similarity, unsaid_names, unsaid_words
from worker.citations.answering import asked_of, asking, subject
from worker.citations.findings import Clause, Statement
from worker.citations.ledger import Ledger
from worker.citations.naming import Shown
from worker.citations.quotes import QuoteIndex
from worker.citations.support import Evidence, Unit
from worker.citations.wording import content_stems, is_english
from worker.records import Passage


class Grounds:
    """What an answer is held against: the passages shown and the question, each read once."""

    def __init__(
        self, passages: Sequence[Passage], question: str = "", similarity: Similarity | None = None, before: str = ""
    ) -> None:
        self.passages = tuple(passages)
        self.question = f"{before} {question}".strip()
        self.asked = content_stems(question)
        """The words of the question itself: an answer need not speak of what was asked before it."""
        self.subject = subject(content_stems(asking(question)))
        """The same, without preamble and what only says which kind of answer is wanted."""
        self._asked_of = asked_of(question)
        self.shown = Shown([passage.name for passage in passages], [passage.text for passage in passages])
        self.evidence = Evidence(passages)
        self.ledger = Ledger(self.evidence)
        self.quotes = QuoteIndex.of(passages)
        self.similarity = similarity
        self._left_unsaid: dict[Unit, frozenset[str]] = {}
        self._left_unnamed: dict[str, frozenset[str]] = {}
        self.read: dict[str, tuple[Statement, ...]] = {}
        """The answers read so far."""
        self.shares: dict[Clause, dict[str, float]] = {}
        """How much of a clause each document carries, as far as it was asked."""

    def speaks_of_all(self, unit: Unit) -> bool:
        """Whether an evidence sentence speaks of all that the question asks, though its passage may hold the names.

        Always, where like words are unknown.
        """
        return not self.compares_words or self._asked_of.allows(self._unsaid(unit) | self._unnamed(unit))

    def names_all(self, unit: Unit) -> bool:
        """Whether a sentence's passage holds every name of the question; always, where like words are unknown."""
        return not (self.compares_words and self._unnamed(unit))

    def spoken_of(self, unit: Unit) -> frozenset[str]:
        """The content stems of the question that a sentence says in like words; none, where those are unknown."""
        names = unsaid_names(f"{unit.context} {unit.text}", self._asked_of)
        return self._asked_of.stems_but(self._unsaid(unit) | names) if self.compares_words else frozenset()

    def _unnamed(self, unit: Unit) -> frozenset[str]:
        text = f"{unit.context} {self.passages[unit.passage].text}"
        if text not in self._left_unnamed:
            self._left_unnamed[text] = unsaid_names(text, self._asked_of)
        return self._left_unnamed[text]

    def _unsaid(self, unit: Unit) -> frozenset[str]:
        if self.similarity is None or not self.compares_words:
            return frozenset()
        if unit not in self._left_unsaid:
            said = f"{unit.context} {unit.section} {unit.text}"
            self._left_unsaid[unit] = unsaid_words(said, self._asked_of, self.similarity)
        return self._left_unsaid[unit]

    @property
    def compares_words(self) -> bool:
        """Whether an evidence sentence must speak of what is asked."""
        return self.similarity is not None and self.is_english and bool(self._asked_of.words or self._asked_of.names)

    @cached_property
    def asked_in_another_language(self) -> bool:
        """Whether the words of the question cannot be looked for in the evidence."""
        return self.is_english and bool(self.question) and not is_english(self.question)

    @cached_property
    def is_english(self) -> bool:
        """Whether the evidence is in a language whose words the checks can compare."""
        return is_english(" ".join(passage.text for passage in self.passages)[:20000])
