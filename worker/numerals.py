"""Reads the figures of a text: amounts, percentages, dates, years, ages and form numbers, each as a value with its unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Literal

Kind = Literal["number", "year", "date", "form"]
Bound = Literal["upper", "lower", ""]

_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug", "september sept sep",
         "october oct", "november nov", "december dec"), start=1)
    for name in names.split()
}  # fmt: skip
_SCALES = {
    "hundred": 2, "thousand": 3, "k": 3, "million": 6, "millions": 6, "thousands": 3, "billions": 9, "mn": 6, "mm": 6, "m": 6, "mio": 6, "billion": 9, "bn": 9, "b": 9,
    "trillion": 12, "tn": 12,
}  # fmt: skip
_CURRENCIES = {
    "$": "USD", "us$": "USD", "usd": "USD", "dollar": "USD", "dollars": "USD", "€": "EUR", "eur": "EUR", "euro": "EUR", "euros": "EUR",
    "£": "GBP", "gbp": "GBP", "pound": "GBP", "pounds": "GBP", "¥": "JPY", "jpy": "JPY", "yen": "JPY", "chf": "CHF", "cad": "CAD", "美元": "USD",
    "c$": "CAD", "cents": "cent", "cent": "cent", "¢": "cent",
}  # fmt: skip
_UNITS = {
    "%": "percent", "％": "percent", "percent": "percent", "pct": "percent", "prozent": "percent", "basis point": "bp", "basis points": "bp", "bp": "bp", "bps": "bp",
    "times": "times", "x": "times", "fold": "times",
} | {form: unit for unit in ("year", "month", "week", "day", "hour", "quarter") for form in (unit, unit + "s")} | {"yr": "year", "yrs": "year", "mo": "month", "mos": "month"}  # fmt: skip
_PERIODS = {
    "year": "year", "annum": "year", "yr": "year", "annually": "year", "yearly": "year", "month": "month", "monthly": "month", "mo": "month",
    "week": "week", "weekly": "week", "day": "day", "daily": "day", "quarter": "quarter", "quarterly": "quarter", "hour": "hour", "hourly": "hour",
}  # fmt: skip
_VULGAR = {"½": "0.5", "¼": "0.25", "¾": "0.75", "⅓": "0.3333", "⅔": "0.6667", "⅛": "0.125"}
_SMALL = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
    )
} | {word: 10 * value for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)}  # fmt: skip

_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_SPACE = "[ \u00a0\u202f\u2009]"
_GROUPED = rf"\d{{1,3}}(?:[,’'\u00a0\u202f\u2009]\d{{3}})++(?:\.\d++)?|\d{{1,3}}(?:\.\d{{3}}){{2,}}+(?:,\d++)?|\d{{1,3}}(?: \d{{3}})++(?![\d,])(?:[.,]\d{{1,2}})?"
_NUMBER = rf"(?:{_GROUPED}|\d++(?:[.,]\d++)?|\.\d++)"
_SCALE = r"(?:thousands?|millions?|billions?|trillion|hundred|mio|mn|mm|bn|tn|[kKmMbB])(?![\w])"
_UNIT = (
    r"%|％|per[ ]?cent(?:age points?)?\b|percentage points?\b|pct\b|prozent\b|basis[ -]points?\b|bps?\b|US dollars?\b|dollars?\b|USD\b|EUR\b|euros?\b|€(?!\d)|£(?!\d)|GBP\b|"
    r"pounds?\b|CHF\b|yen\b|cents?\b|¢|美元|times\b|(?:years?|yrs?|months?|mos?|weeks?|days?|hours?|quarters?)\b|fold\b|(?<=\d)x(?!\w)"
)
_PER = r"[ ]?(?:/|per|an?|each|every|pro|por)[ ]?(?P<per>year|annum|yr|month|mo|week|day|quarter|hour)\b|[ ](?P<adverb>annually|yearly|monthly|weekly|daily|quarterly|hourly)\b"
_WORDS = "|".join(sorted(_SMALL, key=len, reverse=True))
_WORD_NUMBER = rf"(?:{_WORDS})(?:[ -](?:{_WORDS}|hundred|thousand|million|billion|and(?=[ ](?:{_WORDS})\b)))*+\b|(?:a[ ])?(?:hundred|thousand|million|billion)(?=[ ])"
_FIGURE = re.compile(
    rf"(?P<iso>\b(?P<iy>\d{{4}})-(?P<im>\d{{2}})-(?P<id>\d{{2}})\b)"
    rf"|(?P<us>\b(?P<um>\d{{1,2}})/(?P<ud>\d{{1,2}})/(?P<uy>\d{{4}}|\d{{2}})\b)"
    rf"|(?P<md>\b(?P<mm>{_MONTH})\.?[ ](?P<mday>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d|,\d)(?:,?[ ](?P<my>(?:19|20)\d{{2}})\b)?)"
    rf"|(?P<dm>\b(?P<dday>\d{{1,2}})(?:st|nd|rd|th)?[ ](?:of[ ])?(?P<dmm>{_MONTH})\b\.?(?:,?[ ](?P<dy>(?:19|20)\d{{2}})\b)?)"
    rf"|(?P<my_>\b(?P<mym>{_MONTH})\.?,?[ ](?P<myy>(?:19|20)\d{{2}})\b)"
    r"|(?P<code>\b(?:\d{1,4}-){2,}\d{2,4}\b|\b\d{1,2}:\d{2}\b)"
    r"|(?P<own>(?<=\()\d{1,2}(?=\)[ ]+[A-Za-z])|\b(?:steps?|phase|level|options?|questions?|notes?|items?|parts?|tier|point|figure|example|page|pages|p\.|no\.|number|bullet)[ ]\d{1,3}(?![\d.,%]))"
    r"|(?P<form>\b(?:forms?|publications?|pub\.?|sections?|sec\.|schedules?|rule|article|chapter|title|irc|line|box|exhibit|appendix)[ ]"
    r"(?-i:[A-Z]{1,2}-?)?\d[\w.-]*(?:\(\w{1,4}\))*|§+[ ]?\d[\w.]*(?:\(\w{1,4}\))*|\b\d{2,4}[A-Z]?(?:\(\w{1,3}\))+"
    r"|(?-i:\b[A-Z]{1,3}-\d{1,4}[A-Z]?\b|\b\d{1,4}-[A-Z]{1,4}\b|\b\d{2,4}[AC-JLN-Z]\b))"
    r"|(?P<fy>\b(?:FY|CY)[ ]?'?(?P<fyy>\d{4}|\d{2})\b)|(?P<quarter>\bQ[1-4]\b)"
    rf"|(?P<number>(?<![\w.])(?P<sign>(?<![\d\w%)])[-−–+])?(?P<currency>US\$|C\$|USD[ ]?|EUR[ ]?|GBP[ ]?|CHF[ ]?|[$€£¥][ ]?)?(?P<inner>[-−])?"
    rf"(?P<digits>{_NUMBER})(?P<fraction>[ ]?[½¼¾⅓⅔⅛]|[ ]\d{{1,2}}/\d{{1,2}}(?![\d/]))?(?P<ordinal>(?:st|nd|rd|th)\b)?(?:{_SPACE}?(?P<scale>{_SCALE}))?"
    rf"(?:{_SPACE}?-?(?P<unit>{_UNIT}))?(?:{_PER})?)"
    r"|(?P<vulgar>[½¼¾⅓⅔⅛])"
    rf"|(?P<words>\b(?:{_WORD_NUMBER})(?:[ -](?P<wunit>{_UNIT}))?)",
    re.I,
)
_UPPER = re.compile(r"(?:\bup to|\bat most|\bno more than|\bnot more than|\bmaximum(?: of| is)?|\bnot exceed(?:ing)?|\bnot to exceed|\bcapped at|\bunder|\bbelow|\bless than|\bfewer than|\bwithin|\bas much as)[ ]*$", re.I)
_LOWER = re.compile(r"(?:\bat least|\bno less than|\bnot less than|\bminimum(?: of| is)?|\bmore than|\bover|\babove|\bexceed(?:s|ing)?|\bstarting at|\bgreater than)[ ]*$", re.I)
_UPPER_AFTER = re.compile(r"[ ](?:or (?:less|fewer|under|younger)|at most|maximum)\b", re.I)
_LOWER_AFTER = re.compile(r"[ ](?:or (?:more|older|over|greater|above)|at least|minimum)\b", re.I)
_HEDGE = re.compile(r"(?:\babout|\baround|\bapproximately|\broughly|\bnearly|\balmost|\bsome|\bcirca|\bca\.|~|≈|\bclose to|\bunder|\bover|\bjust)[ ]*$", re.I)
_LONGEST_DIGITS = 40


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
    groups = match.groupdict()
    if groups["number"]:
        return _number(match)
    if groups["words"]:
        return _spelled(match)
    if groups["vulgar"]:
        return Figure(match.start(), match.end(), "number", Decimal(_VULGAR[match[0]]), step=Decimal("0.01"))
    if groups["form"]:
        return Figure(match.start(), match.end(), "form", key=_form_key(match[0]))
    if groups["quarter"] or groups["code"]:
        return Figure(match.start(), match.end(), "form", key=match[0].lower())
    if groups["fy"]:
        return Figure(match.start(), match.end(), "year", Decimal(_full_year(match["fyy"])))
    return None if groups["own"] else _date(match, groups)


def _date(match: re.Match[str], groups: dict[str, str | None]) -> Figure | None:
    year = groups["iy"] or groups["uy"] or groups["my"] or groups["dy"] or groups["myy"]
    named = groups["mm"] or groups["dmm"] or groups["mym"]
    month = int(groups["im"] or groups["um"] or 0) or _MONTHS[(named or "").lower()]
    day = groups["id"] or groups["ud"] or groups["mday"] or groups["dday"]
    key = f"{_full_year(year) if year else '?'}-{month}-{int(day) if day else '?'}"
    return Figure(match.start(), match.end(), "date", Decimal(_full_year(year) if year else 0), key)


def _full_year(year: str) -> int:
    return int(year) if len(year) == 4 else 2000 + int(year) - (100 if int(year) > 60 else 0)


def _form_key(string: str) -> str:
    """A form's number without its word: `Form 1040` and `1040` are one."""
    string = re.sub(r"^(?:[a-z]+\.?|§+)[ ]?(?=\S*\d)(?![a-z]-)", "", string.strip(), flags=re.I) if " " in string or "§" in string else string
    return string.strip().rstrip(".").lower()


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
    scale = (match["scale"] or "").lower()
    factor = Decimal(10) ** _SCALES[scale] if scale else Decimal(1)
    unit = _unit((match["currency"] or "").strip().lower(), (match["unit"] or "").lower())
    sign = (match["sign"] or match["inner"] or "").strip()
    bracketed = match.string[match.start() - 1 : match.start()] == "(" and match.string[match.end() : match.end() + 1] == ")"
    period = _PERIODS.get((match["per"] or match["adverb"] or "").lower(), "")
    if _is_year(match, digits, unit):
        return Figure(match.start(), match.end(), "year", value)
    negative = (sign and sign != "+") or (bracketed and (unit not in ("percent",) and not match["ordinal"]))
    written: Literal["+", "-", ""] = "-" if negative else "+" if sign == "+" else ""
    return Figure(match.start(), match.end(), "number", value * factor, "", unit, period, written, step * factor, factor)


