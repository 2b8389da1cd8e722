"""Cuts an answer into its statements and runs every check on each of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Literal

from worker.citations.answering import (
    is_bare_yes,
    lacks_number,
    leans_on_question,
    ordinals,
    repeats,
    subject,
)
from worker.citations.figures import check_figures
from worker.citations.flips import find_flips, is_negated
from worker.citations.ledger import Entry, Ledger
from worker.citations.naming import Shown
from worker.citations.numerals import Figure, read_figures
from worker.citations.quotes import QuoteIndex, check_quotes
from worker.citations.refusals import is_deflection, is_refusal, is_small_talk
from worker.citations.sentences import Offsets, split_clauses, split_sentences
from worker.citations.support import Evidence, Unit
from worker.citations.wording import WHOLE, content_stems, is_english
from worker.records import FigureCheck, Passage, QuoteCheck

State = Literal["supported", "partly", "unsupported", "refusal", "no_claim"]
Similarity = Callable[[Sequence[str], Sequence[str]], Sequence[Sequence[float]]]

SUPPORTED, PARTLY = 0.6, 0.35
# The states of a figure that the evidence holds.
FOUND = ("verified", "rounded")
# A passage with less than this share of a statement's words does not carry it, whatever figures it holds.
LEAST_CARRIED = 0.2
# A number of an uncarried statement must stand in a passage with this share of its words (of the figures in
# right answers 7.8 % fall below it on FinanceBench, 2.2 % on TAT-QA, 2.9 % on mtRAG and none on the IRS pages).
_ON_TOPIC = 0.3
# A paraphrase with few shared words may be rescued by an embedder from this cosine on.
SIMILAR = 0.7
_CONFLICTS = ("negation_conflict", "bound_flip", "term_swapped", "roles_swapped")


class Grounds:
    """What an answer is held against: the passages shown and the question, each read once."""

    def __init__(
        self, passages: Sequence[Passage], question: str = "", similarity: Similarity | None = None, before: str = ""
    ) -> None:
        self.passages = tuple(passages)
        self.question = f"{before} {question}".strip()
        self.asked = content_stems(question)
        """The words of the question itself: an answer need not speak of what was asked before it."""
        self.shown = Shown([passage.name for passage in passages], [passage.text for passage in passages])
        self.evidence = Evidence(passages)
        self.ledger = Ledger(self.evidence)
        self.quotes = QuoteIndex.of(passages)
        self.similarity = similarity
        self.read: dict[str, tuple[Statement, ...]] = {}
        """The answers read so far."""
        self.shares: dict[Clause, dict[str, float]] = {}
        """How much of a clause each document carries, as far as it was asked."""

    @cached_property
    def asked_in_another_language(self) -> bool:
        """Whether the words of the question cannot be looked for in the evidence."""
        return self.is_english and bool(self.question) and not is_english(self.question)

    @cached_property
    def is_english(self) -> bool:
        """Whether the evidence is in a language whose words the checks can compare."""
        return is_english(" ".join(passage.text for passage in self.passages)[:20000])


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a statement that may come from one document while the next part comes from another."""

    text: str
    stems: tuple[str, ...]
    figures: tuple[Figure, ...]
    """Those that the evidence holds."""
    is_whole: bool
    """Its sentence says by itself what it speaks of."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of an answer and everything that the checks found."""

    start: int
    end: int
    text: str
    kind: str
    """`claim`, `refusal`, `echo` (it says what was asked, and no more), `no_claim` (nothing to check), `foreign` (a
    language that is not the evidence's)."""
    stems: tuple[str, ...]
    support: float
    unit: Unit | None
    """The evidence sentence that carries it best."""
    flips: tuple[str, ...]
    figures: tuple[FigureCheck, ...]
    quotes: tuple[QuoteCheck, ...]
    clauses: tuple[Clause, ...]

    @property
    def fault(self) -> str:
        """Why no document may be shown as this statement's source; "" where one may."""
        if any(check.state == "unsupported" and check.reason != "arithmetic" for check in self.figures):
            return "figure_unsupported"
        if any(check.state in ("not_found", "stitched") for check in self.quotes):
            return "quote_unsupported"
        return "claim_conflict" if any(flip in _CONFLICTS for flip in self.flips) else ""

    @property
    def state(self) -> State:
        """How far the evidence carries it."""
        if self.kind in ("foreign", "no_claim"):
            return "no_claim"
        if self.kind == "refusal":
            return "refusal"
        if self.kind == "echo" or self.fault or self.support < PARTLY:
            return "unsupported"
        return "supported" if self.support >= SUPPORTED else "partly"

    @property
    def must_go(self) -> bool:
        """Whether strict policy removes it: a figure or a quotation that the evidence does not hold."""
        return any(check.state == "unsupported" for check in self.figures) or any(
            check.state in ("not_found", "stitched") for check in self.quotes
        )


