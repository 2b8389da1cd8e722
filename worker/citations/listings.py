"""Finds sources lines, headed lists of sources, tables of sources and footnotes, in the languages users meet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from worker.citations.naming import Shown, looks_like_a_name
from worker.citations.pointers import Pointer, read_list

_LABELS = (
    r"(?:source|cited|supporting|reference)[ \t]+(?:documents?|files?|materials?)|sources?(?:[ \t]+(?:used|"
    r"cited|consulted|documents?|files?))?|"
    r"references?|citations?|works[ \t]+cited|bibliography|documents?[ \t]+(?:used|cited|referenced)|footnotes?|"
    r"quellen?(?:angaben?|verzeichnis|nachweise?)?|belege|fuentes?|referencias?|références?|fontes?|"
    r"referências?|fonti?|riferimenti|"
    r"bron(?:nen)?|bronvermelding|källor|källa|kilder?|lähteet|lähde|kaynak(?:lar|ça)?|źród(?:ła|ło)|zdroje?|"
    r"источники?|источник|"
    r"来源|资料来源|參考資料|参考资料|参考文献|信息来源|出典|出処|참고|출처|المصادر|المصدر|מקורות|מקור"
)
_OPENED = r"[ \t>#*_•|-]*+"
_TAG = r"</(?:sources?|cite|citations?|ref|documents?|docs?|answer)>[ \t]*$"
_CONTENT = rf"(?P<content>[^\n<]*+(?:<(?!{_TAG[1:]})[^\n<]*+)*+)(?:{_TAG}|$)"
_CLOSING_TAG = re.compile(_TAG, re.I | re.M)
_LABEL_LINE = re.compile(rf"^{_OPENED}(?:{_LABELS})(?:\(s\))?[*_]*[ \t]*[:：=][*_]*[ \t]*{_CONTENT}", re.I | re.M)
_HEADING = re.compile(
    rf"^[ \t#*_]*+(?:{_LABELS})(?:\(s\))?[*_]*[ \t]*(?P<content>)$(?:\n[=-]{{3,}}[ \t]*$)?", re.I | re.M
)
_INLINE = re.compile(
    rf"(?:(?<=[.!?。)\]*\"”])[ \t]+|"
    rf"<br[ ]?/?>[ \t]*)[*_]*(?:{_LABELS})(?:\(s\))?[*_]*[ \t]*[:：][*_]*[ \t]*{_CONTENT}",
    re.I | re.M,
)
_FOOTNOTE = re.compile(
    r"^[ \t]*(?:\[(?P<hat>\^?)(?P<key>[\w-]{1,30})\]:?|(?P<sup>[¹²³⁴⁵⁶⁷⁸⁹⁰]{1,3}))[ \t]*(?P<content>\S[^\n]*)$", re.M
)
_TABLE = re.compile(
    rf"^\|[ \t]*(?:{_LABELS})[ \t]*(?P<others>(?:\|[^|\n]*)*)\|[ \t]*\n\|[ \t:|-]+\|[ \t]*(?P<rows>(?:\n\|[^\n]*)+)",
    re.I | re.M,
)
_PLACE_HEADER = re.compile(r"[\s|#]*(?:(?:pages?|sections?|link|url|no\.?|p\.)[\s|]*)*", re.I)
_BULLET = re.compile(r"[ \t]*(?:[-*•+–][ \t]+|\(?\d{1,3}[.)][ \t]+|\[\^?\w{1,4}\]:?[ \t]*)")
_STUMP = re.compile(r"\n[ \t]*[*_#]*(?:Sourc?e?|Refere?n?c?e?|Citati?o?n?|Quell?e?)$")
_BOUNDARY = re.compile(r"(?<=[\w\])\"])[.][ \t]+(?=[A-Z][a-z']+[ \t][a-z]+[ \t])")
_GAP = re.compile(r"[.!?][ \t]+|[ \t][–—-][ \t]+")
_LAST_LINE = 400
_COVERED = 0.7
_LONG_ITEM = 8
"""Words: longer than this, items without the shape of a name are prose."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A stretch of text that only lists sources."""

    start: int
    end: int
    pointers: tuple[Pointer, ...]
    """Offsets count from the beginning of the text."""
    key: str = ""
    """A footnote's key, where this is the definition of one."""