def _is_year(match: re.Match[str], digits: str, unit: str) -> bool:
    plain = len(digits) == 4 and digits.isdigit() and 1900 <= int(digits) <= 2099
    return plain and not (unit or match["scale"] or match["sign"] or match["fraction"] or match["per"] or match["currency"])


def _value(digits: str) -> tuple[Decimal | None, Decimal]:
    """A written number's value and the worth of one in its last place; a comma before two digits is a decimal comma."""
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
    text = match["words"][: len(match["words"]) - len(match["wunit"] or "")]
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in _SMALL:
            current += _SMALL[word]
        elif word in _SCALES:
            current = max(1, current) * 10 ** _SCALES[word]
            if word != "hundred":
                total, current = total + current, 0
    unit = _unit("", (match["wunit"] or "").lower())
    return Figure(match.start(), match.end(), "number", Decimal(total + current), unit=unit, spelled=True)


def _is_list_number(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 40) : match.start()]
    after = text[match.end() : match.end() + 2]
    at_line_start = not before.rpartition("\n")[2].strip(" \t(#*>-") and ("\n" in before or len(before) < 40)
    return at_line_start and re.match(r"[.)]( |$)", after) is not None


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
    """`3-6 months`, `three to six months`, `5 or 6 percent`: the first of two takes the second's unit, and they bound each other."""
    for index, figure in enumerate(figures):
        following = figures[index + 1] if index + 1 < len(figures) else None
        previous = figures[index - 1] if index else None
        if following and figure.kind == following.kind == "number" and _is_range(text, figure, following):
            unit = figure.unit or following.unit
            factor = following.factor if figure.factor == 1 and figure.value < following.value else Decimal(1)
            scaled = {"value": figure.value * factor, "step": figure.step * factor, "factor": figure.factor * factor}
            figure = replace(figure, unit=unit, bound=figure.bound or "lower", **scaled)
        if previous and figure.kind == previous.kind == "number" and _is_range(text, previous, figure):
            figure = replace(figure, unit=figure.unit or previous.unit, bound=figure.bound or "upper", sign="")
        yield figure


def _is_range(text: str, first: Figure, second: Figure) -> bool:
    return re.fullmatch(r"[ ]?(?:-|–|—|to|bis|through|and)[ ]?", text[first.end : second.start]) is not None and (
        second.value > first.value
    )
