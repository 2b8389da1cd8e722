"""A statement in, the evidence sentence that carries it out, and how much of it that sentence carries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from worker.citations.answering import (
    is_bare_yes,
    is_of_another_mark,
    is_of_the_past,
    lacks_number,
    leans_on_question,
    ordinals,
    restates,
)
from worker.citations.findings import SUPPORTED
from worker.citations.grounds import Grounds
from worker.citations.ledger import Entry
from worker.citations.numerals import Figure
from worker.citations.sentences import split_clauses
from worker.citations.support import Unit
from worker.citations.wording import content_stems

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
    carriers = _carrying_both(said, grounds) if leans else _carrying(said, grounds)
    unit, support = max(carriers, key=lambda each: each[1], default=(None, 0.0))
    decided = support >= SUPPORTED or (leans and bool(grounds.asked))
    return (unit, support) if decided else _rescued(said, unit, support, grounds)


def _carrying(said: Said, grounds: Grounds) -> Sequence[Carrier]:
    """The evidence sentence that holds most of a statement, and the first row of those that hold a list together."""
    best = grounds.evidence.best_units(said.stems)[:1]
    parts = [content_stems(said.words[slice(*clause)]) for clause in split_clauses(said.words, 0, len(said.words))]
    parts = [part for part in parts if part]
    if len(parts) < 2 or not best:
        return best
    rows = [grounds.evidence.units_of([best[0][0].passage], part) for part in parts]
    fullest = [max(row, key=lambda each: each[1], default=(best[0][0], 0.0)) for row in rows]
    return (*best, (fullest[0][0], min(coverage for _, coverage in fullest)))


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
    asked = grounds.subject
    entries = [entry for figure in said.figures for entry in grounds.ledger.find(figure)[0]]
    if entries:
        return _holding(entries, said.stems if set(said.stems) & set(asked) else (*said.stems, *asked), grounds)
    if is_bare_yes(said.words):
        return _speaking_of(asked, grounds)
    added = [stem for stem in said.stems if stem not in grounds.asked]
    both = grounds.evidence.best_for_both(added or said.stems, asked, grounds.spoken_of)
    return [each for each in both if _answers(each[0], grounds) and not _is_of_another(each[0], grounds)]


def _answers(unit: Unit, grounds: Grounds) -> bool:
    """Whether a sentence speaks of all that is asked, and not of `Part A` where `Part B` is asked of."""
    return grounds.speaks_of_all(unit) and not is_of_another_mark(unit.text, grounds.question)


def _is_of_another(unit: Unit, grounds: Grounds) -> bool:
    """Whether a sentence speaks of the second where the first was asked of, or of who held an office."""
    elsewhere = grounds.evidence.vocabulary_of(unit.passage) - unit.vocabulary
    return bool(ordinals(grounds.subject) & elsewhere) or is_of_the_past(unit.text, grounds.question)


def _holding(entries: Sequence[Entry], said: Sequence[str], grounds: Grounds) -> Sequence[Carrier]:
    """The sentences and cells with the figures of a statement; different ones of one passage carry it together."""
    by_passage: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_passage[entry.unit.passage].append(entry)
    return [each for own in by_passage.values() for each in _holding_in_one(own, said, grounds)]


def _holding_in_one(entries: Sequence[Entry], said: Sequence[str], grounds: Grounds) -> Iterator[Carrier]:
    together = frozenset[str]().union(*(entry.vocabulary for entry in entries))
    alone = len({entry.figure.value for entry in entries}) == 1
    most = _most_said_of_a_cell(entries[0].unit.passage, grounds) if alone else 0.0
    for entry in entries:
        vocabulary = entry.vocabulary if alone else together
        if entry.is_cell and grounds.evidence.coverage(grounds.subject, vocabulary) >= most:
            if not alone or grounds.names_all(entry.unit):
                yield entry.unit, grounds.evidence.coverage(said, vocabulary)
        elif not entry.is_cell and _answers(entry.unit, grounds):
            yield entry.unit, grounds.evidence.coverage(said, vocabulary | grounds.spoken_of(entry.unit))


def _most_said_of_a_cell(passage: int, grounds: Grounds) -> float:
    """Tables are terse, so that a cell need not say all that is asked; but no cell beside it may say more."""
    cells = (entry for entry in grounds.ledger.entries if entry.is_cell and entry.unit.passage == passage)
    return max((grounds.evidence.coverage(grounds.subject, cell.vocabulary) for cell in cells), default=0.0)


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
