"""Holds every figure of an answer against the evidence sentence or table row that it must come from."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import groupby

from worker.arithmetic import Working, shown_workings
from worker.contrasts import contrast
from worker.numerals import Figure, read_figures
from worker.records import FigureCheck, Span
from worker.sentences import Offsets, split_clauses
from worker.support import Evidence, Unit
from worker.tables import Tables
from worker.wording import content_stems

_MONEY = frozenset(("USD", "EUR", "GBP", "JPY", "CHF", "CAD"))
_MONTHS_IN = {"year": 12, "quarter": 3, "month": 1}
_PERIOD_WORDS = {
    "monthly": "month", "annual": "year", "annually": "year", "yearly": "year", "weekly": "week", "daily": "day", "quarterly": "quarter",
}  # fmt: skip
_PERIOD = re.compile(r"\b(?:" + "|".join(_PERIOD_WORDS) + r")\b|\b(?:per|each|every|a) (year|month|week|day|quarter)\b", re.I)
_IN_SCALE = re.compile(r"\b(?:in|amounts? in|dollars in|\$|\$ ?in|us\$ ?in|expressed in|tabular amounts in)? ?(thousands|millions|billions)\b", re.I)
_SCALES = {"thousands": Decimal(10) ** 3, "millions": Decimal(10) ** 6, "billions": Decimal(10) ** 9}
_UNIT_WORDS = {
    "percent": re.compile(r"%|per ?cent|pct", re.I), "bp": re.compile(r"basis point|bps", re.I), "USD": re.compile(r"\$|dollar|USD", re.I),
    "EUR": re.compile(r"€|euro?", re.I), "GBP": re.compile(r"£|GBP|pound", re.I), "month": re.compile(r"month", re.I),
    "year": re.compile(r"year|annual|age", re.I), "day": re.compile(r"day|daily", re.I), "week": re.compile(r"week", re.I),
}  # fmt: skip
_SMALL_OPERAND = 12
_COMMON_OPERANDS = frozenset((24, 26, 52, 100, 360, 365, 1000))
_CORRECTED = re.compile(r"(?:\bnot|n't|n’t|rather than|instead of|no longer|never)\s+(?:\w+\s+){0,3}$", re.I)
_SUPPOSED = re.compile(r"\b(?:if|assuming|given|with|for|suppose)\b[^.;:]*$", re.I)
_NEAR = 300
# How much more of the clause another evidence sentence must hold before the figure counts as taken from the wrong one.
_SAME_SENTENCE = 0.8
_ELSEWHERE_COVERAGE, _ELSEWHERE_MARGIN = 0.7, 0.3


@dataclass(frozen=True)
class Placed:
    """One figure of the evidence, with what binds it there."""

    figure: Figure
    unit: Unit
    text: str
    """The passage's text."""
    years: frozenset[int]
    context: str
    """The clause, or the row's label and the column's header."""
    periods: frozenset[str]

    @property
    def span(self) -> Span:
        """Where the figure stands in the evidence."""
        return Span(self.unit.passage, self.figure.start, self.figure.end)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the answer a figure stands, as far as it binds it."""

    clause: str
    sentence: str
    before: str
    """The sentence up to the figure."""
    years: frozenset[int]
    periods: frozenset[str]


class FigureIndex:
    """Every figure of the evidence, read once."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.shown = tuple(self._read())
        self.scales = [self._scale_factors(index) for index in range(len(evidence.passages))]
        self._years_by_unit: dict[tuple[int, int], frozenset[int]] = {}
        for shown in self.shown:
            key = (shown.unit.passage, shown.unit.start)
            self._years_by_unit[key] = self._years_by_unit.get(key, frozenset()) | _years([shown.figure])
        self._by_value: dict[Decimal, list[Placed]] = {}
        for shown in self.shown:
            self._by_value.setdefault(shown.figure.value.normalize(), []).append(shown)

    @cached_property
    def years(self) -> frozenset[int]:
        """Every year that the evidence speaks of, headings included."""
        headings = " ".join(" ".join((*passage.heading, passage.location)) for passage in self.evidence.passages)
        return _years(read_figures(headings)) | frozenset(year for shown in self.shown for year in _years([shown.figure]))

    def years_of(self, unit: Unit) -> frozenset[int]:
        """The years in one evidence sentence."""
        return self._years_by_unit.get((unit.passage, unit.start), frozenset())

    def equal(self, figure: Figure) -> list[Placed]:
        """The evidence's figures of the same value, in whatever spelling, scale or unit, in order."""
        factors = {factor for scales in self.scales for factor in scales}
        ratios = (Decimal(1), Decimal(100), Decimal("0.01"), Decimal(12), Decimal(3), Decimal(4), 1 / Decimal(12), 1 / Decimal(3), Decimal("0.25"))
        values = {(figure.value * ratio).normalize() for ratio in (*ratios, *(1 / factor for factor in factors))}
        found = [shown for value in values for shown in self._by_value.get(value, ()) if _equal(figure, shown, self)]
        return sorted(found, key=lambda shown: (shown.unit.passage, shown.figure.start))

    def rounded(self, figure: Figure) -> list[Placed]:
        """The evidence's figures that this one rounds."""
        return [shown for shown in self.shown if _rounds_to(figure, shown, self)]

    def passages_with(self, figure: Figure) -> frozenset[int]:
        """The passages that hold the figure, rounded or not."""
        if figure.kind == "number":
            found = self.equal(figure) or self.rounded(figure)
        elif figure.kind == "year":
            found = [shown for shown in self.shown if figure.value in _years([shown.figure])]
        else:
            found = [shown for shown in self.shown if _same_key(figure, shown.figure)]
        return frozenset(shown.unit.passage for shown in found)

    def _read(self) -> Iterator[Placed]:
        for index, passage in enumerate(self.evidence.passages):
            units = [unit for unit in self.evidence.units if unit.passage == index]
            starts = [unit.start for unit in units]
            tables = Tables(passage.text)
            years = _years(read_figures(" ".join((*passage.heading, passage.location))))
            figures = read_figures(passage.text)
            for place, group in groupby(figures, key=lambda figure: bisect_right(starts, figure.start) - 1):  # noqa: B023
                if place >= 0:
                    own = list(group)
                    years = _years(own) or years
                    yield from _bound(own, units[place], passage.text, years, tables)

    def _scale_factors(self, index: int) -> frozenset[Decimal]:
        passage = self.evidence.passages[index]
        found = _IN_SCALE.findall(f"{' '.join(passage.heading)} {passage.text}")
        return frozenset(_SCALES[word.lower()] for word in found)


