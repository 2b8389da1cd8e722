"""Reads the figures of a text, each as a value with its unit: amounts, percentages, dates, years, form numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal

Kind = Literal["number", "year", "date", "form"]
Bound = Literal["upper", "lower", ""]

_MONTH_NAMES = (
    ("january", "jan"), ("february", "feb"), ("march", "mar"), ("april", "apr"), ("may",), ("june", "jun"),
    ("july", "jul"), ("august", "aug"), ("september", "sept", "sep"), ("october", "oct"), ("november", "nov"),
    ("december", "dec"),
)  # fmt: skip
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names}
_SCALES = {
    "hundred": 2, "thousand": 3, "thousands": 3, "k": 3, "million": 6, "millions": 6, "mn": 6, "mm": 6, "m": 6,
    "mio": 6, "billion": 9, "billions": 9, "bn": 9, "b": 9, "trillion": 12, "tn": 12,
}  # fmt: skip
_CURRENCIES = {
    "$": "USD", "us$": "USD", "usd": "USD", "dollar": "USD", "dollars": "USD", "美元": "USD", "ドル": "USD",
    "달러": "USD", "c$": "CAD",
    "cad": "CAD", "€": "EUR", "eur": "EUR", "euro": "EUR", "euros": "EUR", "£": "GBP", "gbp": "GBP",
    "pound": "GBP", "pounds": "GBP", "¥": "JPY", "jpy": "JPY", "yen": "JPY", "chf": "CHF", "cent": "cent",
    "cents": "cent", "¢": "cent",
}  # fmt: skip
_UNITS = {
    "%": "percent", "％": "percent", "percent": "percent", "pct": "percent", "prozent": "percent",
    "basis point": "bp", "basis points": "bp", "bp": "bp", "bps": "bp", "times": "times", "x": "times",
    "fold": "times", "year": "year", "years": "year", "yr": "year", "yrs": "year", "month": "month",
    "months": "month", "mo": "month", "mos": "month", "week": "week", "weeks": "week", "day": "day",
    "days": "day", "hour": "hour", "hours": "hour", "quarter": "quarter", "quarters": "quarter",
}  # fmt: skip
_PERIODS = {
    "year": "year", "annum": "year", "yr": "year", "annually": "year", "yearly": "year", "month": "month",
    "monthly": "month", "mo": "month", "week": "week", "weekly": "week", "day": "day", "daily": "day",
    "quarter": "quarter", "quarterly": "quarter", "hour": "hour", "hourly": "hour",
}  # fmt: skip
# Only of "twice" is it plain that it counts; a double room does not.
_MULTIPLES = {
    "twice": ("2", "times"), "thrice": ("3", "times"), "double": ("2", ""), "doubles": ("2", ""),
    "doubled": ("2", ""), "triple": ("3", ""), "triples": ("3", ""), "tripled": ("3", ""), "half": ("0.5", ""),
}  # fmt: skip
_VULGAR = {"½": "0.5", "¼": "0.25", "¾": "0.75", "⅓": "0.3333", "⅔": "0.6667", "⅛": "0.125"}
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS = {word: value for value, word in enumerate(_ONES)} | {
    word: 10 * n for n, word in enumerate(_TENS, start=2)
}

_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"(?:19|20)\d{2}"
_THIN = "\u00a0\u202f\u2009"
_DIGITS = (
    rf"(?:\d{{1,3}}(?:[,’'{_THIN}]\d{{3}})++(?:\.\d++)?|\d{{1,3}}(?:\.\d{{3}}){{2,}}+(?:,\d++)?|"
    r"\d{1,3}(?:[ ]\d{3})++(?![\d,])(?:[.,]\d{1,2})?|\d++(?:[.,]\d++)?|\.\d++)"
)
_SCALE = r"(?:thousands?|millions?|billions?|trillion|hundred|mio|mn|mm|bn|tn|[kmb])(?!\w)"
_UNIT = (
    r"%|％|per[ ]?cent(?:age[ ]points?)?\b|percentage[ ]points?\b|pct\b|prozent\b|basis[ -]points?\b|bps?\b|"
    r"(?:US[ ])?dollars?\b|USD\b|EUR\b|euros?\b|€(?!\d)|£(?!\d)|GBP\b|pounds?\b|CHF\b|yen\b|cents?\b|¢|美元|ドル|"
    r"달러|"
    r"(?:years?|yrs?|months?|mos?|weeks?|days?|hours?|quarters?|times|fold)\b|(?<=\d)x(?!\w)"
)
_PER = (
    r"[ ]?(?:/|per|an?|each|every|pro|por)[ ]?(?P<per>year|annum|yr|month|mo|week|day|quarter|hour)\b|"
    r"[ ](?P<adverb>annually|yearly|monthly|weekly|daily|quarterly|hourly)\b"
)
_WORD = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_LARGE = "hundred|thousand|million|billion"
# One alternative a line, the more special first. What a text counts itself (`step 2`) is read and left out.
_FIGURE = re.compile(
    rf"""
    \b(?P<iso_year>\d{{4}})-(?P<iso_month>\d{{2}})-(?P<iso_day>\d{{2}})\b
    |\b(?P<us_month>\d{{1,2}})/(?P<us_day>\d{{1,2}})/(?P<us_year>\d{{4}}|\d{{2}})\b
    |\b(?P<name_a>{_MONTH})\.?[ ](?P<day_a>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d|,\d)(?:,?[ ](?P<year_a>{_YEAR})\b)?
    |\b(?P<day_b>\d{{1,2}})(?:st|nd|rd|th)?[ ](?:of[ ])?(?P<name_b>{_MONTH})\b\.?(?:,?[ ](?P<year_b>{_YEAR})\b)?
    |\b(?P<name_c>{_MONTH})\.?,?[ ](?P<year_c>{_YEAR})\b
    |(?P<code>\b(?:\d{{1,4}}-){{2,}}\d{{2,4}}\b|\b\d{{1,2}}:\d{{2}}\b|\bQ[1-4]\b)
    |(?P<own>(?<=\()\d{{1,2}}(?=\)(?:[ ]+[a-z]|[.!?]))|
        \b(?:steps?|phase|level|options?|questions?|notes?|items?|parts?|tier|
        point|figure|example|pages?|p\.|no\.|number|bullet)[ ]\d{{1,3}}(?![\d.,%]))
    |(?P<form>\b(?:forms?|publications?|pub\.?|sections?|sec\.|schedules?|rule|article|chapter|title|irc|line|box|
        exhibit|appendix)[ ](?-i:[A-Z]{{1,2}}-?)?\d[\w.-]*(?:\(\w{{1,4}}\))*|§+[ ]?\d[\w.]*(?:\(\w{{1,4}}\))*
        |\b\d{{2,4}}[A-Z]?(?:\(\w{{1,3}}\))+
        |(?-i:\b[A-Z]{{1,3}}-\d{{1,4}}[A-Z]?\b|\b\d{{1,4}}-[A-Z]{{1,4}}\b|\b\d{{2,4}}[AC-JLN-Z]\b))
    |\b(?:FY|CY)[ ]?'?(?P<fiscal>\d{{4}}|\d{{2}})\b
    |(?P<number>(?<![^\W\u2e80-\uffef])(?<!\.)(?P<sign>(?<![\d\w%)])[-−–+])?
        (?P<currency>US\$|C\$|USD[ ]?|EUR[ ]?|GBP[ ]?|CHF[ ]?|[$€£¥][ ]?)?(?P<inner>[-−])?
        (?P<digits>{_DIGITS})(?P<fraction>[ ]?[½¼¾⅓⅔⅛]|[ ]\d{{1,2}}/\d{{1,2}}(?![\d/]))?
        (?P<ordinal>(?:st|nd|rd|th)\b)?
        (?:(?P<closed>\))?[ {_THIN}]?(?P<scale>{_SCALE}))?(?:[ {_THIN}]?-?(?P<unit>{_UNIT}))?(?:{_PER})?)
    |(?P<vulgar>[½¼¾⅓⅔⅛])
    |(?P<multiple>\b(?:{"|".join(_MULTIPLES)})\b)
    |(?P<words>\b(?:(?:{_WORD})(?:[ -](?:{_WORD}|{_LARGE}|and(?=[ ](?:{_WORD})\b)))*+\b|(?:a[ ])?(?:{_LARGE})(?=[ ]))
        (?:[ -](?P<word_unit>{_UNIT}))?)
    """,
    re.I | re.X,
)
_UPPER = re.compile(
    r"\b(?:up to|at most|(?:no|not) more than|maximum(?: of| is)?|not(?: to)? exceed(?:ing)?|capped at|under|below|"
    r"(?:less|fewer) than|within|as much as)[ ]*$",
    re.I,
)
_LOWER = re.compile(
    r"\b(?:at least|(?:no|not) less than|minimum(?: of| is)?|(?:more|greater) than|over|above|exceed(?:s|ing)?|"
    r"starting at)[ ]*$",
    re.I,
)
_UPPER_AFTER = re.compile(r"[ ](?:or (?:less|fewer|under|younger)|at most|maximum)\b", re.I)
_LOWER_AFTER = re.compile(r"[ ](?:or (?:more|older|over|greater|above)|at least|minimum)\b", re.I)
_HEDGE = re.compile(
    r"(?:\b(?:about|around|approximately|roughly|nearly|almost|some|circa|ca\.|close to|under|over|just)|~|≈)[ ]*$",
    re.I,
)
_FORM_WORD = re.compile(r"^(?:[a-z]+\.?[ ]|§+[ ]?)(?=\S*\d)", re.I)
_LONGEST_DIGITS = 40
_TEXTS = 1024
"""So many sentences are kept read: every check of an answer asks for the same ones."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a text."""

    start: int
    end: int
    kind: Kind
    value: Decimal = Decimal(0)
    """A number's value, a year; 0 for dates and forms."""
    key: str = ""
    """A date as `yyyy-mm-dd` with `?` for what is not said; a form's number in lower case."""
    unit: str = ""
    """`percent`, `bp`, a currency code, `year`, `month`, ... ; "" where none is written."""
    period: str = ""
    """Per what: `year`, `month`, ..."""
    sign: Literal["+", "-", ""] = ""
    """The sign as written; "" where none is."""
    step: Decimal = Decimal(1)
    """The value of one in the last place written."""
    factor: Decimal = Decimal(1)
    """What the scale word multiplies by."""
    bound: Bound = ""
    hedged: bool = False
    spelled: bool = False
    """Written in words."""


