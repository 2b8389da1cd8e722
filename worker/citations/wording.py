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


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word's stem after Porter's second English stemmer (snowballstem.org)."""
    return str(_stemmer.stemWord(word))


def words(text: str) -> list[str]:
    """Every word in lower case, numbers left out."""
    return [match[0].lower().replace("’", "'") for match in _WORD.finditer(text)]


def content_stems(text: str) -> list[str]:
    """The stems of the words that carry meaning, in order."""
    return [stem(word.removesuffix("'s")) for word in words(text) if word not in _EMPTY and len(word) > 1]


def is_english(text: str, *, least: float = 0.1) -> bool:
    """Whether a text has English function words; texts of under five words and texts without letters pass."""
    found = words(text)
    if not found:
        return not re.search(r"[^\W\d_]", text)
    return len(found) < 5 or sum(word in FUNCTION_WORDS for word in found) >= least * len(found)
