"""A sentence and its question in: whether it answers at all, and whether it needs the question to mean something."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worker.citations.wording import content_stems

_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)(?:n['’]t)?"
)
# `Is it ...?` may be answered in its own words, and `Gold or Silver?` by one of them.
_YES_OR_NO = re.compile(rf"(?:^|[.!?,]\s)\W*{_AUXILIARY}\s", re.I)
_CHOICE = re.compile(
    r"\b(?:or|between|versus|vs|among|compared?|than|of (?:the|these|those|my|our|its))\b|[/:;]", re.I
)
_BARE_YES = re.compile(r"\W*(?:yes|yeah|yep|correct|right|true|no|nope|false|incorrect|wrong)\W*", re.I)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_VERB = re.compile(rf"\b(?:{_AUXILIARY}|be|been|being)\b", re.I)
# Words that a name may hold in lower case.
_IN_NAMES = re.compile(r"an?|and|at|d[ei]|des|for|from|in|l[ae]|of|on|the|to|und|v[ao]n", re.I)
# With so few words of its own a sentence leans on what was asked; without an auxiliary verb, with one more.
_FEW, _FEW_WITHOUT_VERB = 3, 4
_WANTS_NUMBER = re.compile(
    r"\bhow (?:many|much|old|long|large|big|tall|high|far)\b|"
    r"\b(?:what|which) (?:year|percentage|percent|number|amount)\b",
    re.I,
)
_QUANTITY = re.compile(
    r"\d|\b(?:no|none|nothing|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|"
    r"fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|millions?|billions?|half|quarter|third|all|both|each|"
    r"every|full|entire|whole|several|many|few|unlimited|once|twice|single|double)\b",
    re.I,
)
# What comes first, last or at the top is another thing than its like.
_RANKS = frozenset(
    content_stems(
        "first second third fourth fifth last latest earliest oldest youngest newest largest biggest greatest "
        "smallest highest lowest longest shortest fastest cheapest best worst least"
    )
)


def repeats(stems: Sequence[str], asked: Sequence[str], question: str) -> bool:
    """Whether a sentence says no word that the question did not, where that is no answer."""
    if not stems or not set(stems) <= set(asked):
        return False
    return not (_YES_OR_NO.search(question) or _CHOICE.search(question))


def leans_on_question(words: str, stems: Sequence[str]) -> bool:
    """Whether a sentence says something only as the answer to its question: a few words, a name, a bare figure."""
    count = len(set(stems))
    return count < _FEW or (count < _FEW_WITHOUT_VERB and not _VERB.search(words)) or _is_name(words)


def _is_name(words: str) -> bool:
    """Whether every word of weight begins with a capital."""
    said = [word for word in _WORD.findall(words) if not _IN_NAMES.fullmatch(word)]
    return bool(said) and all(word[0].isupper() for word in said)


def is_bare_yes(words: str) -> bool:
    """Whether a sentence is a yes or a no and nothing else."""
    return bool(_BARE_YES.fullmatch(words))


def lacks_number(words: str, question: str) -> bool:
    """Whether a number was asked for and none is said."""
    return bool(_WANTS_NUMBER.search(question)) and not _QUANTITY.search(words)


def ranks(asked: Sequence[str]) -> frozenset[str]:
    """The stems of a question that single one thing out of its like."""
    return _RANKS & frozenset(asked)