@lru_cache(maxsize=_TEXTS)
def read_figures(text: str, start: int = 0, end: int | None = None) -> tuple[Figure, ...]:
    """Every figure between two positions, in order; list numbers at the beginning of a line are none."""
    found: list[Figure] = []
    end = len(text) if end is None else end
    for match in _FIGURE.finditer(text, start, end):
        figure = _read(match)
        if figure and not _is_list_number(text, match):
            found.append(_with_bounds(text, figure, start, end))
    return tuple(_share_units(text, found))


def _read(match: re.Match[str]) -> Figure | None:
    start, end = match.span()
    if match["number"]:
        return _number(match)
    if match["words"]:
        return _spelled(match)
    if match["vulgar"]:
        return Figure(start, end, "number", Decimal(_VULGAR[match[0]]), step=Decimal("0.01"))
    if match["multiple"]:
        value, unit = _MULTIPLES[_plain(match[0])]
        return Figure(start, end, "number", Decimal(value), unit=unit, spelled=True)
    if match["form"] or match["code"]:
        key = _FORM_WORD.sub("", match[0]).rstrip(".").lower()  # `Form 1040` and `1040` are one
        return Figure(start, end, "form", key=key)
    if match["fiscal"]:
        return Figure(start, end, "year", Decimal(_full_year(match["fiscal"])))
    return None if match["own"] else _date(match)


