"""Every figure of the evidence, read once, with what binds it there."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from worker.citations.binding import bind, periods_of, years_of
from worker.citations.equality import candidate_values, equal, may_round, rounds, same_key
from worker.citations.numerals import Figure, read_figures
from worker.citations.support import Evidence, Unit
from worker.citations.tables import Tables
from worker.citations.wording import content_stems
from worker.records import Passage, Span

_SCALE = re.compile(r"\b(thousands|millions|billions)\b", re.I)
_SCALES = {"thousands": Decimal(10) ** 3, "millions": Decimal(10) ** 6, "billions": Decimal(10) ** 9}


@dataclass(frozen=True)
class Entry:
    """One figure of the evidence."""

    figure: Figure
    unit: Unit
    text: str
    """The passage's text."""
    years: frozenset[int]
    context: str
    """The clause, or the row's label and the column's header."""
    periods: frozenset[str]
    lead: str
    """What comes before its sentence or its list; in a table, the heading of the part in which it stands."""
    is_cell: bool = False
    beside: Figure | None = None
    """The figure behind which it stands in brackets."""

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The content stems of what is said of it: of its sentence, or of its row, column and part of the table."""
        around = content_stems(f"{self.lead} {self.unit.context}")
        return frozenset(content_stems(self.context) if self.is_cell else self.unit.stems).union(around)

    @property
    def span(self) -> Span:
        """Where the figure stands."""
        return Span(self.unit.passage, self.figure.start, self.figure.end)


class Ledger:
    """The figures of the evidence, found by value, date or number."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.entries = tuple(self._read())
        self._scales = [_scales(passage) for passage in evidence.passages]
        self._by_value: dict[Decimal, list[Entry]] = defaultdict(list)
        self._by_unit: dict[tuple[int, int], list[Entry]] = defaultdict(list)
        for entry in self.entries:
            self._by_value[entry.figure.value.normalize()].append(entry)
            self._by_unit[entry.unit.passage, entry.unit.start].append(entry)

    @cached_property
    def years(self) -> frozenset[int]:
        """Every year that the evidence speaks of, headings included."""
        said = years_of(entry.figure for entry in self.entries)
        return said.union(*self.heading_years)

    @cached_property
    def heading_years(self) -> tuple[frozenset[int], ...]:
        """The years in each passage's headings and location, which hold for all of its text."""
        return tuple(map(_heading_years, self.evidence.passages))

    def holders(self, figure: Figure) -> set[int]:
        """The passages that hold a figure in their text, or a year in their headings."""
        found = {entry.unit.passage for entry in self.find(figure)[0]}
        headed = enumerate(self.heading_years if figure.kind == "year" else ())
        return found | {passage for passage, years in headed if int(figure.value) in years}

    def of_unit(self, unit: Unit) -> Sequence[Entry]:
        """The figures of one evidence sentence."""
        return self._by_unit.get((unit.passage, unit.start), ())

    def find(self, figure: Figure) -> tuple[list[Entry], bool]:
        """The figures that this one repeats, in order, and whether it rounds them."""
        if figure.kind == "year":
            return [entry for entry in self.entries if int(figure.value) in years_of([entry.figure])], False
        if figure.kind != "number":
            return [entry for entry in self.entries if same_key(figure, entry.figure)], False
        exact = self.equal(figure)
        return (exact, False) if exact else (self.rounded(figure), True)

    def equal(self, figure: Figure) -> list[Entry]:
        """The figures of the same value, in whatever spelling, scale or unit."""
        values = candidate_values(figure, frozenset[Decimal]().union(*self._scales))
        found = (entry for value in values for entry in self._by_value.get(value, ()))
        fitting = [entry for entry in found if equal(figure, entry.figure, self._scales[entry.unit.passage])]
        return sorted(fitting, key=lambda entry: (entry.unit.passage, entry.figure.start))

    def rounded(self, figure: Figure) -> list[Entry]:
        """The figures that this one gives to fewer places."""
        entries = self.entries if may_round(figure) else ()
        return [entry for entry in entries if rounds(figure, entry.figure, self._scales[entry.unit.passage])]

    def _read(self) -> Iterator[Entry]:
        for number, passage in enumerate(self.evidence.passages):
            units = [unit for unit in self.evidence.units if unit.passage == number]
            starts = [unit.start for unit in units]
            by_unit: dict[int, list[Figure]] = defaultdict(list)
            for figure in read_figures(passage.text):
                by_unit[bisect_right(starts, figure.start) - 1].append(figure)
            tables, years = Tables(passage.text), _heading_years(passage)
            for place in sorted(place for place in by_unit if place >= 0):
                years = years_of(by_unit[place]) or years
                yield from _entries(by_unit[place], units[place], passage.text, years, tables)


def _entries(
    figures: Sequence[Figure], unit: Unit, text: str, years: frozenset[int], tables: Tables
) -> Iterator[Entry]:
    """Figures with their binding; a sentence without years goes on about those of the sentences before it."""
    for figure, said in zip(figures, bind(text, (unit.start, unit.end), figures), strict=True):
        if cell := tables.at(figure.start):
            context = f"{cell.label} {cell.header}"
            own = years_of(read_figures(context)) or years
            yield Entry(figure, unit, text, own, context, periods_of(figure, context), cell.section, is_cell=True)
        else:
            lead = f"{unit.section} {unit.lead}"
            yield Entry(figure, unit, text, said.years or years, said.clause, said.periods, lead, beside=said.beside)


def _heading_years(passage: Passage) -> frozenset[int]:
    return years_of(read_figures(" ".join((*passage.heading, passage.location))))


def _scales(passage: Passage) -> frozenset[Decimal]:
    """The scales that a passage names for its tables, `(in millions)`."""
    found = _SCALE.findall(" ".join((*passage.heading, passage.text)))
    return frozenset(_SCALES[word.lower()] for word in found)
