"""Which shown document a string names: folded for spelling, never for meaning, and only where exactly one fits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from worker.citations.escaping import printable_name

EXTENSIONS = (
    "pdf|md|txt|docx?|xlsx?|pptx?|csv|tsv|html?|json|xml|ya?ml|eml|msg|rtf|odt|ods|odp|epub|log|tex|rst|"
    "png|jpe?g|tiff?"
)
# A string with the shape of a file name; the lookbehind and the possessive runs keep the search linear.
FILE_NAME = re.compile(
    rf"(?<![\w./\\%@~+-])(?:[A-Za-z]:\\)?[\w./\\%@~+-](?:[\w./\\%@~+-]|\(\w{{1,20}}\)){{0,255}}?"
    rf"\.(?:{EXTENSIONS})(?:\.\w{{1,8}})*(?![\w/\\@])",
    re.I,
)
URL = re.compile(r"(?:https?|ftp|file)://[^\s<>\"'\])}|]++|\bwww\.[^\s<>\"'\])}|]++", re.I)
_DOMAIN = re.compile(
    r"(?:[a-z0-9-]{1,63}\.){1,5}(?:com|org|net|gov|edu|info|io|example|co|eu|de|uk)(?:\.[a-z]{2,3}){0,4}(?:/\S*)?"
    r"(?=[.]?(?:$|[\s,;?]))",
    re.I,
)
_SPACED_NAME = re.compile(rf"(?:[^\s.:;!?]+[ ]){{1,12}}[^\s:;!?]+\.(?:{EXTENSIONS})", re.I)
_SNAKE = re.compile(r"\w+?_\w+")
NAME_SHAPES = (URL, _SPACED_NAME, FILE_NAME, _SNAKE)
_ABSOLUTE = re.compile(r"(?:[A-Za-z]:)?[\\/]|(?:\.\./)+|\w+://")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+|.[\u0300-\u036f]*", re.S)
_ZERO_WIDTH = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
_SEPARATORS = {ord(mark): " " for mark in "_-\u2010\u2011\u2012\u2013\u00a0"}
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
# Where in a document a name points: pages, sections, fragments. It cannot be checked and is never shown.
LOCATOR = re.compile(
    r"[\s,;:(]*(?:#[\w=.&-]*|§+\s*[\w.]*|(?:pp?|pages?|pgs?|sections?|sec|para(?:graph)?s?|lines?|"
    r"ch(?:apter)?|seiten?|s|página|"
    r"tables?|rows?|items?|sheet|slide|part|clause|art(?:icle)?)\b\.?\s*[\w.]*\d[\w.]*(?:\s*[-–,]\s*\d+)*|"
    r"L\d+(?:-L?\d+)?|:\d+(?:-\d+)?)\)?",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Found:
    """A shown document's name, found in a text."""

    start: int
    end: int
    name: str | None
    """None where the string fits several shown documents."""
    whole: bool
    """The extension is there: the string is a file name wherever it stands."""


def fold(text: str) -> tuple[str, tuple[int, ...]]:
    """The text without case, Unicode form, zero-width marks, separators and percent-encoding, and its origins."""
    if text.isascii() and "%" not in text:
        return text.lower().translate(_SEPARATORS), tuple(range(len(text) + 1))
    folded: list[str] = []
    origins: list[int] = []
    for match in _PERCENT.finditer(text):
        piece = match[0]
        if piece.startswith("%") and len(piece) > 1:
            piece = bytes.fromhex(piece.replace("%", "")).decode(errors="replace")
        piece = unicodedata.normalize("NFC", piece.translate(_ZERO_WIDTH)).casefold().translate(_SEPARATORS)
        folded.append(piece)
        origins += [match.start()] * len(piece)
    return "".join(folded), (*origins, len(text))


