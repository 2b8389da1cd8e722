"""Finds the quotations of an answer and the one contiguous run of evidence that each must be."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from worker.citations.wording import FUNCTION_WORDS
from worker.records import Passage, QuoteCheck, Span

# Shorter runs between quotation marks are terms and scare quotes, and claim no wording.
_LEAST_CHARACTERS, _LEAST_WORDS = 12, 3
_LONGEST = 4000
_MARKED = re.compile(
    rf"\"([^\"\n]{{1,{_LONGEST}}})\"|“([^“”]{{1,{_LONGEST}}})”|„([^„“”]{{1,{_LONGEST}}})[“”]|"
    rf"«([^«»]{{1,{_LONGEST}}})»|「([^「」]{{1,{_LONGEST}}})」|"
    # Between single marks an apostrophe inside a word is no mark.
    rf"(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w)){{1,{_LONGEST}}}+)'(?!\w)|"
    rf"(?<!\w)‘((?:[^‘’\n]|(?<=\w)’(?=\w)){{1,{_LONGEST}}}+)’(?!\w)"
)
_BLOCK = re.compile(r"^[ \t]*>[ \t]?([^\n]+(?:\n[ \t]*>[ \t]?[^\n]+)*)", re.M)
_ELLIPSIS = re.compile(r"\s*(?:\[?(?:…|\.{3,}|\. \. \.)\]?)\s*")
_EDITORIAL = re.compile(r"\[[^\[\]]{0,60}\]")
_TOKEN = re.compile(r"[^\W_]+(?:[.,:/'][^\W_]+)*|[$€£¥%§+]|(?<![\w)])[-−](?=\d)")
_HYPHENATED = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\s*\n\s*(?=[^\W\d_])")
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—−"), "-") | {
    ord("’"): "'",
    ord("‘"): "'",
    0xAD: "",
    0x200B: "",
    0x200C: "",
    0x200D: "",
    0xFEFF: "",
}


@dataclass(frozen=True)
class QuoteIndex:
    """The evidence's words in order, folded as quotations are compared: letters, digits, signs and nothing else."""

    passages: tuple[Passage, ...]
    runs: tuple[_Run, ...]

    @staticmethod
    def of(passages: Sequence[Passage]) -> QuoteIndex:
        """Read the passages once."""
        return QuoteIndex(tuple(passages), tuple(_Run.of(passage.text) for passage in passages))

    def holders(self, quotation: str) -> frozenset[str]:
        """The names of the documents in which a quotation stands."""
        parts = _parts(quotation)
        return frozenset(
            passage.name for passage, run in zip(self.passages, self.runs, strict=True) if _in_order(parts, run)
        )


@dataclass(frozen=True)
class _Run:
    joined: str
    """Tokens with a space before and after each."""
    starts: tuple[int, ...]
    """Where each token begins in the text."""
    ends: tuple[int, ...]

    @staticmethod
    def of(text: str) -> _Run:
        tokens = list(_tokens(text))
        return _Run(
            " " + " ".join(t for t, _, _ in tokens) + " ",
            tuple(s for _, s, _ in tokens),
            tuple(e for _, _, e in tokens),
        )

    def find(self, words: str, position: int = 0) -> tuple[int, int] | None:
        """Where a run of tokens stands in `joined`, from a position on."""
        found = self.joined.find(f" {words} ", position)
        return None if found < 0 else (found, found + len(words) + 1)

    def offsets(self, found: tuple[int, int]) -> tuple[int, int]:
        """The characters of the text from the first to the last token of a run."""
        first = self.joined.count(" ", 0, found[0])
        last = self.joined.count(" ", 0, found[1]) - 1
        return self.starts[first], self.ends[last]