def check_figures(text: str, sentence: Offsets, index: FigureIndex, question: str = "") -> list[FigureCheck]:
    """What became of every figure of one sentence of an answer, in order.

    `verified` and `rounded` name the evidence; `computed` is a result whose working the answer shows, from supported operands;
    `question` repeats the question's own figure as a condition or a correction, which supports nothing. The reason of an
    `unsupported` figure is one of `number`, `unit`, `sign`, `date`, `scope`, `misplaced`, `arithmetic`, `echo`.
    """
    asked = read_figures(question)
    figures = [figure for figure in read_figures(text, *sentence) if not _only_counts(figure)]
    places = _places(text, sentence, figures)
    checks = [_check(text, figure, place, index, asked) for figure, place in zip(figures, places, strict=True)]
    for working in shown_workings(text, figures):
        _apply(working, figures, checks)
    return checks


def _apply(working: Working, figures: Sequence[Figure], checks: list[FigureCheck]) -> None:
    """A shown sum decides about its result, and excuses the constants in it."""
    stand = [_stands(figures[i], checks[i]) for i in working.operands]
    result = checks[working.result]
    if result.state not in ("verified", "rounded") or not working.correct:
        right = working.correct and all(stand)
        checks[working.result] = replace(
            result, state="computed" if right else "unsupported", reason="" if right else "arithmetic", support=None
        )
    for i, stands in zip(working.operands, stand, strict=True):
        if stands and checks[i].state == "unsupported":
            checks[i] = replace(checks[i], state="question", reason="operand")


def _only_counts(figure: Figure) -> bool:
    """`Three things matter` counts the answer's own words and claims nothing."""
    return figure.spelled and not figure.unit and figure.value < 100