def read_statements(text: str, grounds: Grounds) -> tuple[Statement, ...]:
    """Every sentence of an answer, checked; a text that was read before is not read again."""
    if text not in grounds.read:
        grounds.read[text] = _read(text, grounds)
    return grounds.read[text]


def _read(text: str, grounds: Grounds) -> tuple[Statement, ...]:
    quotes = check_quotes(text, grounds.quotes, grounds.question)
    plain = grounds.shown.without_names(text)
    ends, starts = [check.end for check in quotes], [check.start for check in quotes]
    statements: list[Statement] = []
    for start, end in split_sentences(text):
        own = quotes[bisect_right(ends, start) : bisect_left(starts, end)]
        statement = _statement(plain, (start, end), grounds, tuple(own))
        statements.append(replace(statement, text=text[start:end]))
    return tuple(statements)


def _statement(text: str, sentence: Offsets, grounds: Grounds, quotes: tuple[QuoteCheck, ...]) -> Statement:
    start, end = sentence
    words = text[start:end]
    stems = content_stems(words)
    figures = tuple(check_figures(text, sentence, grounds.ledger, grounds.question))
    best = grounds.evidence.best_units(stems)
    kind = _kind(words, stems, figures, grounds)
    unit, support = (
        _support(text, sentence, stems, figures, grounds) if kind == "claim" else (best[0][0] if best else None, 0.0)
    )
    figures = _settled(figures, kind, support, stems, grounds)
    flips = _flips(words, stems, best, figures, grounds, support) if kind == "claim" else ()
    found = {check.start for check in figures if check.state in FOUND}
    comparable = () if kind == "foreign" else stems
    clauses = tuple(_clause(text, *clause, found, comparable) for clause in split_clauses(text, start, end))
    return Statement(start, end, words, kind, stems, support, unit, flips, figures, quotes, clauses)


def _support(
    text: str, sentence: Offsets, stems: Sequence[str], figures: Sequence[FigureCheck], grounds: Grounds
) -> tuple[Unit | None, float]:
    """The evidence sentence that carries a statement, and how much of it."""
    carriers = _carriers(text, sentence, stems, figures, grounds)
    unit, support = max(carriers, key=lambda each: each[1], default=(None, 0.0))
    return _rescued(text[slice(*sentence)], unit, support, grounds) if support < SUPPORTED else (unit, support)


def _carriers(
    text: str, sentence: Offsets, stems: Sequence[str], figures: Sequence[FigureCheck], grounds: Grounds
) -> Sequence[tuple[Unit, float]]:
    """The evidence sentences that may carry a statement.

    One that leans on its question says what was asked as well: a bare name or figure stands somewhere nearly always,
    so the sentence or table cell that holds it must carry the question too.
    """
    words = text[slice(*sentence)]
    if not leans_on_question(words, stems) or grounds.asked_in_another_language:
        return grounds.evidence.best_units(stems)[:1]
    if lacks_number(words, grounds.question):
        return ()
    asked = subject(grounds.asked)
    if entries := _entries(text, sentence, figures, grounds):
        return _holding(entries, stems if set(stems) & set(asked) else (*stems, *asked), grounds)
    if is_bare_yes(words):
        return _speaking_of(asked, grounds)
    both = grounds.evidence.best_for_both(stems, asked)
    return [(unit, coverage) for unit, coverage in both if not _is_another_in_the_row(unit, asked, grounds)]


def _is_another_in_the_row(unit: Unit, asked: Sequence[str], grounds: Grounds) -> bool:
    """Whether a sentence leaves out the `first` that was asked for, and its passage has one elsewhere."""
    return bool(ordinals(asked) & grounds.evidence.vocabulary_of(unit.passage) - unit.vocabulary)


def _holding(entries: Sequence[Entry], said: Sequence[str], grounds: Grounds) -> Sequence[tuple[Unit, float]]:
    """The sentences and cells with the figures of a statement; different ones of one passage carry it together."""
    figures, together = defaultdict[int, set[Decimal]](set), defaultdict[int, set[str]](set)
    for entry in entries:
        figures[entry.unit.passage].add(entry.figure.value)
        together[entry.unit.passage] |= entry.vocabulary
    found: list[tuple[Unit, float]] = []
    for entry in entries:
        passage = entry.unit.passage
        vocabulary = together[passage] if len(figures[passage]) > 1 else entry.vocabulary
        found.append((entry.unit, grounds.evidence.coverage(said, vocabulary)))
    return found


