"""Cuts an answer into its statements and runs every check on each of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from worker.citations.figures import check_figures
from worker.citations.flips import find_flips
from worker.citations.ledger import Ledger
from worker.citations.naming import Shown
from worker.citations.numerals import Figure, read_figures
from worker.citations.quotes import QuoteIndex, check_quotes
from worker.citations.refusals import is_deflection, is_refusal, is_small_talk
from worker.citations.sentences import Offsets, split_clauses, split_sentences
from worker.citations.support import Evidence, Unit
from worker.citations.wording import content_stems, is_english
from worker.records import FigureCheck, Passage, QuoteCheck

Similarity = Callable[[Sequence[str], Sequence[str]], Sequence[Sequence[float]]]

# An answer with more than this outside the evidence is weakly grounded: the 95th percentile of human-written answers
# that are grounded (mtRAG). A wrong figure counts for this part of a wholly new sentence.
WEAKLY_GROUNDED, WRONG_FIGURE = 3.28, 0.4
SUPPORTED, PARTLY = 0.6, 0.35
# A paraphrase with few shared words may be rescued by an embedder from this cosine on.
SIMILAR = 0.7
_CONFLICTS = ("negation_conflict", "bound_flip", "term_swapped", "roles_swapped")


class Grounds:
    """What an answer is held against: the passages shown and the question, each read once."""

    def __init__(self, passages: Sequence[Passage], question: str = "", similarity: Similarity | None = None) -> None:
        self.passages = tuple(passages)
        self.question = question
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


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of an answer and everything that the checks found."""

    start: int
    end: int
    text: str
    kind: str
    """`claim`, `refusal`, `no_claim` (nothing to check), `foreign` (a language that is not the evidence's)."""
    support: float
    novelty: float
    """The share of its neighbouring words that no passage holds near each other."""
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
    def must_go(self) -> bool:
        """Whether strict policy removes it: a figure or a quotation that the evidence does not hold."""
        return any(check.state == "unsupported" for check in self.figures) or any(
            check.state in ("not_found", "stitched") for check in self.quotes
        )


def ungrounded(statements: Sequence[Statement]) -> float:
    """How much of an answer is not in the evidence: the novelty of its claims, and more for each wrong figure."""
    claims = [statement for statement in statements if statement.kind == "claim"]
    wrong = sum(any(check.state == "unsupported" for check in claim.figures) for claim in claims)
    return sum(claim.novelty for claim in claims) + WRONG_FIGURE * wrong


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
    unit, coverage = best[0] if best else (None, 0.0)
    kind = _kind(words, stems, figures, grounds)
    if kind == "refusal":  # it may repeat what was asked
        figures = tuple(replace(check, state="question") if check.reason == "echo" else check for check in figures)
    support = coverage if kind == "claim" else 0.0
    if kind == "claim" and support < SUPPORTED and grounds.similarity:
        unit, support = _rescued(words, unit, support, grounds)
    flips = find_flips(words, best) if kind == "claim" else ()
    found = {check.start for check in figures if check.state in ("verified", "rounded")}
    words_of_all = () if kind == "foreign" else tuple(stems)
    clauses = tuple(_clause(text, *clause, found, words_of_all) for clause in split_clauses(text, start, end))
    return Statement(
        start, end, words, kind, support, grounds.evidence.novelty(stems), unit, flips, figures, quotes, clauses
    )


def _kind(words: str, stems: Sequence[str], figures: Sequence[FigureCheck], grounds: Grounds) -> str:
    if is_refusal(words):
        return "refusal"
    if is_small_talk(words) or is_deflection(words) or not (stems or figures):
        return "no_claim"
    return "foreign" if grounds.is_english and not is_english(words) else "claim"


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
    own = tuple(content_stems(text[start:end])) if stems else ()
    return Clause(text[start:end], own or stems, figures)
