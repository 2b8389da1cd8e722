"""Words that exclude each other: where evidence and answer differ in one, they speak of different things."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from worker.citations.wording import stem

# Only words that cannot both hold of the same figure or rule in plain financial and insurance language.
_SETS = (
    ("single", "married", "joint", "jointly", "head of household", "separately"),
    ("self-only", "individual", "family"),
    ("surviving", "divorced", "current", "former"),
    ("employer", "employee"),
    ("buyer", "seller"),
    ("lender", "borrower"),
    ("landlord", "tenant"),
    ("grantor", "trustee", "beneficiary"),
    ("collision", "comprehensive", "liability"),
    ("roth", "traditional"),
    ("fixed", "variable", "adjustable"),
    ("short-term", "long-term"),
    ("in-network", "out-of-network"),
    ("gross", "net"),
    ("before-tax", "after-tax"),
    ("pre-tax", "after-tax"),
    ("increase", "decrease"),
    ("increased", "decreased"),
    ("rose", "fell"),
    ("higher", "lower"),
    ("gain", "loss"),
    ("asset", "liability"),
    ("minimum", "maximum"),
    ("lowest", "highest"),
    ("earliest", "latest"),
    ("deposit", "withdrawal"),
    ("taxable", "tax-free", "tax-exempt"),
    ("deductible", "nondeductible", "non-deductible"),
    ("federal", "state", "local"),
    ("domestic", "foreign"),
    ("basic", "diluted"),
    ("current", "noncurrent", "non-current"),
    ("operating", "investing", "financing"),
    ("401(k)", "403(b)", "457(b)", "ira", "hsa", "fsa", "529 plan"),
    ("auto", "homeowner", "renter", "umbrella", "dental", "vision"),
    ("car", "homeowner", "renter", "umbrella", "dental", "vision"),
)
# Words that an embedder finds alike and that mean different things; in one text both may hold.
_OPPOSITES = (
    "buy sell", "bought sold", "purchase sale sold", "buyer seller", "lend borrow", "lender borrower",
    "insurer insured", "import export", "hire fire", "appoint resign",
    "husband wife son daughter mother father brother sister",
    "male female", "man woman", "boy girl", "marry divorce", "marriage divorce", "born die", "accept reject",
    "approve deny", "allow prohibit forbid", "include exclude", "open close", "begin end", "start end", "start stop",
    "win lose", "arrive leave", "add remove", "increase decrease", "rise fall", "grow shrink", "minimum maximum",
    "small large", "small big", "short long", "high low", "highest lowest", "smallest largest", "shortest longest",
    "cheap expensive", "young old", "youngest oldest", "early late", "earliest latest", "best worst", "before after",
    "under over", "north south", "north east", "north west", "south east", "south west", "east west",
    "first second third fourth fifth last", "primary secondary", "daily weekly monthly quarterly annual",
    "daily weekly monthly quarterly yearly", "day week month quarter year", "mile kilometer kilometre",
    "dollar euro pound yen franc", "revenue expense", "revenue income", "revenue profit", "income expense",
    "revenue cost", "cost income", "sales cost", "car motorcycle boat", "adult child", "legal illegal",
    "monday tuesday wednesday thursday friday saturday sunday",
    "january february march april may june july august september october november december",
)  # fmt: skip
_BY_WORD: dict[str, list[frozenset[str]]] = {}
for _set in _SETS:
    for _word in _set:
        _BY_WORD.setdefault(_word, []).append(frozenset(_set))
_NOT = re.compile(r"^(?:un|in|im|il|ir|non|dis|mis)-?")
_SIDE = re.compile(r"(?:or|er|ee|ees|ors|ers)$")
_DOOR = re.compile(r"^(?:in|out)(?=patient|bound|come|going|network|flow)")
_SHORTEST = 3
_GROUPS = (*_SETS, *(line.split() for line in _OPPOSITES))
_FINDER = re.compile(
    r"(?<![\w-])(?:" + "|".join(sorted(map(re.escape, _BY_WORD), key=len, reverse=True)) + r")(?=s?(?![\w-]))"
)
_PLURAL = re.compile(r"(?<=[a-z])ies\b")
_PLAN = re.compile(r"\b(40[13]|457) ?\(?([kb])\b\)?")


def contrast(statement: str, evidence: str) -> tuple[str, str] | None:
    """A word of the statement and the excluding word that stands in its place in the evidence, or None.

    Evidence that holds the statement's own word as well speaks of both, and contradicts nothing.
    """
    said, shown = _words(statement), _words(evidence)
    for word in said:
        if word in shown:
            continue
        for group in _BY_WORD[word]:
            others = [other for other in shown if other in group]
            if others and not group & set(said) & set(shown):
                return word, others[0]
    return None


@lru_cache(maxsize=4096)
def opposed(word: str, other: str) -> bool:
    """Whether two words, whatever their forms, name different things of one kind, `buyer` and `seller`."""
    stems = {stem(word), stem(other)}
    if len(stems) == 1:
        return False
    by_form = _denies(word, other) or _denies(other, word) or _sides(word) & _sides(other) != set()
    return by_form or any(_is_in(word, group) and _is_in(other, group) for group in _GROUPS)


def _is_in(word: str, group: Sequence[str]) -> bool:
    """`employ` is no `employer`, though one stem has both."""
    return any(
        member in (word, word.removesuffix("s")) or (stem(member) == stem(word) and not _SIDE.search(member))
        for member in group
    )


def _denies(word: str, other: str) -> bool:
    """`uninsured` and `insured`; `unit` and `it` are too short to be a pair."""
    bare = _NOT.sub("", word)
    return bare != word and len(bare) > _SHORTEST and stem(bare) == stem(other)


def _sides(word: str) -> set[str]:
    """What two sides of one bargain, or of one door, have in common: `lessor` and `lessee`, `inpatient`."""
    found = {_SIDE.sub("", word)} if _SIDE.search(word) else set()
    return found | ({_DOOR.sub("", word)} if _DOOR.match(word) else set())


@lru_cache(maxsize=4096)
def _words(text: str) -> dict[str, None]:
    """The words of the sets in a text, in the singular, in order."""
    return dict.fromkeys(_FINDER.findall(_PLAN.sub(r"\1(\2)", _PLURAL.sub("y", text.lower()))))