def check_quotes(text: str, index: QuoteIndex, question: str = "") -> list[QuoteCheck]:
    """What became of every quotation: `verbatim`, `stitched` from several places, or `not_found`.

    Letters and digits must be the same; white space, hyphenation, dashes and the shape of quotation marks may differ.
    """
    asked = _Run.of(question).joined
    checks: list[QuoteCheck] = []
    for start, end, block in quotations(text):
        words = text[start:end]
        if _claims_wording(words, block=block) and " ".join(t for t, _, _ in _tokens(words)) not in asked:
            checks.append(_check(text, start, end, index))
    return checks


def quotations(text: str) -> list[tuple[int, int, bool]]:
    """The quoted runs of a text in order, without their marks, and whether each is a block quotation."""
    blocks = [(match.start(1), match.end(1), True) for match in _BLOCK.finditer(text)]
    marked = [
        (*match.span(match.lastindex or 0), False)
        for match in _MARKED.finditer(text)
        if not any(start <= match.start() < end for start, end, _ in blocks)
    ]
    return sorted(blocks + marked)


def _claims_wording(words: str, *, block: bool) -> bool:
    plain = words.split()
    if len(plain) < _LEAST_WORDS or len(words.strip()) < _LEAST_CHARACTERS:
        return False
    titled = [word for word in plain if word.lower().strip(".,") not in FUNCTION_WORDS]
    is_title = all(word[:1].isupper() or word[:1].isdigit() for word in titled) and not words.rstrip().endswith(
        (".", "!", "?")
    )
    return block or not is_title


def _check(text: str, start: int, end: int, index: QuoteIndex) -> QuoteCheck:
    words = text[start:end]
    parts = _parts(words)
    for number, run in enumerate(index.runs):
        if offsets := _in_order(parts, run):
            return QuoteCheck(words, start, end, "verbatim", Span(number, *offsets))
    return QuoteCheck(words, start, end, "stitched" if _is_stitched(parts, index) else "not_found")


def _parts(quotation: str) -> list[list[str]]:
    return [part for part in map(_pattern, _ELLIPSIS.split(quotation)) if part]


def _pattern(part: str) -> list[str]:
    """The runs of tokens of one part; an editorial bracket stands between two runs."""
    return [run for run in (" ".join(t for t, _, _ in _tokens(piece)) for piece in _EDITORIAL.split(part)) if run]


def _in_order(parts: Sequence[Sequence[str]], run: _Run) -> tuple[int, int] | None:
    """All the parts, one after the other; the runs of one part no further apart than a bracket replaces."""
    position, first, last = 0, None, None
    for part in parts:
        for number, words in enumerate(part):
            found = run.find(words, position)
            if found is None or (number and run.joined.count(" ", position, found[0]) > _LEAST_WORDS):
                return None
            first, last, position = first or found, found, found[1] - 1
    return (run.offsets(first)[0], run.offsets(last)[1]) if first and last else None


def _is_stitched(parts: Sequence[Sequence[str]], index: QuoteIndex) -> bool:
    """Every stretch of three words stands somewhere in the evidence, but they do not stand together."""
    words = [word for part in parts for run in part for word in run.split()]
    position = 0
    while position < len(words):
        length = next(
            (n for n in range(len(words) - position, 2, -1) if _stands(words[position : position + n], index)), 0
        )
        if not length:
            return False
        position += length
    return len(words) >= 2 * _LEAST_WORDS


def _stands(words: Sequence[str], index: QuoteIndex) -> bool:
    joined = " ".join(words)
    return any(run.find(joined) for run in index.runs)


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Folded tokens with their offsets in the text as it is."""
    folded = text.translate({ord("’"): "'", ord("‘"): "'"})
    skip: dict[int, int] = {match.start(): match.end() for match in _HYPHENATED.finditer(folded)}
    pending: tuple[str, int] | None = None
    for match in _TOKEN.finditer(folded):
        token = unicodedata.normalize("NFKC", match[0]).translate(_DASHES).casefold()
        start = match.start()
        if pending:
            token, start, pending = pending[0] + token, pending[1], None
        if match.end() in skip:
            pending = token, start
            continue
        yield token, start, match.end()