def _stands(figure: Figure, check: FigureCheck) -> bool:
    if check.state != "unsupported" or check.reason == "echo":
        return True
    whole = figure.value == figure.value.to_integral_value() and not figure.unit
    return whole and (figure.value <= _SMALL_OPERAND or figure.value in _COMMON_OPERANDS)


def _check(text: str, figure: Figure, place: _Place, index: FigureIndex, asked: Sequence[Figure]) -> FigureCheck:
    check = FigureCheck(text[figure.start : figure.end], figure.start, figure.end, "unsupported")
    supporting, reason, rounded = _find(figure, place, index)
    if supporting:
        return replace(check, state="rounded" if rounded else "verified", reason=reason, support=supporting.span)
    if any(_same_value(figure, other) or (figure.key and figure.key == other.key) for other in asked):
        return _echo(check, figure, place, index)
    if figure.key.endswith(")") and not any(shown.figure.key.endswith(")") for shown in index.shown):
        return replace(check, state="question", reason="term")  # `401(k)` is a word here, not a figure
    return replace(check, reason=reason)


def _echo(check: FigureCheck, figure: Figure, place: _Place, index: FigureIndex) -> FigureCheck:
    """A figure of the question: a condition or a correction may repeat it, a statement may not rest on it."""
    if figure.kind == "form" or (figure.kind == "year" and not index.years) or _CORRECTED.search(place.before):
        return replace(check, state="question", reason="repeated")
    if figure.kind != "year" and _SUPPOSED.search(place.before):
        return replace(check, state="question", reason="condition")
    return replace(check, reason="date" if figure.kind == "year" else "echo")


def _places(text: str, sentence: Offsets, figures: Sequence[Figure]) -> list[_Place]:
    """What binds each figure of a sentence; of a clause too long to be one, only what is near."""
    clauses = split_clauses(text, *sentence) or (sentence,)
    paired = "respectively" in text[slice(*sentence)]
    places: list[_Place] = []
    for figure, clause, years in zip(figures, _by_clause(figures, clauses), _bound_years(figures, clauses, respectively=paired), strict=True):
        start, end = clauses[clause]
        start, end = max(start, figure.start - _NEAR), min(end, figure.end + _NEAR)
        whole = text[max(sentence[0], figure.start - _NEAR) : min(sentence[1], figure.end + _NEAR)]
        before = text[max(sentence[0], figure.start - _NEAR) : figure.start]
        periods = frozenset([figure.period]) if figure.period else _periods(text[start:end])
        places.append(_Place(text[start:end], whole, before, years, periods))
    return places


def _find(figure: Figure, place: _Place, index: FigureIndex) -> tuple[Placed | None, str, bool]:
    """The evidence's figure that this one is, what to say of it, and whether it was rounded."""
    if figure.kind in ("date", "form"):
        found = [shown for shown in index.shown if _same_key(figure, shown.figure)]
        return (_best(found, place, index), "", False) if found else (None, "date" if figure.kind == "date" else "number", False)
    if figure.kind == "year":
        found = [shown for shown in index.shown if figure.value in _years([shown.figure])]
        best = None if _contradicts_year(figure, place, index) else _best(found, place, index)
        return (best, "", False) if best else (None, "date", False)
    reasons: list[str] = []
    for candidates, rounded in ((index.equal(figure), False), (index.rounded(figure), True)):
        fitting: list[Placed] = []
        for shown in candidates:
            conflict = _conflict(figure, shown, place, index)
            if conflict:
                reasons.append(conflict)
            else:
                fitting.append(shown)
        if fitting:
            best = _best(fitting, place, index)
            return best, "unit_inferred" if best and _unit_is_inferred(figure, best.figure) else "", rounded
    return None, reasons[0] if reasons else "number", False


def _contradicts_year(figure: Figure, place: _Place, index: FigureIndex) -> bool:
    """The evidence sentence that says nearly the same in words says it of other years."""
    best = index.evidence.best_units(content_stems(place.sentence))
    years = [index.years_of(unit) for unit, coverage in best if coverage >= _SAME_SENTENCE]
    return bool(years) and all(each and int(figure.value) not in each for each in years)


