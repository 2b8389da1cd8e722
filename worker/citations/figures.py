"""Holds every figure of an answer against the evidence sentence or table row that it must come from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from worker.citations.arithmetic import Working, shown_workings
from worker.citations.binding import Binding, bind, years_of
from worker.citations.contrasts import contrast
from worker.citations.equality import equal, is_fraction, rounds, same_key, same_value, units_agree
from worker.citations.ledger import Entry, Ledger
from worker.citations.numerals import Figure, read_figures
from worker.citations.sentences import Offsets
from worker.citations.wording import WHOLE, content_stems
from worker.records import FigureCheck

_SMALL_OPERAND = 12
_COMMON_OPERANDS = frozenset((24, 26, 52, 100, 360, 365, 1000))
_CORRECTED = re.compile(r"(?:\bnot|n't|n’t|rather than|instead of|no longer|never)\s+(?:\w+\s+){0,3}$", re.I)
_DECLINE = re.compile(
    r"\b(?:loss|los[et]|decreas|declin|fell|fall|drop|negative|minus|reduc|down|lower|deficit|outflow|"
    r"used in|paid|cut)|\(\$?\d",
    re.I,
)
_SUPPOSED = re.compile(r"\b(?:if|assuming|given|with|for|suppose)\b[^.;:]*$", re.I)
# From this coverage on, an evidence sentence says the same as the answer's, and its years are the years meant.
_SAME_SENTENCE = 0.8
# How much of the clause another evidence sentence must hold, and how much more than the figure's own does,
# before the figure counts as taken from the wrong one.
_ELSEWHERE_COVERAGE, _ELSEWHERE_MARGIN = 0.7, 0.3


def check_figures(text: str, sentence: Offsets, ledger: Ledger, question: str = "") -> list[FigureCheck]:
    """What became of every figure of one sentence of an answer, in order.

    `verified` and `rounded` name the evidence, except for a year out of a heading; `computed` is a result whose
    working the answer shows, from supported operands; `question` repeats the question's own figure as a condition
    or a correction, which supports nothing. The reason of an `unsupported` figure is one of `number`, `unit`,
    `sign`, `date`, `scope`, `misplaced`, `arithmetic`, `echo`.
    """
    asked = read_figures(question)
    figures = [figure for figure in read_figures(text, *sentence) if not _only_counts(figure)]
    bindings = [_asked(said, asked, question) for said in bind(text, sentence, figures)]
    checks = [_check(text, figure, said, ledger, asked) for figure, said in zip(figures, bindings, strict=True)]
    for working in shown_workings(text, figures):
        _apply(working, figures, checks)
    return checks


def _asked(said: Binding, asked: Sequence[Figure], question: str) -> Binding:
    """A short answer, `It is $500`, says what was asked."""
    if said.years or len(set(content_stems(said.sentence))) >= WHOLE:
        return said
    return replace(said, clause=f"{said.clause} {question}", years=years_of(asked))


def _only_counts(figure: Figure) -> bool:
    """`Three things matter` counts the answer's own words and claims nothing."""
    return figure.spelled and not figure.unit and figure.value < 100


def _check(text: str, figure: Figure, said: Binding, ledger: Ledger, asked: Sequence[Figure]) -> FigureCheck:
    check = FigureCheck(text[figure.start : figure.end], figure.start, figure.end, "unsupported")
    entry, reason, rounded = _support(figure, said, ledger)
    if entry:
        return replace(check, state="rounded" if rounded else "verified", reason=reason, support=entry.span)
    if figure.kind == "year" and ledger.holders(figure) and not _contradicts_date(figure, said, ledger):
        return replace(check, state="verified")
    if any(same_value(figure, other) or (figure.key and figure.key == other.key) for other in asked):
        return _echo(check, figure, said, ledger)
    if figure.key.endswith(")") and not any(entry.figure.key.endswith(")") for entry in ledger.entries):
        return replace(check, state="question", reason="term")  # `401(k)` is a word here, not a figure
    return replace(check, reason=reason)


def _echo(check: FigureCheck, figure: Figure, said: Binding, ledger: Ledger) -> FigureCheck:
    """A figure of the question: a condition or a correction may repeat it, a statement may not rest on it."""
    if figure.kind == "form" or (figure.kind == "year" and not ledger.years) or _CORRECTED.search(said.before):
        return replace(check, state="question", reason="repeated")
    if figure.kind != "year" and _SUPPOSED.search(said.before):
        return replace(check, state="question", reason="condition")
    return replace(check, reason="echo")


# --- support -----------------------------------------------------------------------------------


def _support(figure: Figure, said: Binding, ledger: Ledger) -> tuple[Entry | None, str, bool]:
    """The evidence's figure that this one is, what to say of it, and whether it was rounded."""
    if figure.kind != "number":
        found, _ = ledger.find(figure)
        entry = None if _contradicts_date(figure, said, ledger) else _closest(found, said, ledger)
        return entry, "" if entry else "number" if figure.kind == "form" else "date", False
    reasons: list[str] = []
    for search, rounded in ((ledger.equal, False), (ledger.rounded, True)):
        candidates = search(figure)
        conflicts = [_conflict(figure, entry, said, ledger) for entry in candidates]
        fitting = [entry for entry, conflict in zip(candidates, conflicts, strict=True) if not conflict]
        if entry := _closest(fitting, said, ledger):
            return entry, "unit_inferred" if is_fraction(figure, entry.figure) else "", rounded
        reasons += conflicts
    return None, reasons[0] if reasons else "number", False


