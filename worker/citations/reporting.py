"""Turns checked statements into the records and flags of a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from worker.citations.findings import Statement
from worker.citations.grounds import Grounds
from worker.citations.mentions import Mention
from worker.records import FigureCheck, QuoteCheck, SentenceCheck

_FIGURE_FLAGS = {
    "number": "number_unsupported:{0}",
    "unit": "unit_mismatch:{0}",
    "sign": "sign_flip:{0}",
    "date": "date_mismatch:{0}",
    "scope": "scope_mismatch:{0}",
    "misplaced": "number_misplaced:{0}",
    "arithmetic": "arithmetic_error:{0}",
    "echo": "number_unsupported:{0}",
}
_QUOTE_FLAGS = {"stitched": "frankenquote", "not_found": "quote_not_verbatim"}


def report_figures(statements: Sequence[Statement], removed: Sequence[Statement]) -> tuple[FigureCheck, ...]:
    """The figures of the answer, then those of the sentences that were removed."""
    gone = [replace(check, start=-1, end=-1) for statement in removed for check in statement.figures]
    return (*(check for statement in statements for check in statement.figures), *gone)


def report_quotes(
    statements: Sequence[Statement], removed: Sequence[Statement], mentions: Sequence[Mention], grounds: Grounds
) -> tuple[QuoteCheck, ...]:
    """The quotations of the answer, then those of the sentences that were removed."""
    cited = {mention.name for mention in mentions if mention.name}
    kept = [_attributed(check, cited, grounds) for statement in statements for check in statement.quotes]
    gone = [replace(check, start=-1, end=-1) for statement in removed for check in statement.quotes]
    return (*dict.fromkeys(kept), *gone)


def _attributed(check: QuoteCheck, cited: set[str], grounds: Grounds) -> QuoteCheck:
    """A quotation of a document that was shown and is not the one cited."""
    wrong = check.state == "verbatim" and cited and not cited & grounds.quotes.holders(check.string)
    return replace(check, state="misattributed") if wrong else check


def report_sentences(statements: Sequence[Statement], removed: Sequence[Statement]) -> tuple[SentenceCheck, ...]:
    """The sentences of the answer, then those that were removed."""
    gone = [
        replace(_sentence(statement), start=-1, end=-1, state="removed", text=statement.text) for statement in removed
    ]
    return (*map(_sentence, statements), *gone)


def _sentence(statement: Statement) -> SentenceCheck:
    span = statement.unit.span if statement.unit and statement.kind == "claim" else None
    flags = tuple(dict.fromkeys(_own_flags(statement)))
    return SentenceCheck(statement.start, statement.end, statement.state, round(statement.support, 3), span, flags)


def report_flags(statements: Sequence[Statement]) -> Iterator[str]:
    """The flags of every sentence; an unsupported one that no other flag explains is named by its number, from 1."""
    for number, statement in enumerate(statements, start=1):
        flags = list(_own_flags(statement))
        yield from flags
        if statement.state == "unsupported" and not flags:
            yield f"sentence_unsupported:{number}"


def _own_flags(statement: Statement) -> Iterator[str]:
    for check in statement.figures:
        if check.state == "unsupported":
            yield _FIGURE_FLAGS[check.reason].format(check.string)
        if check.reason == "unit_inferred" or (check.reason == "echo" and check.state == "unsupported"):
            yield {"echo": "echoes_question", "unit_inferred": "unit_inferred"}[check.reason]
        if check.state in ("rounded", "computed"):
            yield f"{check.state}:{check.string}"
    yield from (_QUOTE_FLAGS[check.state] for check in statement.quotes if check.state in _QUOTE_FLAGS)
    yield from statement.flips
    if statement.kind == "foreign":
        yield "other_language"
    if statement.kind == "echo":
        yield "repeats_question"
