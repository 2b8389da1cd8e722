"""When two figures are the same: in value, in unit, rounded, or under the same date or number."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal

from worker.citations.numerals import Figure

_MONEY = frozenset(("USD", "EUR", "GBP", "JPY", "CHF", "CAD"))
_MONTHS_IN = {"year": 12, "quarter": 3, "month": 1}
_POINTS_IN = {"percent": 100, "bp": 1}
_UNIT_WORDS = {
    "percent": re.compile(r"%|per ?cent|pct", re.I),
    "bp": re.compile(r"basis point|bps", re.I),
    "USD": re.compile(r"\$|dollar|USD", re.I),
    "EUR": re.compile(r"€|euro?", re.I),
    "GBP": re.compile(r"£|GBP|pound", re.I),
    "year": re.compile(r"year|annual|age", re.I),
    "month": re.compile(r"month", re.I),
    "week": re.compile(r"week", re.I),
    "day": re.compile(r"day|daily", re.I),
}
_RATIOS = (*map(Decimal, ("1", "100", "0.01", "12", "3", "4", "0.25", "1000")), 1 / Decimal(12), 1 / Decimal(3))
# A smaller number in words counts what stands behind it: `two incomes` are not two months.
_COUNTS_BELOW = 20
_THOUSANDTH = Decimal("0.001")
_ROUNDING_ERROR = 20
"""A rounded value is off by a twentieth at most."""

Scales = Collection[Decimal]
"""What a table's figures may be multiplied by: 1,000 under "in thousands"."""


def candidate_values(figure: Figure, scales: Scales) -> set[Decimal]:
    """Every value under which an equal figure may stand in the evidence: in percent, in months, in thousands."""
    return {(figure.value * ratio).normalize() for ratio in (*_RATIOS, *(1 / scale for scale in scales))}


def same_value(figure: Figure, other: Figure) -> bool:
    """Whether two numbers or years have one value."""
    return {figure.kind, other.kind} <= {"number", "year"} and figure.value == other.value


def equal(figure: Figure, other: Figure, scales: Scales) -> bool:
    """Whether an evidence figure says the same amount, in whatever spelling."""
    if other.kind not in ("number", "year"):
        return False
    if figure.value == other.value or _converts(figure, other):
        return True
    if figure.step == _THOUSANDTH and figure.value * 1000 == other.value:
        return True  # `7.000` with a point between the thousands
    return other.factor == 1 and any(figure.value == other.value * scale for scale in scales)


def may_round(figure: Figure) -> bool:
    """Whether a figure may stand for another one to fewer places: without "about" it needs two of them."""
    return figure.value != 0 and (figure.hedged or figure.value >= 10 * _step(figure))


def rounds(figure: Figure, other: Figure, scales: Scales) -> bool:
    """Whether a figure that may round is an evidence figure to fewer places."""
    step = _step(figure)
    if other.kind != "number":
        return False
    return any(
        other.step * scale < step
        and -step / 2 < figure.value - other.value * scale <= step / 2
        and abs(figure.value - other.value * scale) <= figure.value / _ROUNDING_ERROR
        for scale in ({Decimal(1), *scales} if other.factor == 1 else {Decimal(1)})
    )


def same_key(figure: Figure, other: Figure) -> bool:
    """Whether two dates or two form numbers are one; a date may say less than the evidence does."""
    if figure.kind == "form":
        return figure.key == other.key or (other.kind == "number" and str(other.value) == figure.key)
    if figure.kind != "date" or other.kind != "date":
        return False
    (year, *rest), (shown_year, *shown) = figure.key.split("-"), other.key.split("-")
    return (year == shown_year or "?" in (year, shown_year)) and all(
        a in (b, "?") for a, b in zip(rest, shown, strict=True)
    )


def units_agree(figure: Figure, other: Figure, text: str) -> bool:
    """Whether the units are one, or the evidence, whose text is given, leaves the unit to its context."""
    unit = figure.unit
    if unit in ("", other.unit) or _converts(figure, other):
        return True
    if other.unit or unit not in _UNIT_WORDS:
        return not other.unit
    if other.spelled and other.value < _COUNTS_BELOW:
        return False
    spoken_of = _UNIT_WORDS[unit].search(text) is not None
    rivals = [_UNIT_WORDS[money] for money in _MONEY - {unit} if money in _UNIT_WORDS]
    return spoken_of or (unit in _MONEY and not any(rival.search(text) for rival in rivals))


def is_fraction(figure: Figure, other: Figure) -> bool:
    """`0.0625` for `6.25 %`, and the other way round."""
    if other.kind != "number" or {figure.unit, other.unit} != {"percent", ""}:
        return False
    percent, plain = (figure, other) if figure.unit == "percent" else (other, figure)
    return 0 < plain.value < 1 and percent.value == plain.value * 100


def _converts(figure: Figure, other: Figure) -> bool:
    return is_fraction(figure, other) or _same_time(figure, other) or _same_rate(figure, other)


def _same_rate(figure: Figure, other: Figure) -> bool:
    """`415 basis points` and `4.15 %`."""
    points = {each.unit: each.value * _POINTS_IN.get(each.unit, 0) for each in (figure, other)}
    return points.keys() == _POINTS_IN.keys() and points["bp"] == points["percent"]


def _same_time(figure: Figure, other: Figure) -> bool:
    """`12 months` and `one year`."""
    months, shown = _MONTHS_IN.get(figure.unit), _MONTHS_IN.get(other.unit)
    return bool(months and shown) and figure.value * (months or 0) == other.value * (shown or 0)


def _step(figure: Figure) -> Decimal:
    """The worth of the last place that counts; after "about", trailing zeros do not."""
    whole = figure.value == figure.value.to_integral_value() and figure.factor == 1
    if not (figure.hedged and whole):
        return figure.step
    digits = str(int(figure.value))
    return max(figure.step, Decimal(10) ** (len(digits) - len(digits.rstrip("0"))))
