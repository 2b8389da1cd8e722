"""How far the shown passages carry a statement: rare words count most, and no passage is judged alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from worker.citations.sentences import split_sentences
from worker.citations.wording import content_stems
from worker.records import Passage, Span

# A document is kept when it carries at least this share of what the best of all the shown ones carries (measured on
# FinanceBench: 96.8 % of the right pages and 6.8 % of their look-alikes pass).
RELATIVE_FLOOR = 0.7
# Sentences that cover a statement to within this much of the best say it as well as the best does.
_NEAR_WORDS = 4
_EQUAL, _EQUALS = 0.02, 8
_ITEM, _LONGEST_MARK = re.compile(r"(?:^|\n)\s*(?:[-*•–]|\d{1,2}[.)])\s*$"), 12
# A heading has no figure; before a paragraph it has few words: `Age reductions. Benefits drop to 65%.`
_HEADING = re.compile(r"[^\W\d_][^\n|\d.:!?]*\.?")
_HEADING_WORDS, _RUN_IN_WORDS = 8, 3
_PRONOUN = re.compile(r"\W*(?:it|this|that|they|these|those|he|she|such|its|their)\b", re.I)


@dataclass(frozen=True)
class Unit:
    """One sentence or table row of the evidence."""

    passage: int
    start: int
    end: int
    text: str
    context: str
    """What the sentence leans on: the headings, and the sentence before it where it begins with a pronoun."""
    lead: str = ""
    """The sentence before it, or before the list that it is an item of."""
    section: str = ""
    """The last line before it that says what follows is about."""

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The content stems in order."""
        return content_stems(self.text)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The content stems, with those of the context."""
        return frozenset(self.stems) | frozenset(content_stems(self.context))

    @property
    def span(self) -> Span:
        """Where the sentence stands."""
        return Span(self.passage, self.start, self.end)


class Evidence:
    """The passages that one model was shown, cut into sentences and counted once."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = tuple(passages)
        self.units = tuple(unit for index, passage in enumerate(passages) for unit in _units(index, passage))
        self._vocabularies = [
            frozenset(content_stems(passage.text)) | frozenset(content_stems(" ".join(passage.heading)))
            for passage in passages
        ]
        self._names = frozenset(content_stems(" ".join(passage.name for passage in passages).replace("_", " ")))
        self._best: dict[frozenset[str], tuple[tuple[Unit, float], ...]] = {}
        frequency = Counter(word for vocabulary in self._vocabularies for word in vocabulary)
        self._weights = {word: 1 / (1 + math.log(count)) for word, count in frequency.items()}

    def weight(self, word: str) -> float:
        """What a stem says about where a statement comes from: 1 in one passage, less in many.

        Passages without the word do not change it, so an irrelevant document changes no score.
        """
        return self._weights.get(word, 1.0)

    def coverage(self, words: Sequence[str], vocabulary: Set[str]) -> float:
        """The weighted share of the stems that a vocabulary holds, 0..1; 0 for no stems."""
        return self._coverages(words, [vocabulary])[0]

    def passage_coverage(self, words: Sequence[str]) -> list[float]:
        """The coverage of the stems by each passage."""
        return self._coverages(words, self._vocabularies)

    def _coverages(self, words: Sequence[str], vocabularies: Iterable[Set[str]]) -> list[float]:
        weights = {word: self.weight(word) for word in words}
        total = sum(weights.values())
        return [
            sum(weight for word, weight in weights.items() if word in vocabulary) / (total or 1.0)
            for vocabulary in vocabularies
        ]

    def vocabulary_of(self, passage: int) -> frozenset[str]:
        """The content stems of a passage with its headings."""
        return self._vocabularies[passage]

    def unseen(self, words: Iterable[str]) -> set[str]:
        """The stems that neither a passage, nor a heading, nor a document's name holds."""
        return set(words) - self._weights.keys() - self._names

    def new_pairs(self, words: Sequence[str]) -> list[tuple[str, str]]:
        """The neighbouring stems that no passage holds near each other: new combinations of words."""
        return [pair for pair in pairwise(words) if pair not in self._near_pairs]

    @cached_property
    def _near_pairs(self) -> frozenset[tuple[str, str]]:
        pairs: set[tuple[str, str]] = set()
        for passage in self.passages:
            stems = content_stems(passage.text)
            for distance in range(1, _NEAR_WORDS + 1):
                ahead = list(zip(stems, stems[distance:], strict=False))
                pairs.update(ahead)
                pairs.update((second, first) for first, second in ahead)
        return frozenset(pairs)

    def best_units(self, words: Sequence[str]) -> tuple[tuple[Unit, float], ...]:
        """The evidence sentences that hold most of the stems, with their coverage: the best, then its near equals."""
        key = frozenset(words)
        if key not in self._best:
            self._best[key] = self._find_best(words)
        return self._best[key]

    def _find_best(self, words: Sequence[str]) -> tuple[tuple[Unit, float], ...]:
        found = self._covered(words, self._sharing(words))
        scored = sorted(((score, -len(u.text), u.passage, u.start, u) for u, score in found), reverse=True)
        return tuple((unit, score) for score, *_, unit in scored[:_EQUALS] if score >= scored[0][0] - _EQUAL)

    def best_for_both(
        self, words: Sequence[str], others: Sequence[str], like: Callable[[Unit], Set[str]]
    ) -> tuple[tuple[Unit, float], ...]:
        """The evidence sentences that hold most of both sets of stems, with the lesser coverage of the two.

        `like` gives what else of the others a sentence says.
        """
        if not (words and others):
            return self.best_units(words or others)
        units = self._sharing(words)
        vocabularies = [unit.vocabulary for unit in units]
        saying = [unit.vocabulary | like(unit) for unit in units]
        lesser = map(min, self._coverages(words, vocabularies), self._coverages(others, saying))
        return tuple(sorted(zip(units, lesser, strict=True), key=lambda each: -each[1])[:_EQUALS])

    def units_of(self, passages: Sequence[int], words: Sequence[str]) -> list[tuple[Unit, float]]:
        """The sentences of some passages that share a stem, or all where there is no stem, with their coverage."""
        sharing = self._sharing(words) if words else self.units
        return self._covered(words, [unit for unit in sharing if unit.passage in passages])

    def _covered(self, words: Sequence[str], units: Sequence[Unit]) -> list[tuple[Unit, float]]:
        return list(zip(units, self._coverages(words, [unit.vocabulary for unit in units]), strict=True))

    def _sharing(self, words: Sequence[str]) -> list[Unit]:
        indexes = sorted({index for word in set(words) for index in self._postings.get(word, ())})
        return [self.units[index] for index in indexes]

    @cached_property
    def _postings(self) -> dict[str, list[int]]:
        postings: dict[str, list[int]] = {}
        for index, unit in enumerate(self.units):
            for word in unit.vocabulary:
                postings.setdefault(word, []).append(index)
        return postings

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the evidence in lower case."""
        return frozenset(word for passage in self.passages for word in re.findall(r"\w+", passage.text.lower()))


def _units(index: int, passage: Passage) -> list[Unit]:
    units: list[Unit] = []
    heading, section = " ".join((*passage.heading, passage.location)), ""
    for start, end in split_sentences(passage.text):
        text = passage.text[start:end]
        before = units[-1].text if units else ""
        context = f"{heading} {before}" if before and _PRONOUN.match(text) else heading
        is_next_item = units and _is_item(passage.text, start) and _is_item(passage.text, units[-1].start)
        lead = units[-1].lead if is_next_item else before
        units.append(Unit(index, start, end, text, context, lead, section))
        section = text if _heads_a_section(passage.text, start, end) else section
    return units


def _is_item(text: str, start: int) -> bool:
    """Whether a sentence begins behind a bullet or a list number."""
    return bool(_ITEM.search(text, max(0, start - _LONGEST_MARK), start))


def _heads_a_section(text: str, start: int, end: int) -> bool:
    """Whether a sentence opens a list, is a heading on a line of its own, or a few words before a paragraph."""
    if text[end - 1] == ":" or text[end : end + 1] == ":":
        return True
    count = len(text[start:end].split())
    if count > _HEADING_WORDS or not _HEADING.fullmatch(text, start, end):
        return False
    line = text[text.rfind("\n", 0, start) + 1 : (text.find("\n", end) + 1 or len(text) + 1) - 1]
    return count <= _RUN_IN_WORDS or line.strip(" \t#*_") == text[start:end].strip(" \t#*_")