def _date(match: re.Match[str]) -> Figure:
    year = _first(match, "iso_year", "us_year", "year_a", "year_b", "year_c")
    named = _first(match, "name_a", "name_b", "name_c")
    month = _MONTHS.get(_plain(named), 0) if named else int(_first(match, "iso_month", "us_month"))
    day = _first(match, "iso_day", "us_day", "day_a", "day_b")
    full = _full_year(year) if year else 0
    return Figure(*match.span(), "date", Decimal(full), f"{full or '?'}-{month}-{int(day) if day else '?'}")


def _first(match: re.Match[str], *groups: str) -> str:
    return next((match[group] for group in groups if match[group]), "")


def _plain(word: str | None) -> str:
    """A word as the tables spell it: ignoring case also matches a long s and a dotless i."""
    return (word or "").strip().casefold().replace("ı", "i").replace("i\u0307", "i")


def _full_year(year: str) -> int:
    return int(year) if len(year) == 4 else 2000 + int(year) - (100 if int(year) > 60 else 0)


def _number(match: re.Match[str]) -> Figure | None:
    digits = match["digits"]
    if len(digits) > _LONGEST_DIGITS:
        return None
    value, step = _value(digits)
    if value is None:
        return None
    if fraction := (match["fraction"] or "").strip():
        value += _fraction(fraction)
        step = Decimal("0.01")
    factor = Decimal(10) ** _SCALES.get(_plain(match["scale"]), 0)
    unit = _unit(_plain(match["currency"]), _plain(match["unit"]))
    sign = (match["sign"] or match["inner"] or "").strip()
    opened = match.string[match.start() - 1 : match.start()] == "("
    bracketed = opened and bool(match["closed"] or match.string[match.end() : match.end() + 1] == ")")
    period = _PERIODS.get(_plain(match["per"] or match["adverb"]), "")
    if _is_year(match, digits, unit):
        return Figure(match.start(), match.end(), "year", value)
    negative = (sign and sign != "+") or (bracketed and unit != "percent" and not match["ordinal"])
    written: Literal["+", "-", ""] = "-" if negative else "+" if sign == "+" else ""
    return Figure(
        match.start(), match.end(), "number", value * factor, "", unit, period, written, step * factor, factor
    )