def _speaking_of(asked: Sequence[str], grounds: Grounds) -> Sequence[tuple[Unit, float]]:
    """The best sentence of the passage that speaks of most of what was asked: a table says its yes in two places."""
    covered = grounds.evidence.passage_coverage(asked)
    best = grounds.evidence.best_units(asked)[:1]
    return [(unit, covered[unit.passage]) for unit, _ in best if covered[unit.passage] >= SUPPORTED]


def _entries(text: str, sentence: Offsets, figures: Sequence[FigureCheck], grounds: Grounds) -> Sequence[Entry]:
    """The figures of the evidence that a statement's own repeat."""
    found = {check.start for check in figures if check.state in FOUND}
    said = [figure for figure in read_figures(text, *sentence) if figure.start in found]
    return [entry for figure in said for entry in grounds.ledger.find(figure)[0]]


def _settled(
    figures: tuple[FigureCheck, ...], kind: str, support: float, stems: Sequence[str], grounds: Grounds
) -> tuple[FigureCheck, ...]:
    """The figures, judged again by what the whole sentence is: a refusal may repeat what was asked."""
    if kind == "refusal":
        return tuple(replace(check, state="question") if check.reason == "echo" else check for check in figures)
    if kind == "claim" and support < PARTLY and len(set(stems)) >= WHOLE:
        return tuple(_placed(check, stems, grounds) for check in figures)
    return figures


def _flips(
    words: str,
    stems: Sequence[str],
    best: Sequence[tuple[Unit, float]],
    figures: Sequence[FigureCheck],
    grounds: Grounds,
    support: float,
) -> tuple[str, ...]:
    """What the evidence says otherwise; that it never speaks of something asked about only lowers trust."""
    unseen = grounds.evidence.unseen(set(stems) & set(grounds.asked)) if figures and support < SUPPORTED else ()
    return (
        *find_flips(words, _comparable(words, best, figures)),
        *(("subject_not_in_evidence",) if unseen else ()),
    )


def _comparable(
    words: str, units: Sequence[tuple[Unit, float]], figures: Sequence[FigureCheck]
) -> Sequence[tuple[Unit, float]]:
    """Of the evidence sentences, those that may contradict: one that denies must speak of the statement's figures."""
    found = [] if is_negated(words) else [check for check in figures if check.support]
    return [
        (unit, coverage)
        for unit, coverage in units
        if not found or not is_negated(unit.text) or any(_holds(unit, check) for check in found)
    ]


def _holds(unit: Unit, check: FigureCheck) -> bool:
    span = check.support
    inside = span is not None and span.passage == unit.passage and unit.start <= span.start < unit.end
    return inside or check.string in unit.text


def _placed(check: FigureCheck, stems: Sequence[str], grounds: Grounds) -> FigureCheck:
    """A number found only in a passage that speaks of something else is not the number that is meant."""
    if check.support is None:
        return check
    said = (stems, (*stems, *grounds.asked))
    held = max(grounds.evidence.passage_coverage(words)[check.support.passage] for words in said)
    return check if held >= _ON_TOPIC else replace(check, state="unsupported", reason="misplaced", support=None)


def _kind(words: str, stems: Sequence[str], figures: Sequence[FigureCheck], grounds: Grounds) -> str:
    if is_refusal(words):
        return "refusal"
    if is_small_talk(words) or is_deflection(words):
        return "no_claim"
    if not (stems or figures):
        return "claim" if is_bare_yes(words) and grounds.asked else "no_claim"
    if not figures and repeats(stems, grounds.asked, grounds.question):
        return "echo"
    return "foreign" if stems and grounds.is_english and not is_english(words) else "claim"


def _rescued(words: str, unit: Unit | None, support: float, grounds: Grounds) -> tuple[Unit | None, float]:
    """The evidence sentence nearest by an embedder's cosine, where that says more than the shared words do."""
    units = grounds.evidence.units
    if not (grounds.similarity and units):
        return unit, support
    cosines = list(grounds.similarity([words], [each.text for each in units])[0])
    best = max(cosines)
    return (units[cosines.index(best)], float(best)) if best >= max(SIMILAR, support) else (unit, support)


def _clause(text: str, start: int, end: int, found: Collection[int], stems: tuple[str, ...]) -> Clause:
    """A clause of figures alone says what its sentence says; words of two languages cannot be compared."""
    figures = tuple(figure for figure in read_figures(text, start, end) if figure.start in found)
    own = content_stems(text[start:end]) if stems else ()
    return Clause(text[start:end], own or stems, figures, is_whole=len(set(stems)) >= WHOLE)