def _best(found: Sequence[Placed], place: _Place, index: FigureIndex) -> Placed | None:
    stems = content_stems(place.clause)
    return max(found, key=lambda shown: index.evidence.coverage(stems, shown.unit.vocabulary), default=None)


# --- values ------------------------------------------------------------------------------------


def _same_value(figure: Figure, other: Figure) -> bool:
    if {figure.kind, other.kind} <= {"number", "year"}:
        return figure.value == other.value
    return False


def _same_key(figure: Figure, other: Figure) -> bool:
    if figure.kind == "form":
        return figure.key == other.key or (other.kind == "number" and str(other.value) == figure.key)
    if other.kind != "date":
        return False
    said, shown = figure.key.split("-"), other.key.split("-")
    return all(a == b or a == "?" or (b == "?" and place == 0) for place, (a, b) in enumerate(zip(said, shown, strict=True)))


def _equal(figure: Figure, shown: Placed, index: FigureIndex) -> bool:
    other = shown.figure
    if other.kind not in ("number", "year"):
        return False
    if figure.value == other.value or _unit_is_inferred(figure, other):
        return True
    if figure.unit in _MONTHS_IN and other.unit in _MONTHS_IN:
        return figure.value * _MONTHS_IN[figure.unit] == other.value * _MONTHS_IN[other.unit]
    return other.factor == 1 and any(figure.value == other.value * factor for factor in index.scales[shown.unit.passage])


def _unit_is_inferred(figure: Figure, other: Figure) -> bool:
    """`0.0625` for `6.25 %`, and the other way round."""
    if other.kind != "number" or {figure.unit, other.unit} != {"percent", ""}:
        return False
    percent, plain = (figure, other) if figure.unit == "percent" else (other, figure)
    return plain.value < 1 and percent.value == plain.value * 100 and plain.value > 0


def _rounds_to(figure: Figure, shown: Placed, index: FigureIndex) -> bool:
    other = shown.figure
    if other.kind != "number" or not figure.value:
        return False
    step = figure.step
    if figure.hedged and figure.factor == 1 and figure.value == figure.value.to_integral_value():
        step = max(step, Decimal(10) ** (len(str(int(figure.value))) - len(str(int(figure.value)).rstrip("0"))))
    digits = len((figure.value / step).to_integral_value().as_tuple().digits)
    if digits < 2 and not figure.hedged:
        return False
    factors = {Decimal(1), *(index.scales[shown.unit.passage] if other.factor == 1 else ())}
    return any(
        other.step * factor < step and abs(figure.value - other.value * factor) <= step / 2 and abs(figure.value - other.value * factor) <= figure.value / 20
        for factor in factors
    )


# --- binding -----------------------------------------------------------------------------------


def _conflict(figure: Figure, shown: Placed, place: _Place, index: FigureIndex) -> str:
    """Why an equal figure of the evidence is another one: its unit, period, sign, year, scope or place; "" where it is this one."""
    other = shown.figure
    if not _units_agree(figure, shown) or (place.periods and shown.periods and not place.periods & shown.periods):
        return "unit"
    if "+" in (figure.sign, other.sign) and "-" in (figure.sign, other.sign):
        return "sign"
    if place.years and shown.years and not place.years & shown.years:
        return "date"
    if contrast(place.clause, shown.context) or (place.clause != place.sentence and contrast(place.clause, shown.unit.text)):
        return "scope"
    return "misplaced" if _stands_elsewhere(figure, shown, place, index) else ""


def _units_agree(figure: Figure, shown: Placed) -> bool:
    unit, other = figure.unit, shown.figure.unit
    if unit == other or not unit or _unit_is_inferred(figure, shown.figure):
        return True
    if unit in _MONTHS_IN and other in _MONTHS_IN:
        return figure.value * _MONTHS_IN[unit] == shown.figure.value * _MONTHS_IN[other]
    if other:
        return False
    if unit in _MONEY:
        return not any(money != unit and money in _UNIT_WORDS and _UNIT_WORDS[money].search(shown.text) for money in _MONEY) or bool(
            unit in _UNIT_WORDS and _UNIT_WORDS[unit].search(shown.text)
        )
    return unit not in _UNIT_WORDS or _UNIT_WORDS[unit].search(shown.text) is not None


