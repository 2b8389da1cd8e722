"""A sentence and its question in: whether it answers at all, and whether it needs the question to mean something."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worker.citations.alignment import Asked
from worker.citations.numerals import read_figures
from worker.citations.sentences import split_sentences
from worker.citations.wording import content_stems

# Only these questions are never answered in their own words; `Is it ...?` is, `Gold or Silver?` by one of them.
_ASKS_FOR_MORE = re.compile(r"\b(?:who|whom|whose|what|when|where|why|how|which)\b", re.I)
_MAY_BE_REPEATED = re.compile(
    r"\b(?:or|and|between|versus|vs|among|both|compared?|than|whether|if|that|"
    r"(?:which|what|who|any|one|some|all|each|most|either|neither|many|much) of (?:the|these|those|my|our|its))\b|"
    r"[,/:;]|\s[-–—]\s",
    re.I,
)
# What `Which city ...?` calls its answer, the evidence need not call it.
_ANSWER_TYPE = re.compile(r"\b(?:which|what) (?:kinds? of |types? of )?[a-z]+", re.I)
_REQUESTS = re.compile(r"\b(?:tell|give|show) (?:me|us)\b(?! (?:whether|if)\b)", re.I)
_CHOOSES = re.compile(r"\bor\b", re.I)
_BARE_YES = re.compile(r"\W*(?:yes|yeah|yep|correct|right|true|no|nope|false|incorrect|wrong)\W*", re.I)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_VERB = re.compile(
    r"\b(?:is|are|was|were|am|be|been|being|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)"
    r"(?:n['’]t)?\b",
    re.I,
)
_LIST = re.compile(r"[,;]|\band\b|\bor\b", re.I)
# Words that a name may hold in lower case.
_IN_NAMES = re.compile(r"an?|and|at|d[ei]|des|for|from|in|l[ae]|of|on|the|to|und|v[ao]n", re.I)
# With so few words of its own a sentence leans on what was asked; without an auxiliary verb, with one more.
_FEW, _FEW_WITHOUT_VERB = 3, 4
_WANTS_NUMBER = re.compile(
    r"\bhow (?:many|old|large|tall|heavy)\b|\b(?:what|which) (?:year|percentage|percent|number)\b", re.I
)
# What answers that without a number.
_QUANTITY = re.compile(
    r"\b(?:no|none|nothing|half|quarter|third|all|both|each|every|full|entire|whole|several|many|few|only|unlimited|"
    r"once|twice|single|double|dozens?|hundreds?|thousands?|millions?|an? (?:year|month|week|day|pair|couple))\b",
    re.I,
)
# Who holds an office is asked of today; the offices that change hands, not what was done once, as founding is.
_WHO_IS = re.compile(r"\b(?:who(?:['’]s| is| are)|name of)\b", re.I)
_OFFICES = frozenset(
    content_stems(
        "president mayor governor minister chancellor king queen chair chairman chairwoman chairperson director head "
        "secretary treasurer manager officer ceo cfo coo trustee executor owner captain coach leader ambassador "
        "senator commissioner auditor agent administrator custodian landlord employer holder"
    )
)
_PAST = re.compile(r"\b(?:was|were|had|[a-z]{2,}ed)\b")
_TO_THIS_DAY = re.compile(
    r"\b(?:is|are|has|have|serves|holds|remains|currently|since|now|appointed|elected|named|designated|became|"
    r"succeeded|joined|signed)\b",
    re.I,
)
# What sets one thing apart from others of its name: `Form 1120`, `Part B`, `tier 3`.
_MARKED = re.compile(
    r"\b(tier|part|form|class|schedule|section|level|group|box|step|phase|stage|zone|series|option|article|chapter|"
    r"grade|band)s?\s+(\d[\w-]*|[A-Za-z](?![\w'’]))",
    re.I,
)
_ORDINALS = frozenset(content_stems("first second third fourth fifth"))
# Words of a question that say what kind of answer is wanted, not what it is about; and `the company`, as its own
# documents say `we`.
_FORM = frozenset(
    content_stems(
        "much many long old often far soon year years date day month time last amount number percent percentage "
        "value money sum total period name kind type term characteristic purpose way thing people couple company "
        "mean meaning happen locate describe explain tell give show list know need get got getting want go goes come "
        "came become became begin take taken make do put keep use think turn receive back offer apply "
        "still already fully high low "
        "large small big good bad best better worst least late latest early earliest cheap cheaper cheapest lower "
        "lowest higher highest larger largest smaller smallest maximum minimum"
    )
)


def repeats(stems: Sequence[str], asked: Sequence[str], question: str) -> bool:
    """Whether a sentence says no word that the question did not, where that is no answer."""
    if not stems or not set(stems) <= set(asked):
        return False
    return bool(_ASKS_FOR_MORE.search(question)) and not _MAY_BE_REPEATED.search(question)


def leans_on_question(words: str, stems: Sequence[str]) -> bool:
    """Whether a sentence says something only as the answer to its question: a few words, a name, a bare figure."""
    count = len(set(stems))
    if count < _FEW or _LIST.search(words):
        return count < _FEW
    return (count < _FEW_WITHOUT_VERB and not _VERB.search(words)) or _is_name(words)


def restates(words: str, stems: Sequence[str], asked: Sequence[str]) -> bool:
    """Whether a sentence repeats words of its question and adds next to nothing: `The limit of the plan is $500.`"""
    said = set(stems)
    return bool(said & set(asked)) and len(said - set(asked)) < _FEW and not _LIST.search(words)


def _is_name(words: str) -> bool:
    """Whether every word of weight begins with a capital."""
    said = [word for word in _WORD.findall(words) if not _IN_NAMES.fullmatch(word)]
    return bool(said) and all(word[0].isupper() for word in said)


def is_bare_yes(words: str) -> bool:
    """Whether a sentence is a yes or a no and nothing else."""
    return bool(_BARE_YES.fullmatch(words))


def lacks_number(words: str, question: str) -> bool:
    """Whether a number was asked for and none is said."""
    return bool(_WANTS_NUMBER.search(question)) and not (read_figures(words) or _QUANTITY.search(words))


def is_of_the_past(sentence: str, question: str) -> bool:
    """Whether it was asked who holds an office, and a sentence tells who did: `was President until 2019`."""
    asked = _WHO_IS.search(question) and _OFFICES & set(content_stems(question)) and not _PAST.search(question)
    return bool(asked and _PAST.search(sentence)) and not _TO_THIS_DAY.search(sentence)


def is_of_another_mark(sentence: str, question: str) -> bool:
    """Whether a sentence names others of what the question asks of, and not that one: `Part A` for `Part B`."""
    asked, said = _marks(question), _marks(sentence)
    return any(said[kind] and not said[kind] & marks for kind, marks in asked.items() if kind in said)


def _marks(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for match in _MARKED.finditer(text):
        found.setdefault(match[1].lower(), set()).add(match[2].lower())
    return found


def ordinals(asked: Sequence[str]) -> frozenset[str]:
    """The stems of a question that single one thing out of a row of its like."""
    return _ORDINALS & frozenset(asked)


def subject(asked: Sequence[str]) -> tuple[str, ...]:
    """The stems of a question but for those that only say what kind of answer is wanted; all, if no other is left."""
    return tuple(stem for stem in asked if stem not in _FORM) or tuple(asked)


def asking(question: str) -> str:
    """The sentences of a question that ask, without what was said before them; all, if none does."""
    return (
        " ".join(each for each in _sentences(question) if each.endswith("?") or _ASKS_FOR_MORE.search(each))
        or question
    )


def asked_of(question: str) -> Asked:
    """What an evidence sentence must speak of to answer a question.

    Nothing for `Is it ...?`, which a sentence about the opposite answers, and where one of several things is chosen.
    """
    open_ones = [each for each in _sentences(question) if _is_open(each) and not _CHOOSES.search(each)]
    return Asked.of(_ANSWER_TYPE.sub("what", " ".join(open_ones)), _FORM)


def _is_open(sentence: str) -> bool:
    return bool(_ASKS_FOR_MORE.search(sentence) or _REQUESTS.search(sentence))


def _sentences(question: str) -> list[str]:
    return [question[start:end] for start, end in split_sentences(question)]
