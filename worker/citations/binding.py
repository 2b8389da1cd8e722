"""What each figure of a sentence is said of: its clause, its years, its period."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from worker.citations.numerals import Figure
from worker.citations.sentences import Offsets, split_clauses

_NEAR = 300
"""Characters: of a clause too long to be one, only what is this near to a figure binds it."""
_PERIOD_WORDS = {
    "monthly": "month",
    "annual": "year",
    "annually": "year",
    "yearly": "year",
    "weekly": "week",
    "daily": "day",
    "quarterly": "quarter",
}
# What may stand between a figure and the bracket that gives it anew, and in the bracket besides the other figure.
_OPENED = re.compile(r"[^\W\d]*(?: [^\W\d][\w.%²]*){0,3} ?\((?:[^\W\d]+ )?")
_CLOSED = re.compile(r"[^()\d]{0,20}[²2]?\)")
_PERIOD = re.compile(
    rf"\b(?:{'|'.join(_PERIOD_WORDS)})\b|\b(?:per|each|every|a) (year|month|week|day|quarter)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Binding:
    """What a figure is said of."""

    clause: str
    sentence: str
    before: str
    """The sentence up to the figure."""
    years: frozenset[int]
    periods: frozenset[str]
    beside: Figure | None = None
    """The figure behind which it stands in brackets, as in `3.3 square miles (8.6 km2)`."""


def bind(text: str, sentence: Offsets, figures: Sequence[Figure]) -> list[Binding]:
    """The binding of each figure of one sentence."""
    clauses = split_clauses(text, *sentence) or (sentence,)
    places = _by_clause(figures, clauses)
    years = _years_by_figure(figures, places, len(clauses))
    if "respectively" in text[slice(*sentence)]:
        years = _paired(figures, years)
    bound = [
        _binding(text, sentence, clauses[place], figure, said)
        for figure, place, said in zip(figures, places, years, strict=True)
    ]
    for place, (before, figure) in enumerate(pairwise(figures), 1):
        if _is_in_brackets_behind(text, before, figure):
            bound[place] = replace(bound[place], beside=before)
    return bound


def _is_in_brackets_behind(text: str, before: Figure, figure: Figure) -> bool:
    opened = _OPENED.fullmatch(text, before.end, figure.start)
    return bool(opened and _CLOSED.match(text, figure.end)) and before.kind == figure.kind == "number"


def years_of(figures: Iterable[Figure]) -> frozenset[int]:
    """The years among some figures, those of dates included."""
    return frozenset(int(figure.value) for figure in figures if figure.kind in ("year", "date") and figure.value)


def periods_of(figure: Figure, text: str) -> frozenset[str]:
    """Per what a figure is meant: as it says itself, or as the words around it say."""
    if figure.period:
        return frozenset([figure.period])
    found = _PERIOD.finditer(text)
    return frozenset(_PERIOD_WORDS.get(match[0].lower(), (match[1] or "").lower()) for match in found)


def _binding(text: str, sentence: Offsets, clause: Offsets, figure: Figure, years: frozenset[int]) -> Binding:
    first, last = max(sentence[0], figure.start - _NEAR), min(sentence[1], figure.end + _NEAR)
    words = text[max(clause[0], first) : min(clause[1], last)]
    return Binding(words, text[first:last], text[first : figure.start], years, periods_of(figure, words))


def _by_clause(figures: Sequence[Figure], clauses: Sequence[Offsets]) -> list[int]:
    """In which clause each figure stands."""
    starts = [start for start, _ in clauses]
    return [max(0, bisect_right(starts, figure.start) - 1) for figure in figures]


def _years_by_figure(figures: Sequence[Figure], places: Sequence[int], clauses: int) -> list[frozenset[int]]:
    """The years of a figure's clause and of the clauses without amounts behind it, as in `$500 in 2020 and 2021`;
    else those of the clauses without amounts before it, as in `In 2020, $500`; else all of the sentence.
    """
    own: list[frozenset[int]] = [frozenset()] * clauses
    amounts = [False] * clauses
    for figure, place in zip(figures, places, strict=True):
        own[place] |= years_of([figure])
        amounts[place] |= figure.kind == "number"
    behind = _since_amount(own, amounts, range(clauses - 1, -1, -1))
    before = _since_amount(own, amounts, range(clauses))
    every = years_of(figures)
    return [(own[place] | behind[place]) or before[place] or every for place in places]


def _since_amount(
    own: Sequence[frozenset[int]], amounts: Sequence[bool], order: Iterable[int]
) -> list[frozenset[int]]:
    """For each clause, in an order, the years since the last clause with an amount."""
    found: list[frozenset[int]] = [frozenset()] * len(own)
    current: frozenset[int] = frozenset()
    for place in order:
        found[place] = current
        current = frozenset() if amounts[place] else current | own[place]
    return found


def _paired(figures: Sequence[Figure], years: list[frozenset[int]]) -> list[frozenset[int]]:
    """`$5 and $6 in 2019 and 2018, respectively`: the first amount belongs to the first year."""
    amounts = [index for index, figure in enumerate(figures) if figure.kind == "number"]
    said = [int(figure.value) for figure in figures if figure.kind in ("year", "date") and figure.value]
    if said and len(amounts) % len(said) == 0:
        for order, index in enumerate(amounts):
            years[index] = frozenset([said[order % len(said)]])
    return years
