"""Words as the checks compare them: lower case, stemmed, without the words that say nothing."""

from __future__ import annotations

import re
from functools import lru_cache

import snowballstemmer  # type: ignore[import-untyped]  # the library carries no types

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_stemmer = snowballstemmer.stemmer("english")

FUNCTION_WORDS = frozenset(
    (
        "a", "an", "the", "this", "that", "these", "those", "it", "its", "he", "she", "they", "them", "his",
        "her", "their", "theirs", "we", "our", "ours", "us", "you", "your", "yours", "i", "me", "my", "mine",
        "is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "done", "doing", "have",
        "has", "had", "having", "will", "would", "shall", "should", "can", "could", "may", "might", "must",
        "and", "or", "but", "if", "then", "else", "so", "as", "of", "at", "by", "for", "from", "in", "into",
        "on", "onto", "to", "with", "within", "without", "about", "against", "between", "through", "during",
        "before", "after", "above", "below", "up", "down", "out", "off", "over", "under", "again", "further",
        "once", "here", "there", "when", "where", "why", "how", "which", "who", "whom", "what", "whose", "all",
        "any", "both", "each", "few", "more", "most", "other", "some", "such", "no", "nor", "not", "never",
        "only", "own", "same", "than", "too", "very", "just", "also", "there's", "it's", "that's", "don't",
        "doesn't", "didn't", "isn't", "aren't", "wasn't", "weren't", "can't", "cannot", "won't", "n't",
        "because", "while", "until", "although", "though", "per", "via", "etc", "however", "therefore", "thus",
        "according", "based", "on", "upon", "since", "whether", "either", "neither", "yes",
    )
)  # fmt: skip
_EMPTY = FUNCTION_WORDS | frozenset(
    (
        "document", "documents", "source", "sources", "policy", "text", "state", "states", "stated", "say",
        "says", "said", "mention", "note", "please",
    )
)  # fmt: skip

# German, Dutch, Spanish, Portuguese, French, Italian, the Scandinavian languages, Polish, Turkish.
_FOREIGN_WORDS = frozenset(
    (
        "der", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "und", "ist", "sind", "wird",
        "nicht", "mit", "von", "zu", "zum", "zur", "bei", "für", "auf", "aus", "ihr", "ihre", "ihrer", "pro",
        "het", "een", "en", "van", "voor", "uw", "bij", "niet", "zijn", "wordt", "aan", "tot", "deze", "eigen",
        "el", "la", "los", "las", "un", "una", "de", "del", "al", "y", "es", "son", "por", "para", "con", "su",
        "sus", "se", "que", "lo", "o", "os", "da", "dos", "das", "em", "um", "uma", "sua", "seu", "ao", "não",
        "le", "les", "une", "du", "et", "est", "sont", "pour", "par", "avec", "dans", "sur", "votre", "vos",
        "il", "gli", "di", "della", "dello", "del", "dei", "e", "sono", "nel", "alla", "vostra", "suo",
        "och", "att", "som", "av", "är", "det", "er", "og", "på", "din", "til", "med", "ett", "en", "ikke",
        "na", "jest", "nie", "dla", "oraz", "ve", "bir", "ile", "olan",
    )
)  # fmt: skip
_SHARED_WORDS = frozenset(
    ("is", "in", "was", "me", "do", "no", "so", "on", "an", "am", "a", "per", "via", "over", "i")
)
"""English function words that other languages have as well."""
_FIRST_OTHER_SCRIPT = 0x370
"""Greek, and everything behind it; the letters before it are Latin."""
_TEXTS = 4096
"""So many sentences and clauses are kept stemmed: every check of an answer asks for the same ones."""
_STRAY_WORDS = 1
"""A name may bring a foreign word with it."""

WHOLE = 3
"""With fewer content words a sentence says nothing without its question: `It is $500.`"""


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word's stem after Porter's second English stemmer (snowballstem.org)."""
    return str(_stemmer.stemWord(word))


def words(text: str) -> list[str]:
    """Every word in lower case, numbers left out."""
    return [match[0].lower().replace("’", "'") for match in _WORD.finditer(text)]


@lru_cache(maxsize=_TEXTS)
def content_stems(text: str) -> tuple[str, ...]:
    """The stems of the words that carry meaning, in order."""
    bare = (word.removesuffix("'s") for word in words(text) if word not in _EMPTY)
    return tuple(stem(word) for word in bare if word not in _EMPTY and len(word) > 1)


def is_english(text: str) -> bool:
    """Whether nothing speaks for another language: its function words, letters or script, more than for English."""
    found = words(text)
    foreign = sum(not word.isascii() or word in _FOREIGN_WORDS for word in found)
    english = sum(word in FUNCTION_WORDS and word not in _SHARED_WORDS for word in found)
    other_script = sum(ord(letter) >= _FIRST_OTHER_SCRIPT for letter in text)
    return foreign <= max(_STRAY_WORDS, english) and 2 * other_script <= sum(map(str.isalpha, text))