def find_listings(text: str, shown: Shown) -> Iterator[Listing]:
    """Every listing of a text, in no order; they may overlap, and then the first that begins wins."""
    yield from _tables(text, shown)
    yield from _footnotes(text, shown)
    for pattern in (_LABEL_LINE, _HEADING, _INLINE):
        end = 0
        for match in pattern.finditer(text):
            if match.start() >= end and (listing := _labelled(text, match, shown)):
                end = listing.end
                yield listing
    if bare := _bare(text, shown):
        yield bare
    if stump := _STUMP.search(text, max(0, len(text) - 20)):
        yield Listing(stump.start(), len(text), ())


def _bare(text: str, shown: Shown) -> Listing | None:
    """Names alone at the end of the answer, without any label: a last line, or what follows the last full stop."""
    end = len(text.rstrip())
    last_line = text.rfind("\n", 0, end) + 1
    for start in (
        last_line,
        max((gap.end() for gap in _GAP.finditer(text, max(last_line, end - _LAST_LINE), end)), default=end),
    ):
        pointers = _pointers(text, start, end, shown) if end - start < _LAST_LINE and text[:start].strip() else ()
        named = bool(pointers) and all(looks_like_a_name(pointer.string) for pointer in pointers)
        if named and sum(len(pointer.string) for pointer in pointers) >= _COVERED * (end - start):
            return Listing(len(text[:start].rstrip(" \t–—-")), end, pointers)
    return None


def _labelled(text: str, match: re.Match[str], shown: Shown) -> Listing | None:
    content = match["content"]
    start = match.start("content") if content else match.end()
    if (boundary := _BOUNDARY.search(content)) and not _reads_as_sources(
        content[boundary.end() :], shown, last=False
    ):
        content = content[: boundary.start() + 1]
    end = start + len(content)
    lines_end = _block_end(text, match.end(), shown) if end == match.end() else end
    closes = not text[lines_end:].strip() or text.startswith("\n\n", lines_end)
    last = closes and bool(text[: match.start()].strip()) and match.re is not _INLINE
    if content.strip() and not _reads_as_sources(content, shown, last=last):
        return None
    if not content.strip() and lines_end == match.end() and text[lines_end:].strip():
        return None
    tag = _CLOSING_TAG.match(text, lines_end)
    return Listing(match.start(), tag.end() if tag else lines_end, _pointers(text, start, lines_end, shown))


def _block_end(text: str, position: int, shown: Shown) -> int:
    """Where the lines under a label stop being items of its list."""
    end = position
    while position < len(text):
        stop = text.find("\n", position + 1)
        stop = len(text) if stop < 0 else stop
        line = text[position:stop].strip()
        if line and not _reads_as_sources(line, shown, last=_BULLET.match(line) is not None):
            break
        position = stop
        end = stop if line else end
    return end


def _reads_as_sources(content: str, shown: Shown, *, last: bool) -> bool:
    """Whether text behind a label names sources; where it closes the answer or a paragraph, any short items do."""
    pointers = read_list(content, shown)
    if any(_names(pointer) for pointer in pointers) or not any(pointer.plain for pointer in pointers):
        return True
    return not pointers or (last and sum(len(pointer.string.split()) for pointer in pointers) <= _LONG_ITEM)


def _names(pointer: Pointer) -> bool:
    """A number between words, as in `$1,240`, is none of a list of sources."""
    return not pointer.plain and not pointer.string.isdecimal()


def _pointers(text: str, start: int, end: int, shown: Shown) -> tuple[Pointer, ...]:
    return tuple(
        Pointer(found.string, found.name, found.reason, start + found.offset, found.plain)
        for found in read_list(text[start:end], shown)
    )


def _footnotes(text: str, shown: Shown) -> Iterator[Listing]:
    for match in _FOOTNOTE.finditer(text):
        pointers = _pointers(text, match.start("content"), match.end("content"), shown)
        if pointers and (match["hat"] or not any(pointer.plain for pointer in pointers)):
            key = (match["key"] or match["sup"]).strip()
            yield Listing(match.start(), match.end(), pointers, key)


def _tables(text: str, shown: Shown) -> Iterator[Listing]:
    for match in _TABLE.finditer(text):
        if _PLACE_HEADER.fullmatch(match["others"]):
            pointers: list[Pointer] = []
            for row in re.finditer(r"\n\|([^|\n]*)", match["rows"]):
                start = match.start("rows") + row.start(1)
                pointers += _pointers(text, start, start + len(row[1]), shown)
            yield Listing(match.start(), match.end(), tuple(pointers))
