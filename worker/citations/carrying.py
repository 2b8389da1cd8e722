"""A statement in, the evidence sentence that carries it out, and how much of it that sentence carries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from worker.citations.answering import (
    is_bare_yes,
    is_of_the_past,
    lacks_number,
    leans_on_question,
    ordinals,
    restates,
    subject,
)
from worker.citations.findings import SUPPORTED
from worker.citations.grounds import Grounds
from worker.citations.ledger import Entry
from worker.citations.numerals import Figure
from worker.citations.support import Unit

# A paraphrase with few shared words may be rescued by an embedder from this likeness on (with all-MiniLM-L6-v2 a
# cosine of .82).
_SIMILAR = 0.8

Carrier = tuple[Unit, float]


@dataclass(frozen=True, slots=True)
class Said:
    """What a statement says."""

    words: str
    stems: tuple[str, ...]
    figures: tuple[Figure, ...]
    """Those that the evidence holds."""


def carrier(said: Said, grounds: Grounds) -> tuple[Unit | None, float]:
    """Return the evidence sentence that carries a statement, and how much of it, 0..1.

    A statement that leans on its question says what was asked as well: a bare name or figure stands somewhere nearly
    always, so the sentence or table cell that holds it must carry the question too.
    """
    leans = _leans(said, grounds)
    carriers = _carrying_both(said, grounds) if leans else grounds.evidence.best_units(said.stems)[:1]
    unit, support = max(carriers, key=lambda each: each[1], default=(None, 0.0))
    decided = support >= SUPPORTED or (leans and bool(grounds.asked))
    return (unit, support) if decided else _rescued(said, unit, support, grounds)


def _leans(said: Said, grounds: Grounds) -> bool:
    """Words in two languages cannot be compared; nor can a question's with others where no like words are known."""
    if grounds.asked_in_another_language:
        return False
    restated = grounds.compares_words and restates(said.words, said.stems, grounds.asked)
    return restated or leans_on_question(said.words, said.stems)


def _carrying_both(said: Said, grounds: Grounds) -> Sequence[Carrier]:
    """The evidence sentences that carry a statement together with its question."""
    if lacks_number(said.words, grounds.question):
        return ()
    asked = subject(grounds.asked)
    entries = [entry for figure in said.figures for entry in grounds.ledger.find(figure)[0]]
    if entries:
        return _holding(entries, said.stems if set(said.stems) & set(asked) else (*said.stems, *asked), grounds)
    if is_bare_yes(said.words):
        return _speaking_of(asked, grounds)
    added = [stem for stem in said.stems if stem not in grounds.asked]
    both = grounds.evidence.best_for_both(added or said.stems, asked)
    return [each for each in both if _answers(each[0], asked, grounds)]


def _answers(unit: Unit, asked: Sequence[str], grounds: Grounds) -> bool:
    """Whether a sentence speaks of what is asked, and not of the second where the first was asked, or of the past."""
    elsewhere = grounds.evidence.vocabulary_of(unit.passage) - unit.vocabulary
    another = ordinals(asked) & elsewhere or is_of_the_past(unit.text, grounds.question)
    return grounds.speaks_of_all(unit) and not another


def _holding(entries: Sequence[Entry], said: Sequence[str], grounds: Grounds) -> Sequence[Carrier]:
    """The sentences and cells with the figures of a statement; different ones of one passage carry it together.

    A sentence must speak of all that is asked; a cell need not, as tables are terse.
    """
    figures, together = defaultdict[int, set[Decimal]](set), defaultdict[int, set[str]](set)
    for entry in entries:
        figures[entry.unit.passage].add(entry.figure.value)
        together[entry.unit.passage] |= entry.vocabulary
    found: list[Carrier] = []
    for entry in entries:
        passage = entry.unit.passage
        vocabulary = together[passage] if len(figures[passage]) > 1 else entry.vocabulary
        if entry.is_cell or grounds.speaks_of_all(entry.unit):
            found.append((entry.unit, grounds.evidence.coverage(said, vocabulary)))
    return found


def _speaking_of(asked: Sequence[str], grounds: Grounds) -> Sequence[Carrier]:
    """The best sentence of the passage that speaks of most of what was asked: a table says its yes in two places."""
    covered = grounds.evidence.passage_coverage(asked)
    best = grounds.evidence.best_units(asked)[:1]
    return [(unit, covered[unit.passage]) for unit, _ in best if covered[unit.passage] >= SUPPORTED]


def _rescued(said: Said, unit: Unit | None, support: float, grounds: Grounds) -> tuple[Unit | None, float]:
    """The evidence sentence that is most alike by an embedder, where that says more than the shared words do."""
    units = grounds.evidence.units
    if grounds.similarity is None or not units:
        return unit, support
    likeness = list(grounds.similarity([said.words], [each.text for each in units])[0])
    best = max(likeness)
    return (units[likeness.index(best)], float(best)) if best >= max(_SIMILAR, support) else (unit, support)
