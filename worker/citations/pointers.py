"""The pointers in a bracket or on a sources line: each number and each name that was offered as a source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from worker.citations.naming import FILE_NAME, LOCATOR, Found, Shown, looks_like_a_name

LEAD_IN = (
    r"according[ \t]+to|as[ \t]+per|per|based[ \t]+on|as[ \t]+(?:stated|noted|shown|described|defined|"
    r"explained|mentioned|outlined|listed|given)[ \t]+in|"
    r"(?:stated|found|described|defined|listed|mentioned)[ \t]+in|from|in|via|laut|gemäß|nach|selon|d'après|"
    r"según|de[ \t]+acuerdo[ \t]+con|"
    r"segundo|secondo|volgens"
)
"""The words that lead to the name of a source in a sentence."""
WORDS = (
    r"sources?|src|refs?|references?|citations?|cite|cites|cited|documents?|docs?|files?|passages?|contexts?|"
    r"chunks?|ids?|evidence|"
    r"quellen?|dokument|fuentes?|documento|fontes?|fonti|bron(?:nen)?|来源|文档"
)
_NUMBER = re.compile(
    rf"\^?[ \t]*(?:(?:{WORDS}|[esdn])[ \t_]*[:#.-]?[ \t]*|"
    rf"#)?(\d{{1,12}})(?:[ \t]*[-–—‑~][ \t]*(\d{{1,12}}))?[ \t]*(†.{{0,80}}|\^)?",
    re.I,
)
_NUMBER_GAP = re.compile(r"[ \t]*(?:[,;，；、&+|]|\band\b|\bund\b|\bet\b|\by\b)[ \t]*|[ \t]+(?=[\d#])", re.I)
SEPARATOR = re.compile(
    r"[,;\n|，；、\u0000]|(?<=[\s\])\"'])(?:and|und|et|y|e|en|&|\+)(?=[\s\[(\"'])|[ \t]+[•·]|(?<=\])[ \t]*(?=\[)",
    re.I,
)
# What may stand before a name at the beginning of an item: a bullet, a list number, a quotation mark, "file".
_LEAD = re.compile(
    r"\s*(?:[-*•+–][ \t]+)?(?:\[\^?\w{1,4}\][ \t]*:?[ \t]*|\(?\d{1,3}[.):][ \t]*)?[\[(<]*[\"'“”‘’«»„`*_]*"
    rf"(?:(?:the|in|der|die|das)?[ \t]*(?:{WORDS})[ \t]*(?:\d{{1,3}})?[ \t]*[:#.]?[ \t]+)?[\"'“”‘’«»„`*_]*",
    re.I,
)
_BULLET = re.compile(r"^\s*[-*•+–][ \t]+")
_PLACE_BEHIND = re.compile(rf"(?:{LOCATOR.pattern})$", re.I)
_TRIM = " \t\n\"'“”‘’«»„`*_<>"
_NOTHING = re.compile(
    r"(?:none|null|nil|nothing|no sources?(?: used| cited)?|not applicable|keine|ninguna|aucune|nessuna|-+)?[.:]?",
    re.I,
)
# A range beyond this is no list of documents, and must neither take memory nor become "all".
_ABSURD = 50
_YEAR = 1000
_LONGEST_PIECE = 400


@dataclass(frozen=True, slots=True)
class Pointer:
    """One string that was offered as a source, and the shown document it names."""

    string: str
    """Verbatim: a name, a member of a list of numbers, or a whole marker that means one number."""
    name: str | None
    reason: str = ""
    """Why it names no shown document."""
    offset: int = 0
    """Where the string begins in what was read."""
    plain: bool = False
    """Neither a shown name nor a number nor the shape of a name: a source only where nothing else can stand."""


def read_numbers(content: str, shown: Shown, *, marker: str = "") -> list[Pointer] | None:
    """Positions of documents, like `1`, `1, 3`, `2-4`, `Doc 2, p. 7`; None where the content is something else.

    `marker` is the whole bracket, which is what a single number is reported as.
    """
    read: list[tuple[re.Match[str], bool]] = []
    position = 0
    content = content.rstrip(" \t,;.")
    while match := _NUMBER.match(content, position):
        position = match.end()
        if locator := LOCATOR.match(content, position):
            position = locator.end()
        read.append((match, False))
        if position == len(content):
            return _numbers(read, shown, marker)
        gap = _NUMBER_GAP.match(content, position)
        if gap is None:
            return None
        position = gap.end()
    return None


def _numbers(read: list[tuple[re.Match[str], bool]], shown: Shown, marker: str) -> list[Pointer] | None:
    count = len(shown.names)
    single = len(read) == 1
    pointers: list[Pointer] = []
    for match, _ in read:
        first, last = int(match[1]), int(match[2] or match[1])
        if first >= _YEAR and first > count:
            return None
        whole = marker or match[0].strip()
        if match[2] and (last < first or last - first > _ABSURD):
            pointers.append(Pointer(whole if single else match[0].strip(), None, "no_such_number", match.start()))
            continue
        for number in range(first, last + 1):
            name = shown.numbered(number)
            string = whole if single and first == last else match[1] if first == last else str(number)
            pointers.append(Pointer(string, name, "" if name else "no_such_number", match.start()))
    return pointers


def read_list(content: str, shown: Shown) -> list[Pointer]:
    """Every item of a list of sources; shown names are found first, because a name may hold a comma or an "and"."""
    pointers: list[Pointer] = []
    position = 0
    open_item = False
    for found in (*_leading_names(content, shown), None):
        end = found.start if found else len(content)
        pointers += _read_between(content, position, end, shown, described=open_item, name_follows=found is not None)
        if found:
            reason = "" if found.name else "ambiguous_name"
            pointers.append(Pointer(content[found.start : found.end], found.name, reason, found.start))
            position, open_item = found.end, True
    return pointers


def _leading_names(content: str, shown: Shown) -> Iterator[Found]:
    """The shown names that begin an item; a name inside other words belongs to another, unknown name."""
    previous = 0
    for found in shown.find(content):
        gap = content[previous : found.start]
        last = [match.end() for match in SEPARATOR.finditer(gap)]
        begins = _LEAD.fullmatch(gap, last[-1] if last else 0)
        if begins or (previous and not gap.strip(_TRIM)):
            yield found
            previous = found.end


def _read_between(
    content: str, start: int, end: int, shown: Shown, *, described: bool, name_follows: bool
) -> Iterator[Pointer]:
    """The items between two shown names; the first piece behind a name only describes it."""
    position = start
    pieces = [*SEPARATOR.finditer(content, start, end), None]
    for index, separator in enumerate(pieces):
        stop = separator.start() if separator else end
        piece = content[position:stop]
        describes = described and index == 0
        if separator or not name_follows:
            yield from _read_piece(piece, position, shown, describes=describes)
        position = separator.end() if separator else end


def _read_piece(piece: str, offset: int, shown: Shown, *, describes: bool) -> Iterator[Pointer]:
    bare = _BULLET.sub("", piece).strip(_TRIM).rstrip(".")
    if _NOTHING.fullmatch(bare) or (LOCATOR.fullmatch(bare) and bare[:1] != "#"):
        return
    numbers = None if describes else read_numbers(_inside(bare), shown, marker=bare)
    if numbers is not None:
        yield from (Pointer(n.string, n.name, n.reason, offset + piece.find(bare)) for n in numbers)
        return
    lead = _LEAD.match(bare)
    bare = _unwrapped(bare[lead.end() :].strip(_TRIM).rstrip(".") if lead else bare)
    if not bare or (describes and not looks_like_a_name(bare)):
        return
    string, name, reason = _resolve(bare, shown)
    yield Pointer(
        string, name, reason, offset + piece.find(string), plain=name is None and not looks_like_a_name(string)
    )


def _resolve(item: str, shown: Shown) -> tuple[str, str | None, str]:
    """The document of an item; the page behind a name and words that describe it are no part of the name."""
    name, reason = shown.resolve(item)
    if name is None and len(item) < _LONGEST_PIECE:
        if (
            (locator := _PLACE_BEHIND.search(item))
            and locator.start()
            and (found := shown.resolve(item[: locator.start()])[0])
        ):
            return item[: locator.start()], found, ""
        if (file := FILE_NAME.match(item)) and re.match(r"[\s(:]", item[file.end() :]):
            return file[0], None, shown.resolve(file[0])[1]
    return item, name, reason


def _inside(string: str) -> str:
    return string[1:-1] if string[:1] + string[-1:] in ("[]", "()", "【】", "［］") else string


def _unwrapped(string: str) -> str:
    for opening, closing in ("()", "[]"):
        if string[:1] == opening and string[-1:] == closing and string.count(opening) == 1:
            string = string[1:-1]
        if string.endswith(closing) and string.count(opening) < string.count(closing):
            string = string[:-1]
        if string.startswith(opening) and string.count(opening) > string.count(closing):
            string = string[1:]
    return string.strip(_TRIM)
