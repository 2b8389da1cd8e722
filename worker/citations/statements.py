"""Cuts an answer into its statements and runs every check on each of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from worker.citations.answering import is_bare_yes, repeats
from worker.citations.carrying import Said, carrier
from worker.citations.figures import check_figures
from worker.citations.findings import FOUND, PARTLY, SUPPORTED, Clause, Statement
from worker.citations.flips import find_flips, is_negated
from worker.citations.grounds import Grounds
from worker.citations.numerals import Figure, read_figures
from worker.citations.quotes import check_quotes
from worker.citations.refusals import is_deflection, is_refusal, is_small_talk
from worker.citations.sentences import Offsets, split_clauses, split_sentences
from worker.citations.support import Unit
from worker.citations.wording import WHOLE, content_stems, is_english
from worker.records import FigureCheck, QuoteCheck

# A passage with less than this share of a statement's words does not carry it, whatever figures it holds.
LEAST_CARRIED = 0.2
# A number of an uncarried statement must stand in a passage with this share of its words (of the figures in
# right answers 7.8 % fall below it on FinanceBench, 2.2 % on TAT-QA, 2.9 % on mtRAG and none on the IRS pages).
_ON_TOPIC = 0.3


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
    unit, support = best[0][0] if best else None, 0.0
    if kind == "claim":
        unit, support = carrier(Said(words, stems, _found(text, sentence, figures)), grounds)
    figures = _settled(figures, kind, support, stems, grounds)
    flips = _flips(words, stems, best, figures, grounds, support) if kind == "claim" else ()
    held = _found(text, sentence, figures)
    comparable = () if kind == "foreign" else stems
    clauses = tuple(_clause(text, clause, held, comparable) for clause in split_clauses(text, start, end))
    return Statement(start, end, words, kind, stems, support, unit, flips, figures, quotes, clauses)


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


def _found(text: str, sentence: Offsets, checks: Sequence[FigureCheck]) -> tuple[Figure, ...]:
    """The figures of a sentence that the evidence holds."""
    starts = {check.start for check in checks if check.state in FOUND}
    return tuple(figure for figure in read_figures(text, *sentence) if figure.start in starts)


def _clause(text: str, clause: Offsets, found: Sequence[Figure], stems: tuple[str, ...]) -> Clause:
    """A clause of figures alone says what its sentence says; words of two languages cannot be compared."""
    start, end = clause
    figures = tuple(figure for figure in found if start <= figure.start < end)
    own = content_stems(text[start:end]) if stems else ()
    return Clause(text[start:end], own or stems, figures, is_whole=len(set(stems)) >= WHOLE)
