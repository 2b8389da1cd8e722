"""What a question asks, a sentence and its passage in; what of the question the sentence does not speak of out."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from worker.citations.contrasts import opposed
from worker.citations.wording import content_stems, words

Similarity = Callable[[Sequence[str], Sequence[str]], Sequence[Sequence[float]]]
"""How alike each of n texts is to each of m others, (n, m): 0 as texts on different subjects, 1 the same."""

# From here on a word is said by another one: `founded` .75 for `established`, `provided` .33 (all-MiniLM-L6-v2).
_LIKE = 0.55
# Of so many words one may be missing: long questions have words that no answer needs.
_OF_SO_MANY = 6
# A name is said by itself, or by what begins as it does: `Argentine` for `Argentina`, not `Austria` for `Australia`.
_ROOT, _ENDING = 5, 3
# What a thing costs has many names, which general embedders keep apart.
_COSTS = frozenset(content_stems("cost price premium fee charge penalty payment pay"))
# A capital at the start of a question makes no name, two do.
_NAME = re.compile(r"(?:(?<=[^.!?:\s]\s)|(?<=[^.!?:\s]\s[(\"'“‘]))[A-Z][^\W_]*|\b[A-Z]{2,}[^\W_]*")
_INITIALS = re.compile(r"[A-Z]{3,}")


@dataclass(frozen=True, slots=True)
class Asked:
    """The words of weight of a question."""

    words: tuple[str, ...]
    """In lower case."""
    names: tuple[str, ...]
    """As they are written, with a capital: what is asked about, not what is asked of it."""

    def allows(self, unsaid: Collection[str]) -> bool:
        """Whether a sentence that leaves these words unsaid may still answer."""
        return len(unsaid) <= len((*self.words, *self.names)) // _OF_SO_MANY

    def stems_but(self, unsaid: Collection[str]) -> frozenset[str]:
        """The stems of the words that are said."""
        said = (word for word in (*self.words, *self.names) if word not in unsaid)
        return frozenset(stem for word in said for stem in content_stems(word))

    @classmethod
    def of(cls, question: str, form: Collection[str]) -> Asked:
        """Read a question; stems of `form` say what kind of answer is wanted, not what it is about."""
        names = {} if question.isupper() else {name.lower(): name for name in _NAME.findall(question)}
        asked = [word for word in content_words(question) if not set(content_stems(word)) & set(form)]
        plain = tuple(word for word in asked if word not in names)
        return cls(plain, tuple(names[word] for word in asked if word in names))


def content_words(text: str) -> tuple[str, ...]:
    """The words that carry meaning, in lower case, each once."""
    return tuple(dict.fromkeys(word for word in words(text) if content_stems(word)))


def unsaid_words(sentence: str, asked: Asked, similarity: Similarity) -> frozenset[str]:
    """The words of a question that a sentence says neither as they are nor in like ones.

    Every word of the question is aligned with the likest one of the sentence (the greedy recall of BERTScore, Zhang
    et al. 2020, with a threshold in place of the sum: the one word that is missing is mostly the one that counts).
    """
    said = content_words(sentence)
    stems = {stem for word in said for stem in content_stems(word)}
    stems |= _COSTS if stems & _COSTS else set()
    left = [word for word in asked.words if stems.isdisjoint(content_stems(word))]
    rows = similarity(left, said) if left and said else [()] * len(left)
    return frozenset(word for word, row in zip(left, rows, strict=True) if not _has_like(word, said, row))


def unsaid_names(text: str, asked: Asked) -> frozenset[str]:
    """The names of a question that a text has neither in full nor, for `RMDs`, in the initials of its words."""
    said = words(text)
    initials = "".join(word[0] for word in said if content_stems(word))
    return frozenset(
        name for name in asked.names if not (_is_named(name.lower(), said) or _abbreviates(name, initials))
    )


def _has_like(word: str, said: Sequence[str], likeness: Sequence[float]) -> bool:
    pairs = zip(said, likeness, strict=False)
    return any(like >= _LIKE and not opposed(word, other) for other, like in pairs)


def _is_named(name: str, said: Sequence[str]) -> bool:
    root = name[: max(_ROOT, len(name) - _ENDING)]
    return any(word.startswith(root) and len(word) <= len(name) + _ENDING for word in said)


def _abbreviates(name: str, initials: str) -> bool:
    short = _INITIALS.match(name)
    return short is not None and short[0].lower() in initials
