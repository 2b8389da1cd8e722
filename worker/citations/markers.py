"""Finds the markers inside a text: bracketed numbers and names, links, footnotes, superscripts, citation tags."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from worker.citations.mentions import Findings, Mention
from worker.citations.naming import EXTENSIONS, FILE_NAME, URL, Shown, looks_like_a_name
from worker.citations.numerals import NUMBER_WORDS
from worker.citations.pointers import LEAD_IN, WORDS, Pointer, read_list, read_numbers
from worker.citations.wording import FUNCTION_WORDS

_PAIRS = {"[": "]", "(": ")", "{": "}", "「": "」", "【": "】", "［": "］", "〔": "〕"}
_SQUARE = "[【［〔"
_LONGEST = 400
_EXPLICIT = re.compile(rf"[ \t*_]*(?:{WORDS})(?:\(s\))?[ \t]*[:：](?!//)[*_]*[ \t]*", re.I)
_SOFT = re.compile(rf"[ \t]*(?:see(?:[ \t]+also)?|cf\.?|siehe|vgl\.?|{LEAD_IN})[ \t]+(?:the[ \t]+)?", re.I)
_WORDED = re.compile(rf"[ \t]*(?:{WORDS})\b", re.I)
_NOTATION = re.compile(
    r"\b(?:format|form|style|notation|syntax|pattern|tags?|markers?|brackets?|"
    r"(?:lists?|arrays?|vectors?|tuples?|sets?|sequences?|regex|regular expression)"
    r"(?:[ \t](?:like|such as|of))?)[ \t]*[:\"'“`]*[ \t]*$",
    re.I,
)
_COUNTED = re.compile(
    r"\b(?:items?|(?:sub)?sections?|steps?|lines?|rows?|options?|box|parts?|articles?|chapters?|pages?|questions?|"
    r"figures?|tables?|numbers?|no\.|(?:sub)?paragraphs?|(?:sub)?clauses?|notes?|rules?)[ \t]$",
    re.I,
)
# Round and curly brackets cite only at the end of a clause: `It is $40 (1).`, never `(1) it is` or `a loss of (1).`
_BEFORE_LOOSE = re.compile(r"(?:([^\W\d_]+)|[\w%)\"”.!?。])[ \t]?$")
_AFTER_LOOSE = re.compile(r"(?:[ \t]?[({「][\d, ]{1,9}[)}」]){0,9}(?:[.!?。]?[ \t]*(?:\n|\Z)|[,;.!?。]\s)")
_LITERAL = re.compile(r"[\d\s,;.+\-\[\]]*")
_FOREIGN = re.compile(r"\d{1,4}:\d{1,4}†.*", re.S)
_EXTENSION = re.compile(EXTENSIONS, re.I)
_SUPERSCRIPT = re.compile(
    r"(?:(?<=[^\W\d]{3})|(?<=[^\W\d]{3} )|"
    r"(?<=[.,;:!?)%\"”*]))[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}(?:[,⁻ ]{0,2}[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})*|"
    r"<sup>[ \t]*\[?\^?(\d{1,4})\]?[ \t]*</sup>|\^(\d{1,3})\^"
)
_CIRCLED = re.compile(r"(?<=[\w%).!?\"”])[①-⑳❶-❿](?=[\s.,;:!?]|$)|⁽([⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})⁾")
_BETWEEN = re.compile(r"[ ]?[-–—‑][ ]?(?=[\[【［])")
# Markup that a page would load or follow, and pictures by reference.
_ACTIVE = re.compile(
    r"</?(?:a|img|iframe|script|style|object|embed|video|audio|link|form|input|svg)\b[^<>]{0,400}>|"
    r"!\[[^\[\]\n]{0,200}\]\[[^\[\]\n]{0,80}\]",
    re.I,
)
_PLAIN_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_TAG_OPEN = re.compile(
    r"[<(](?:cite|citation|ref)(?:[ \t]+(?:index|id|"
    r"doc)s?[ \t]*=[ \t]*[\"']?(?P<index>[\w,. -]{1,80})[\"']?)?[ \t]*/?>",
    re.I,
)
_TAG_CLOSE = re.compile(r"</(?:cite|citation|ref|source)>|</?(?:sources|citations|references)>", re.I)
_TAGGED = re.compile(
    r"<(?P<tag>sources?|cite|citations?|ref|document|doc)>(?P<content>[^<>]{1,300})</(?P=tag)>", re.I
)
_PRIVATE = re.compile("\ue200[^\ue201\n]{0,200}(?:\ue201|$)|[\ue000-\uf8ff]+")
_CUT_OFF = re.compile(r"[\[(【][^\[\](){}【】\n]{0,200}$")
_JOIN = re.compile(r"[ \t]*[,;]?[ \t]*(?:and|und|et|y|&)?[ \t]*")
_IDENTIFIER = 3
_NEAR = 80
_LIST_LINE = re.compile(r"^\[(\d{1,3})\][ \t]+\S", re.M)


@dataclass(frozen=True, slots=True)
class _Group:
    start: int
    end: int

    def inside(self, text: str) -> str:
        return text[self.start + 1 : self.end - 1]


@dataclass(frozen=True, slots=True)
class _Marker:
    start: int
    end: int
    pointers: Sequence[Pointer]
    replacement: str = ""


def find_markers(
    findings: Findings, shown: Shown, notes: Mapping[str, Sequence[Pointer]], words: frozenset[str]
) -> bool:
    """Take every marker out of the free stretches of a text; whether the text breaks off inside one.

    `notes` are the footnotes by key. `words` is the vocabulary of the evidence: `claim[1]` is a citation
    where "claim" is a word of it, and `weights[1]` is an array index where "weights" is not.
    """
    text = findings.text
    for start, end in _list_numbers(text):
        findings.close(start, end)
    markers = [marker for marker in _tags(text, shown) if findings.is_free(marker.start, marker.end)]
    for marker in markers:
        findings.close(marker.start, marker.end)
    markers += _bracketed(findings, shown, notes, words)
    markers += (marker for marker in _superscripts(text, shown, notes) if findings.is_free(marker.start, marker.end))
    markers += (marker for marker in _circled(text, shown) if findings.is_free(marker.start, marker.end))
    cut_off = _cut_off(findings, shown)
    markers += [cut_off] if cut_off else []
    _take(findings, sorted(markers, key=lambda marker: marker.start))
    return cut_off is not None


def _list_numbers(text: str) -> Iterator[tuple[int, int]]:
    """`[1] ... [2] ...` at the beginnings of lines, counting up, with no other number in brackets: a list."""
    lines = list(_LIST_LINE.finditer(text))
    counted = [int(line[1]) for line in lines] == list(range(1, len(lines) + 1))
    if len(lines) > 1 and counted and len(re.findall(r"\[\d{1,3}\]", text)) == len(lines):
        yield from (line.span(1) for line in lines)


# --- brackets ----------------------------------------------------------------------------------


def _groups(text: str) -> list[_Group]:
    """Every balanced pair of brackets, in order of its beginning; one pass with a stack."""
    open_groups: list[tuple[int, str]] = []
    groups: list[_Group] = []
    for match in re.finditer(r"[\[\](){}「」【】［］〔〕\n]", text):
        character = match[0]
        if character in _PAIRS:
            open_groups.append((match.start(), _PAIRS[character]))
        elif open_groups and character == open_groups[-1][1]:
            groups.append(_Group(open_groups.pop()[0], match.end()))
        elif character == "\n":
            open_groups.clear()
    return sorted(groups, key=lambda group: (group.start, -group.end))


def _bracketed(
    findings: Findings, shown: Shown, notes: Mapping[str, Sequence[Pointer]], words: frozenset[str]
) -> Iterator[_Marker]:
    text, position = findings.text, 0
    groups = _groups(text)
    by_start = {group.start: group for group in groups}
    limit = max(_LONGEST, shown.longest + 100)
    for group in groups:
        if group.start < position or group.end - group.start > limit or not findings.is_free(group.start, group.end):
            continue
        target = (
            by_start.get(group.end) if text[group.start] == "[" and text[group.end : group.end + 1] == "(" else None
        )
        if target:
            marker = _link(text, group, target, shown)
            if marker is None:
                findings.close(group.start, target.end)
        elif _is_text(text, group):
            position = group.end
            continue
        elif last := _range_end(text, group, by_start):
            ends = f"{group.inside(text)}-{last.inside(text)}"
            group = _Group(group.start, last.end)
            marker = _Marker(
                group.start, group.end, read_numbers(ends, shown, marker=text[group.start : group.end]) or ()
            )
        else:
            pointers = _read(text, group, shown, notes, words)
            marker = None if pointers is None else _Marker(group.start, group.end, pointers)
        if marker:
            yield marker
            position = marker.end


def _range_end(text: str, first: _Group, by_start: Mapping[int, _Group]) -> _Group | None:
    """The second bracket of `[1]–[3]`."""
    between = _BETWEEN.match(text, first.end)
    last = by_start.get(between.end()) if between else None
    return last if last and first.inside(text).isdecimal() and last.inside(text).isdecimal() else None


def _is_text(text: str, group: _Group) -> bool:
    """Mathematics, literals and talk about the notation itself."""
    before = text[max(0, group.start - 40) : group.start]
    inside = group.inside(text)
    if (
        before.endswith("\\")
        or before.rstrip().endswith(("=", "==", "∈", "return"))
        or _NOTATION.search(before)
        or _COUNTED.search(before)
        or text[group.end : group.end + 1] in ("+", "{")
    ):
        return True
    return "[" in inside and "," in inside and _LITERAL.fullmatch(inside) is not None


def _read(
    text: str, group: _Group, shown: Shown, notes: Mapping[str, Sequence[Pointer]], words: frozenset[str]
) -> Sequence[Pointer] | None:
    """The pointers of a bracket, or None where it is text."""
    opening, inside, marker = text[group.start], group.inside(text).strip(), text[group.start : group.end]
    if inside[:1] == "[" and inside[-1:] == "]" and inside.count("[") == 1:
        inside = inside[1:-1].strip()
    if inside.removeprefix("^") in notes and (inside[:1] == "^" or inside in notes):
        return notes[inside.removeprefix("^")]
    explicit = _EXPLICIT.match(inside)
    if explicit:
        rest = inside[explicit.end() :]
        return read_numbers(rest, shown, marker=marker) or read_list(rest, shown)
    if opening in _SQUARE or _WORDED.match(inside):
        numbers = read_numbers(inside, shown, marker=marker)
        if numbers is not None:
            return None if _is_index(text, group, words) else numbers
    elif _ends_clause(text, group) and not shown.holds(marker):
        numbers = read_numbers(inside, shown, marker=marker)
        if numbers and all(number.name for number in numbers):
            return numbers
    if opening in _SQUARE and (inside[:1] == "^" or _FOREIGN.fullmatch(inside)):
        return [Pointer(marker, None, "foreign_marker")]
    return _read_names(inside, shown, square=opening in _SQUARE)


def _ends_clause(text: str, group: _Group) -> bool:
    """Whether a bracket stands behind a clause, and not behind a word that it completes: `five (5).`"""
    before = _BEFORE_LOOSE.search(text, max(0, group.start - 40), group.start)
    word = (before[1] or "").lower() if before else ""
    completes = word in FUNCTION_WORDS or word in NUMBER_WORDS
    return before is not None and not completes and _AFTER_LOOSE.match(text, group.end) is not None


def _read_names(inside: str, shown: Shown, *, square: bool) -> Sequence[Pointer] | None:
    soft = _SOFT.match(inside)
    content = inside[soft.end() :] if soft else inside
    if shown.resolve(content)[0] and (looks_like_a_name(content) or not content.isalpha()):
        return [Pointer(content, shown.resolve(content)[0])]
    pointers = read_list(content, shown)
    if pointers and not any(pointer.plain for pointer in pointers):
        named = any(looks_like_a_name(pointer.string) or not pointer.string.isalnum() for pointer in pointers)
        return pointers if named else None
    if (FILE_NAME.match(content) or URL.match(content) or re.match(r"[\w-]+\.\w{2,4}/", content)) and not any(
        p.name for p in pointers
    ):
        return [Pointer(content, None, "not_shown")]
    if square and _EXTENSION.fullmatch(content):
        return [Pointer(content, None, "not_shown")]
    return None


def _is_index(text: str, group: _Group, words: frozenset[str]) -> bool:
    """Whether a bracketed number belongs to the identifier that it touches."""
    glued = re.search(r"([A-Za-z_]\w*)(?:\[\w{0,9}\])*$", text[max(0, group.start - 40) : group.start])
    if glued is None:
        return re.match(r"\s*=[^=]", text[group.end : group.end + 4]) is not None
    ends_sentence = re.match(r"(?:\[\w{0,9}\])*(?:[.!?;:]?\s*$|[.!?]\s)", text[group.end : group.end + 40])
    return glued[1].lower() not in words and not (len(glued[1]) > _IDENTIFIER and ends_sentence)


def _link(text: str, label: _Group, target: _Group, shown: Shown) -> _Marker | None:
    address = target.inside(text).split(" ")[0].strip("<>")
    if text[label.start - 1 : label.start] == "!":
        pointers = [Pointer(address, None, "image")] if FILE_NAME.search(address.split("?")[0]) else []
        return _Marker(label.start - 1, target.end, pointers)
    inside = label.inside(text).strip("[] ")
    numbers = read_numbers(inside, shown, marker=text[label.start : label.end])
    if numbers is not None:
        return _Marker(label.start, target.end, numbers)
    names = _read_names(inside, shown, square=True)
    if names is not None:
        return _Marker(label.start, target.end, names)
    name, reason = shown.resolve(address)
    if name or (looks_like_a_name(address) and not URL.match(address)):
        return _Marker(label.start, target.end, [Pointer(address, name, reason)], inside)
    return None if shown.holds(address) else _Marker(label.start, target.end, (), inside)


# --- other signs -------------------------------------------------------------------------------


def _superscripts(text: str, shown: Shown, notes: Mapping[str, Sequence[Pointer]]) -> Iterator[_Marker]:
    for match in _SUPERSCRIPT.finditer(text):
        digits = (match[1] or match[2] or match[0]).translate(_PLAIN_DIGITS)
        pointers = notes.get(match[0]) or read_numbers(digits, shown, marker=match[0])
        if pointers:
            yield _Marker(match.start(), match.end(), pointers)


def _circled(text: str, shown: Shown) -> Iterator[_Marker]:
    for match in _CIRCLED.finditer(text):
        digits = match[1].translate(_PLAIN_DIGITS) if match[1] else str(int(unicodedata.numeric(match[0])))
        yield _Marker(match.start(), match.end(), read_numbers(digits, shown, marker=match[0]) or ())


def _tags(text: str, shown: Shown) -> Iterator[_Marker]:
    for match in _PRIVATE.finditer(text):
        yield _Marker(match.start(), match.end(), [Pointer(match[0], None, "foreign_marker")])
    tagged: set[int] = set()
    for match in _TAGGED.finditer(text):
        pointers = read_list(match["content"], shown)
        if pointers and not any(pointer.plain for pointer in pointers):
            yield _Marker(match.start(), match.end(), pointers)
            tagged.add(match.end())
    last = max(tagged, default=0)
    for match in _TAG_OPEN.finditer(text):
        documents = re.sub(r"-[\d.:]+", "", match["index"] or "")  # `2-3` is the third sentence of document 2
        if match.start() >= last:
            yield _Marker(match.start(), match.end(), read_numbers(documents, shown, marker=match[0]) or ())
    for match in (*_TAG_CLOSE.finditer(text), *_ACTIVE.finditer(text)):
        if match.end() not in tagged:
            yield _Marker(match.start(), match.end(), ())


def _cut_off(findings: Findings, shown: Shown) -> _Marker | None:
    """The beginning of a marker at the very end: it counts only where it could not have become another."""
    match = _CUT_OFF.search(findings.text, max(0, len(findings.text) - 200))
    if match is None or not findings.is_free(match.start(), match.end()):
        return None
    if findings.text[match.start() - 1 : match.start()] in tuple("[(【"):
        return None
    inside = match[0][1:].strip()
    if number := re.fullmatch(r"\^?(\d{1,3})(?:†.*|[,;\s]*)", inside):
        longer_fits = int(number[1]) * 10 <= len(shown.names) and "†" not in inside
        name = None if longer_fits or match[0][0] == "(" else shown.numbered(int(number[1]))
        return (
            None if match[0][0] == "(" else _Marker(match.start(), match.end(), [Pointer(match[0], name, "cut_off")])
        )
    if not inside or shown.is_cut_off(inside):
        return _Marker(match.start(), match.end(), [Pointer(inside, None, "cut_off")] if inside else ())
    pointers = _read_names(inside, shown, square=match[0][0] != "(")
    return None if pointers is None else _Marker(match.start(), match.end(), pointers)


# --- taking them out ---------------------------------------------------------------------------


def _take(findings: Findings, markers: Sequence[_Marker]) -> None:
    """Replace the markers, with the commas and the "and" between neighbours and the space that they leave."""
    text, index = findings.text, 0
    while index < len(markers):
        first = last = markers[index]
        mentions: list[Mention] = []
        while True:
            mentions += (
                Mention(p.string, p.name, "" if p.name else p.reason, first.start, text[last.start : last.end])
                for p in last.pointers
            )
            index += 1
            following = markers[index] if index < len(markers) else None
            if following is None or last.replacement or following.start < last.end or following.start - last.end > 20:
                break
            if following.replacement or not _JOIN.fullmatch(text, last.end, following.start):
                break
            last = following
        start, end = (first.start, last.end) if last.replacement else widen(text, first.start, last.end)
        findings.take(start, end, mentions, last.replacement)


def widen(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch together with the space, or the whole line, that would be left over when it goes."""
    before, after = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
    lead, trail = before.rpartition("\n")[2], after.partition("\n")[0]
    at_line_start = "\n" in before or start <= _NEAR
    if (
        at_line_start
        and not lead.strip(" \t-*•>")
        and not trail.strip(" \t.,;")
        and ("\n" in after or len(after) < _NEAR)
    ):
        return start - len(lead), min(len(text), end + len(trail) + 1)
    if at_line_start and not lead.strip():
        return start, end + len(trail) - len(trail.lstrip(" \t"))
    if not trail or trail[0] in " \t.,;:!?)|]*_\"'”":
        return start - len(before) + len(before.rstrip(" \t")), end
    return start, end