def _closest(found: Sequence[Entry], said: Binding, ledger: Ledger) -> Entry | None:
    stems = content_stems(said.clause)
    return max(found, key=lambda entry: ledger.evidence.coverage(stems, entry.unit.vocabulary), default=None)


def _contradicts_date(figure: Figure, said: Binding, ledger: Ledger) -> bool:
    """The evidence sentences that say nearly the same in words give other dates or years."""
    if figure.kind == "form":
        return False
    best = ledger.evidence.best_units(content_stems(said.sentence))
    spoken = [ledger.of_unit(unit) for unit, coverage in best if coverage >= _SAME_SENTENCE]
    dated = [
        [e.figure for e in entries if e.figure.kind in ("date", "year") and e.figure.value] for entries in spoken
    ]
    return bool(dated) and all(each and not _among(figure, each) for each in dated)


def _among(figure: Figure, dates: Sequence[Figure]) -> bool:
    if figure.kind == "date" and any(other.kind == "date" for other in dates):
        return any(same_key(figure, other) for other in dates)
    return int(figure.value) in years_of(dates) or not figure.value


def _conflict(figure: Figure, entry: Entry, said: Binding, ledger: Ledger) -> str:
    """Why an equal figure of the evidence is another one; "" where it is this one."""
    signs = {figure.sign, entry.figure.sign}
    unit = entry.unit
    scopes = (entry.context, unit.text if said.clause != said.sentence else "", f"{unit.context} {unit.text}")
    checks = (
        ("unit", not units_agree(figure, entry.figure, entry.text) or _apart(said.periods, entry.periods)),
        ("sign", signs == {"+", "-"} or _turns_negative(figure, said, entry)),
        ("date", _apart(said.years, entry.years)),
        ("scope", any(contrast(said.clause, scope) for scope in scopes)),
        ("misplaced", _is_beside_another(said.beside, entry.beside) or _stands_elsewhere(entry, said, ledger)),
    )
    return next((reason for reason, holds in checks if holds), "")


def _is_beside_another(said: Figure | None, shown: Figure | None) -> bool:
    """`3.1 square miles (8.6 km2)` where the evidence has 3.3: the two in brackets were one amount."""
    if said is None or shown is None:
        return False
    return not (equal(said, shown, frozenset()) or rounds(said, shown, frozenset()))


def _turns_negative(figure: Figure, said: Binding, entry: Entry) -> bool:
    """A minus, and neither a bullet nor an aside in brackets, where the evidence speaks of no decline."""
    inside = said.before.strip(" ")[-1:] not in ("", "\n", "(")
    return inside and figure.sign == "-" and not entry.figure.sign and not _DECLINE.search(entry.unit.text)


def _apart(said: frozenset[object], shown: frozenset[object]) -> bool:
    return bool(said and shown) and not said & shown


def _stands_elsewhere(entry: Entry, said: Binding, ledger: Ledger) -> bool:
    """Another evidence sentence holds clearly more of the clause, and gives another figure of this kind."""
    stems = content_stems(said.clause)
    here = ledger.evidence.coverage(stems, entry.unit.vocabulary)
    best = ledger.evidence.best_units(stems)[:1] if len(set(stems)) > 1 else ()
    if not best or best[0][1] < max(_ELSEWHERE_COVERAGE, here + _ELSEWHERE_MARGIN):
        return False
    rivals = (other.figure for other in ledger.of_unit(best[0][0]))
    return any(other.kind == "number" and other.unit == entry.figure.unit for other in rivals)


# --- arithmetic --------------------------------------------------------------------------------


def _apply(working: Working, figures: Sequence[Figure], checks: list[FigureCheck]) -> None:
    """A shown sum decides about its result, and excuses its constants, wherever the sentence repeats them."""
    standing = [operand for operand in working.operands if _stands(figures[operand], checks[operand])]
    result = checks[working.result]
    right = working.correct and len(standing) == len(working.operands)
    if result.state not in ("verified", "rounded") or not working.correct:
        wrong = replace(result, state="unsupported", reason="arithmetic", support=None)
        checks[working.result] = replace(wrong, state="computed", reason="") if right else wrong
    used = {figures[operand].value for operand in standing}
    for place, (figure, check) in enumerate(zip(figures, checks, strict=True)):
        repeats = figure.value in used and (right or place in standing)
        if repeats and check.state == "unsupported" and check.reason != "arithmetic":
            checks[place] = replace(check, state="question", reason="operand")


def _stands(figure: Figure, check: FigureCheck) -> bool:
    """An operand comes from the evidence or the question, or is a plain constant such as the months of a year."""
    if check.state != "unsupported" or check.reason == "echo":
        return True
    whole = figure.value == figure.value.to_integral_value() and not figure.unit
    return whole and (figure.value <= _SMALL_OPERAND or figure.value in _COMMON_OPERANDS)
