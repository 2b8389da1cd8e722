"""Finds document names and addresses in running text; one that was not shown goes, with the words that lead to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from worker.citations.markers import widen
from worker.citations.mentions import Findings, Mention
from worker.citations.naming import FILE_NAME, URL, Shown, looks_like_a_name
from worker.citations.pointers import LEAD_IN, read_numbers

UNAVAILABLE = "an unavailable document"
"""What stands where a name stood that was never shown."""
_NUMBERED = "the document"
_KIND = r"(?:(?:the|your|our)[ \t]+)?(?:(?:document|file|source|guide|page|pdf)[ \t]+)?[\"'“‘`(\[]{0,2}"
_BEFORE = re.compile(rf"(?:,?[ \t]+|^|(?<=\n))(?P<words>(?:{LEAD_IN})[ \t]+{_KIND})$", re.I)
_DETERMINER = re.compile(
    r"(?:(?:the|your|our|my|this|that|an?)[ \t]+)?(?:(?:document|file)[ \t]+)?[\"'“‘`]{0,2}$", re.I
)
_CLOSING = re.compile(r"[\"'”’`)\]]{0,2}")
_COMMA = re.compile(r",[ \t]+(?=\S)")
_ENDING = re.compile(r"[ \t]*(?:[.!?;\n]|\Z)")
_SAYS = (
    r"(?:says?|states?|shows?|mentions?|explains?|notes?|indicates?|describes?|provides?|specif(?:y|ies)|lists?|gives?|"
    r"confirms?)"
)
# `According to [1], ...`, `[3] says ...`: a number that is part of the sentence.
_BRACKETED = re.compile(
    rf"(?P<lead>\b(?:{LEAD_IN})[ \t]+)?(?P<pointer>\[(?P<numbers>\d{{1,3}})\])(?P<says>(?=[ \t]+{_SAYS}\b))?", re.I
)
# `Document 2 says ...`
_WORDED = re.compile(
    r"\b(?P<pointer>(?:documents?|docs?|sources?|passages?|contexts?|excerpts?)[ \t]+(?:#|no\.?[ \t]*)?\[?"
    r"(?P<numbers>\d{1,3}(?:(?:,|,? and|,? &)[ \t]*\d{1,3}(?![.,]\d|%))*)\]?)(?![\w%]|[.,]\d)",
    re.I,
)
_CAPITALISED = re.compile(r"(?:(?<=[a-z][ \t])(?:[A-Z][\w'&-]*[ \t]+|\d{4}[ \t]+){1,4})$")
_FENCE = re.compile(r"^[ \t]*(```|~~~)(?:.*?(?P<closed>^[ \t]*\1)|.*?(?=\n\nSources: )|.*)", re.S | re.M)
_INLINE_CODE = re.compile(r"```[^`\n]+```|`([^`\n]+)`|\\\[.{0,2000}?\\\]", re.S)
_WINDOW = 120


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Fenced code, inline code and display mathematics: nothing in there cites.

    A fence that was cut off ends at a sources line. What holds a file's name or an address is not code: a fence must
    not carry past the check what running text could not.
    """
    yield from (match.span() for match in _FENCE.finditer(text) if not _points_out(match[0]))
    for match in _INLINE_CODE.finditer(text):
        if not (match[1] and looks_like_a_name(match[1])) and not _points_out(match[0]):
            yield match.span()


def _points_out(code: str) -> bool:
    return bool(FILE_NAME.search(code) or URL.search(code))


def find_names_in_prose(findings: Findings, shown: Shown) -> None:
    """Record the shown names in the free stretches of a text, and take out names and addresses never shown."""
    text = findings.text
    for found in shown.find(text):
        written = text[found.start : found.end]
        if not findings.is_free(found.start, found.end) or not (found.whole or "_" in written):
            continue
        if found.name:
            findings.mentions.append(Mention(written, found.name, position=found.start, stays=True))
            findings.close(found.start, found.end)
        else:
            _take_out(
                findings, found.start, found.end, [Mention(written, None, "ambiguous_name", found.start)], UNAVAILABLE
            )
    for pattern in (URL, FILE_NAME):
        for match in pattern.finditer(text):
            start, end = match.start(), match.end() - len(match[0]) + len(match[0].rstrip(".,;:!?"))
            if findings.is_free(start, end) and not (pattern is URL and shown.holds(text[start:end])):
                start = _with_capitals(text, start) if pattern is FILE_NAME else start
                reason = shown.resolve(text[start:end])[1] or "not_shown"
                _take_out(findings, start, end, [Mention(text[start:end], None, reason, start)], UNAVAILABLE)


def find_bracketed_numbers(findings: Findings, shown: Shown) -> None:
    """Take out the bracketed numbers that a sentence leans on: `According to [1], ...`."""
    for match in _BRACKETED.finditer(findings.text):
        if match["lead"] or match["says"] is not None:
            _take_numbers(findings, match, shown)


def find_worded_numbers(findings: Findings, shown: Shown) -> None:
    """Take out the numbers of documents in running text: `Document 2 says ...`."""
    for match in _WORDED.finditer(findings.text):
        _take_numbers(findings, match, shown)


def _take_numbers(findings: Findings, match: re.Match[str], shown: Shown) -> None:
    start, end = match.span("pointer")
    pointers = read_numbers(match["numbers"], shown, marker=match["pointer"])
    if not pointers or not findings.is_free(start, end):
        return
    mentions = [Mention(p.string, p.name, p.reason, start, match["pointer"]) for p in pointers]
    _take_out(findings, start, end, mentions, _NUMBERED if any(p.name for p in pointers) else UNAVAILABLE)


def _with_capitals(text: str, start: int) -> int:
    """A name may be of several words: `the Jones Plan.pdf`."""
    words = _CAPITALISED.search(text[max(0, start - _WINDOW) : start])
    return start - len(words[0]) if words else start


def _take_out(findings: Findings, start: int, end: int, mentions: Sequence[Mention], stand_in: str) -> None:
    """Remove a pointer with the words that lead to it; where it carries the sentence, something else stands in."""
    text = findings.text
    stop = end + len(_CLOSING.match(text, end)[0])  # type: ignore[index]
    before, after = text[max(0, start - _WINDOW) : start], text[stop : stop + _WINDOW]
    lead = _BEFORE.search(before)
    lead_start = start - len(before) + lead.start("words") if lead else start
    if lead and _opens_sentence(text, lead_start) and (comma := _COMMA.match(after)):
        following = stop + comma.end()
        findings.take(lead_start, following + 1, mentions, text[following].upper())
    elif lead and not _opens_sentence(text, lead_start) and _ENDING.match(after):
        findings.take(*widen(text, start - len(before) + lead.start(), stop), mentions)
    else:
        begin = start - len(_DETERMINER.search(before)[0])  # type: ignore[index]
        findings.take(begin, stop, mentions, stand_in.capitalize() if _opens_sentence(text, begin) else stand_in)


def _opens_sentence(text: str, position: int) -> bool:
    before = text[max(0, position - 6) : position].rstrip(" \t*_#>-")
    return not before or before[-1] in ".!?\n:"