def _stands_elsewhere(figure: Figure, shown: Placed, place: _Place, index: FigureIndex) -> bool:
    """Another evidence sentence holds clearly more of the clause, and gives another figure of this kind."""
    stems = content_stems(place.clause)
    if len(set(stems)) < 2:
        return False
    evidence = index.evidence
    here = evidence.coverage(stems, shown.unit.vocabulary)
    if here >= _ELSEWHERE_COVERAGE:
        return False
    best = evidence.best_units(stems)
    if not best or best[0][1] < _ELSEWHERE_COVERAGE or best[0][1] - here < _ELSEWHERE_MARGIN:
        return False
    return any(s.unit is best[0][0] and s.figure.kind == "number" and s.figure.unit == shown.figure.unit for s in index.shown)


def _bound(figures: Sequence[Figure], unit: Unit, text: str, years: frozenset[int], tables: Tables) -> Iterator[Placed]:
    clauses = split_clauses(text, unit.start, unit.end) or ((unit.start, unit.end),)
    paired = "respectively" in unit.text
    for figure, clause, near in zip(figures, _by_clause(figures, clauses), _bound_years(figures, clauses, respectively=paired), strict=True):
        if cell := tables.at(figure.start):
            context = f"{cell.label} {cell.header}"
            own_years = _years(read_figures(context)) or years
        else:
            start, end = clauses[clause]
            context, own_years = text[max(start, figure.start - _NEAR) : min(end, figure.end + _NEAR)], near or years
        periods = frozenset([figure.period]) if figure.period else _periods(context)
        yield Placed(figure, unit, text, own_years, context, periods)


def _by_clause(figures: Sequence[Figure], clauses: Sequence[Offsets]) -> list[int]:
    """In which clause each figure stands."""
    starts = [start for start, _ in clauses]
    return [max(0, bisect_right(starts, figure.start) - 1) for figure in figures]


def _bound_years(figures: Sequence[Figure], clauses: Sequence[Offsets], *, respectively: bool) -> list[frozenset[int]]:
    """The years that each figure is said of: those of its clause and of the clauses without amounts behind it, as in
    `$500 in 2020 and 2021`; else those of the clauses without amounts before it, as in `In 2020, $500`; else all.
    """
    places = _by_clause(figures, clauses)
    own: list[set[int]] = [set() for _ in clauses]
    amounts = [False] * len(clauses)
    for figure, place in zip(figures, places, strict=True):
        own[place] |= _years([figure])
        amounts[place] |= figure.kind == "number"
    behind = _accumulated(own, amounts, range(len(clauses) - 1, -1, -1))
    before = _accumulated(own, amounts, range(len(clauses)))
    every = _years(figures)
    found = [frozenset(own[place] | behind[place] or before[place]) or every for place in places]
    return _paired(figures, found) if respectively else found


def _paired(figures: Sequence[Figure], found: list[frozenset[int]]) -> list[frozenset[int]]:
    """`$5 and $6 in 2019 and 2018, respectively`: the first amount belongs to the first year."""
    amounts = [i for i, figure in enumerate(figures) if figure.kind == "number"]
    years = [int(figure.value) for figure in figures if figure.kind in ("year", "date") and figure.value]
    if years and len(amounts) % len(years) == 0:
        for order, i in enumerate(amounts):
            found[i] = frozenset([years[order % len(years)]])
    return found


def _accumulated(own: Sequence[set[int]], amounts: Sequence[bool], order: Iterable[int]) -> list[frozenset[int]]:
    """For each clause, in an order, the years since the last clause with an amount."""
    found: list[frozenset[int]] = [frozenset()] * len(own)
    current: frozenset[int] = frozenset()
    for place in order:
        found[place] = current
        current = frozenset() if amounts[place] else current | own[place]
    return found


def _years(figures: Iterable[Figure]) -> frozenset[int]:
    return frozenset(int(figure.value) for figure in figures if figure.kind in ("year", "date") and figure.value)


def _periods(text: str) -> frozenset[str]:
    return frozenset(_PERIOD_WORDS.get(match[0].lower(), (match[1] or "").lower()) for match in _PERIOD.finditer(text))