def _is_year(match: re.Match[str], digits: str, unit: str) -> bool:
    plain = len(digits) == 4 and digits.isdigit() and 1900 <= int(digits) <= 2099
    return plain and not (
        unit or match["scale"] or match["sign"] or match["fraction"] or match["per"] or match["currency"]
    )


def _value(digits: str) -> tuple[Decimal | None, Decimal]:
    """A written number's value and the worth of one in its last place; a comma not before three digits is a point."""
    plain = re.sub("[’'\u00a0\u202f\u2009 ]", "", digits)
    if plain.count(".") > 1:
        plain = plain.replace(".", "").replace(",", ".")
    elif "," in plain and "." not in plain and not re.fullmatch(r"\d{1,3}(?:,\d{3})+", plain):
        plain = plain.replace(",", ".")
    plain = plain.replace(",", "")
    try:
        value = Decimal(plain)
    except InvalidOperation:
        return None, Decimal(1)
    places = len(plain.partition(".")[2])
    return value, Decimal(1).scaleb(-places)


def _fraction(written: str) -> Decimal:
    if written in _VULGAR:
        return Decimal(_VULGAR[written])
    top, bottom = map(int, written.split("/"))
    return Decimal(top) / Decimal(bottom) if bottom else Decimal(0)


def _unit(currency: str, unit: str) -> str:
    unit = re.sub(r"^per ?cent.*|^percentage.*", "percent", unit).replace("-", " ").removeprefix("us ")
    return _CURRENCIES.get(currency) or _CURRENCIES.get(unit) or _UNITS.get(unit, "")


def _spelled(match: re.Match[str]) -> Figure | None:
    total = current = 0
    text = match["words"][: len(match["words"]) - len(match["word_unit"] or "")]
    for word in re.findall(r"[a-z]+", _plain(text)):
        if word in NUMBER_WORDS:
            current += NUMBER_WORDS[word]
        elif word in _SCALES:
            current = max(1, current) * 10 ** _SCALES[word]
            if word != "hundred":
                total, current = total + current, 0
    unit = _unit("", (match["word_unit"] or "").lower())
    return Figure(match.start(), match.end(), "number", Decimal(total + current), unit=unit, spelled=True)


def _is_list_number(text: str, match: re.Match[str]) -> bool:
    """Whether it only counts the items of a list: `2. Sell`; `$500.` and `12 months.` are whole answers."""
    if not re.fullmatch(r"\d{1,3}", match[0]):
        return False
    before = text[max(0, match.start() - 40) : match.start()]
    after = text[match.end() : match.end() + 2]
    at_line_start = not before.rpartition("\n")[2].strip(" \t([#*>-") and ("\n" in before or len(before) < 40)
    return at_line_start and re.match(r"[.)\]] |[)\]]$", after) is not None


def _with_bounds(text: str, figure: Figure, start: int, end: int) -> Figure:
    before = text[max(start, figure.start - 24) : figure.start]
    after = text[figure.end : min(end, figure.end + 16)]
    bound: Bound = ""
    if _UPPER.search(before) or _UPPER_AFTER.match(after):
        bound = "upper"
    elif _LOWER.search(before) or _LOWER_AFTER.match(after):
        bound = "lower"
    if figure.unit in ("year", "month", "day", "week") and re.search(r"over[ ]*$", before, re.I):
        bound = ""  # "over 30 years" says during
    return replace(figure, bound=bound, hedged=_HEDGE.search(before) is not None)


def _share_units(text: str, figures: list[Figure]) -> Iterator[Figure]:
    """Of `3-6 months` and `three to six months` the first takes the second's unit, and they bound each other."""
    for index, figure in enumerate(figures):
        following = figures[index + 1] if index + 1 < len(figures) else None
        previous = figures[index - 1] if index else None
        if following and figure.kind == following.kind == "number" and _is_range(text, figure, following):
            unit = figure.unit or following.unit
            factor = following.factor if figure.factor == 1 and figure.value < following.value else Decimal(1)
            figure = replace(
                figure, value=figure.value * factor, step=figure.step * factor, factor=figure.factor * factor
            )
            figure = replace(figure, unit=unit, bound=figure.bound or "lower")
        if previous and figure.kind == previous.kind == "number" and _is_range(text, previous, figure):
            figure = replace(figure, unit=figure.unit or previous.unit, bound=figure.bound or "upper", sign="")
        yield figure


def _is_range(text: str, first: Figure, second: Figure) -> bool:
    return re.fullmatch(r"[ ]?(?:-|–|—|to|bis|through|and)[ ]?", text[first.end : second.start]) is not None and (
        second.value > first.value
    )
