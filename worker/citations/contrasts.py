"""Words that exclude each other: where evidence and answer differ in one, they speak of different things."""

from __future__ import annotations

import re
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
    "buy sell", "buyer seller", "lend borrow", "import export", "hire fire", "appoint resign", "employer employee",
    "husband wife", "mother father", "son daughter", "brother sister", "male female", "man woman", "boy girl",
    "marry divorce", "marriage divorce", "born die", "accept reject", "approve deny", "allow prohibit forbid",
    "include exclude", "open close", "begin end", "start end", "start stop", "win lose", "arrive leave", "add remove",
    "increase decrease", "rise fall", "grow shrink", "minimum maximum", "small large", "small big", "short long",
    "high low", "highest lowest", "smallest largest", "shortest longest", "cheap expensive", "young old",
    "youngest oldest", "early late", "earliest latest", "lowest highest", "best worst", "before after", "north south",
    "north east", "north west", "south east", "south west", "east west", "first second third fourth fifth last",
    "daily weekly monthly quarterly annual", "daily weekly monthly quarterly yearly", "day week month quarter year",
)  # fmt: skip
_BY_WORD: dict[str, list[frozenset[str]]] = {}
for _set in _SETS:
    for _word in _set:
        _BY_WORD.setdefault(_word, []).append(frozenset(_set))
_STEMMED = tuple(frozenset(map(stem, group)) for group in (*_SETS, *(line.split() for line in _OPPOSITES)))
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
    return len(stems) > 1 and any(stems <= group for group in _STEMMED)


@lru_cache(maxsize=4096)
def _words(text: str) -> dict[str, None]:
    """The words of the sets in a text, in the singular, in order."""
    return dict.fromkeys(_FINDER.findall(_PLAN.sub(r"\1(\2)", _PLURAL.sub("y", text.lower()))))
