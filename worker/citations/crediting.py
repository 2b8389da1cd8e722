"""Decides which of the cited documents carry what they are cited for: used, not merely available."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from worker.citations.findings import FOUND, SUPPORTED, Clause, Statement
from worker.citations.grounds import Grounds
from worker.citations.mentions import Mention
from worker.citations.statements import LEAST_CARRIED
from worker.citations.support import RELATIVE_FLOOR, Unit
from worker.records import CitedSource

_QUOTED = 0.3
# What a sentence needs of one evidence sentence where that holds its figure too (of the right bare figures of TAT-QA
# 20 % fall below, of other figures of the same pages 82 %).
_CARRIED_WITH_FIGURE = 0.5


@dataclass(frozen=True, slots=True)
class Credit:
    """A mention of a shown document, and why that document is not listed for it; "" where it is."""

    mention: Mention
    reason: str = ""


def credit(
    mentions: Sequence[Mention], statements: Sequence[Statement], grounds: Grounds, *, strict: bool
) -> list[Credit]:
    """Judge every mention of a shown document by the statements that it is cited for.

    Strictly, a statement has a source only where an evidence sentence carries it, or a good part of it with a figure
    of its own: that a document uses the question's words makes it no answer.
    """
    scopes = _scopes(mentions, statements)
    known: dict[tuple[str, range], str] = {}
    credited: list[Credit] = []
    for mention, scope in zip(mentions, scopes, strict=True):
        key = (mention.name or "", scope)
        if key not in known:
            known[key] = _reason(key[0], statements[scope.start : scope.stop], grounds, strict=strict)
        credited.append(Credit(mention, known[key]))
    return credited


def _scopes(mentions: Sequence[Mention], statements: Sequence[Statement]) -> list[range]:
    """What each mention is cited for: its own sentence with the uncited ones before it, or the whole answer."""
    starts = [statement.start for statement in statements]
    places = [None if m.position is None else max(0, bisect_left(starts, m.position) - 1) for m in mentions]
    taken = sorted({place for place in places if place is not None})
    scopes: list[range] = []
    for place in places:
        if place is None:
            scopes.append(range(len(statements)))
        else:
            before = bisect_left(taken, place) - 1
            scopes.append(range(taken[before] + 1 if before >= 0 else 0, place + 1))
    return scopes


def _reason(name: str, scope: Sequence[Statement], grounds: Grounds, *, strict: bool) -> str:
    """Why a document carries none of the statements; "" where it carries one, or nothing can be judged."""
    claims = [statement for statement in scope if statement.kind != "refusal"]
    if not claims:
        return "refusal"
    sound = [statement for statement in claims if not statement.fault]
    if not sound:
        return next(statement.fault for statement in claims)
    carried = [statement for statement in sound if not strict or _is_carried(statement)]
    if any(_carries(name, statement, grounds) for statement in carried):
        return ""
    judged = [statement for statement in sound if statement.kind in ("claim", "echo")]
    return "not_supported" if judged or len(sound) < len(claims) else ""


def _is_carried(statement: Statement) -> bool:
    """Whether evidence says the statement; most of one that only repeats the question says little."""
    own_figure = any(check.state in FOUND for check in statement.figures)
    return statement.state in ("supported", "no_claim") or (
        own_figure and not statement.fault and statement.support >= _CARRIED_WITH_FIGURE
    )


def _carries(name: str, statement: Statement, grounds: Grounds) -> bool:
    if _misattributes(name, statement, grounds):
        return False
    if statement.kind == "foreign" and not statement.figures:
        return True  # words of two languages cannot be compared
    nearest = statement.unit and grounds.passages[statement.unit.passage].name == name
    if nearest and statement.support >= SUPPORTED and _holds_figures(name, statement, grounds):
        return True
    return any(carries_clause(name, clause, grounds) for clause in statement.clauses)


def _holds_figures(name: str, statement: Statement, grounds: Grounds) -> bool:
    """Near-namesakes say the same in the same words; what tells them apart is the figure."""
    figures = [figure for clause in statement.clauses for figure in clause.figures]
    holders = [{grounds.passages[index].name for index in grounds.ledger.holders(figure)} for figure in figures]
    return all(name in names for names in holders)


def _misattributes(name: str, statement: Statement, grounds: Grounds) -> bool:
    """A quotation of the statement stands in another document."""
    quoted = [check.string for check in statement.quotes if check.state == "verbatim"]
    return any(name not in grounds.quotes.holders(string) for string in quoted)


def carries_clause(name: str, clause: Clause, grounds: Grounds) -> bool:
    """Whether a document carries nearly as much of a clause as the best of all the shown ones does."""
    if clause not in grounds.shares:
        grounds.shares[clause] = document_shares(clause, grounds)
    shares = grounds.shares[clause]
    best = max(shares.values(), default=0.0)
    return best >= LEAST_CARRIED and shares.get(name, 0.0) >= RELATIVE_FLOOR * best


def document_shares(clause: Clause, grounds: Grounds) -> dict[str, float]:
    """For each shown document the mean of its word coverage and its share of the figures, 0..1.

    A document that holds hardly any of the clause's words carries nothing, whatever figures it holds.
    """
    coverage = grounds.evidence.passage_coverage(clause.stems) if clause.stems else []
    holders = [grounds.ledger.holders(figure) for figure in clause.figures]
    shares: dict[str, float] = {}
    for index, passage in enumerate(grounds.passages):
        parts = [coverage[index]] if coverage else []
        if holders:
            parts.append(sum(index in holder for holder in holders) / len(holders))
        if clause.is_whole and coverage[index] < LEAST_CARRIED:
            parts = []
        share = sum(parts) / len(parts) if parts else 0.0
        shares[passage.name] = max(share, shares.get(passage.name, 0.0))
    return shares


def cite(name: str, statements: Sequence[Statement], grounds: Grounds) -> CitedSource:
    """A document as a source, with the evidence sentence in it that carries most of a sound statement."""
    passages = [index for index, passage in enumerate(grounds.passages) if passage.name == name]
    best: tuple[float, CitedSource] = (_QUOTED, CitedSource(name, passage=passages[0]))
    for statement in statements:
        if statement.fault or statement.kind == "refusal":
            continue
        stems = [stem for clause in statement.clauses for stem in clause.stems]
        for unit, coverage in grounds.evidence.units_of(passages, stems):
            score = coverage + _figures_held(unit, statement)
            if score > best[0]:
                best = score, CitedSource(name, unit.text, unit.start, unit.end, unit.passage)
    return best[1]


def _figures_held(unit: Unit, statement: Statement) -> float:
    """The share of a statement's figures that were found in one evidence sentence."""
    spans = [check.support for check in statement.figures if check.support]
    held = sum(span.passage == unit.passage and unit.start <= span.start < unit.end for span in spans)
    return held / max(1, len(statement.figures))