def looks_like_a_name(string: str) -> bool:
    """Whether a string has the shape of a file name, a path, an address or an identifier."""
    string = string.strip()
    return bool(
        FILE_NAME.fullmatch(string)
        or URL.match(string)
        or _DOMAIN.match(string)
        or (_ABSOLUTE.match(string) and re.search(r"\w", string))
        or _SNAKE.fullmatch(string)
        or (len(string) < 100 and _SPACED_NAME.fullmatch(string))
    )


class Shown:
    """The names of the documents shown, in order; every question about names is asked here."""

    def __init__(self, names: Sequence[str], texts: Sequence[str] = ()) -> None:
        self.names = tuple(names)
        self._texts = tuple(texts)
        self._levels: tuple[dict[str, set[str]], ...] = ({}, {}, {}, {}, {})
        for name in dict.fromkeys(self.names):
            base = re.split(r"[/\\]", name)[-1]
            forms = (name, printable_name(name), _EXTENSION.sub("", name), base, _EXTENSION.sub("", base))
            for level, form in enumerate(forms):
                self._levels[level].setdefault(fold(form)[0].strip(), set()).add(name)
        keys = sorted({key for level in self._levels for key in level if key}, key=lambda key: (-len(key), key))
        self._pattern = re.compile("|".join(map(re.escape, keys))) if keys else None
        self.longest = max(map(len, self.names), default=0)

    def numbered(self, number: int) -> str | None:
        """The name of the document at a 1-based position, or None."""
        return self.names[number - 1] if 1 <= number <= len(self.names) else None

    def resolve(self, string: str) -> tuple[str | None, str]:
        """The one shown document that a string names, or None and the reason."""
        string = string.removeprefix("./")
        if string in self.names:
            return string, ""
        key = fold(string)[0].strip()
        for level in self._levels:
            fitting = level.get(key, set())
            if len(fitting) == 1:
                return next(iter(fitting)), ""
            if fitting:
                return None, "ambiguous_name"
        return None, "only_inside_text" if looks_like_a_name(string) and self._inside_texts(key) else "not_shown"

    def _inside_texts(self, key: str) -> bool:
        return any(key in fold(text)[0] for text in self._texts)

    def without_names(self, text: str) -> str:
        """The text with spaces where a file name stands: the words of a name are no words of the sentence."""
        parts: list[str] = []
        position = 0
        for found in self.find(text):
            if found.whole or "_" in text[found.start : found.end]:
                parts += (text[position : found.start], " " * (found.end - found.start))
                position = found.end
        return "".join((*parts, text[position:]))

    def holds(self, string: str) -> bool:
        """Whether a string stands in the text of a shown document, as it is."""
        return bool(string) and any(string in text for text in self._texts)

    def is_cut_off(self, string: str) -> bool:
        """Whether a string at the end of an output is the beginning of a shown name."""
        key = fold(string)[0].strip()
        return len(key) > 2 and any(name != key and name.startswith(key) for name in self._levels[0])

    def find(self, text: str) -> Iterator[Found]:
        """Every shown name that stands in a text between boundaries, longest first."""
        if self._pattern is None:
            return
        folded, origins = fold(text)
        position = 0
        while match := self._pattern.search(folded, position):
            start, end = origins[match.start()], origins[match.end()]
            if text[max(0, start - 2) : start] == "./":
                start -= 2
            if _is_boundary(text, start, end):
                name, _ = self.resolve(text[start:end])
                yield Found(start, end, name, _EXTENSION.search(match[0]) is not None)
                position = match.end()
            else:
                position = match.start() + 1


def _is_boundary(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 2]
    glued = _is_word(before) or (before and before in "./\\@%~+-")
    continued = (
        _is_word(after[:1]) or (after and after[0] in "/\\@%~+") or (after[:1] in (".", "-") and _is_word(after[1:]))
    )
    return not glued and not continued


def _is_word(character: str) -> bool:
    # Scripts written without spaces put a name directly beside a word.
    return bool(character) and (character.isalnum() or character == "_") and ord(character) < 0x2E80
