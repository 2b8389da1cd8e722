"""Compares a sentence with the evidence that it follows: negation, bounds, must and may, exceptions, roles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from worker.citations.contrasts import contrast
from worker.citations.numerals import read_figures
from worker.citations.refusals import is_refusal
from worker.citations.support import Unit
from worker.citations.wording import content_stems, words

# Below this share of shared words the two sentences say too little of the same for a difference to mean anything.
LEAST_COVERAGE = 0.6
# A pair of sentences that agrees in nearly all its words: only there does the order of the words tell who does what.
_SAME_WORDS = 0.99

_NEGATION = re.compile(
    r"\b(?:not|no|never|none|neither|nor|cannot|without|nothing|nobody|nowhere|hardly|un(?:able|likely|"
    r"covered|affected|necessary|limited)|"
    r"in(?:eligible|correct|valid|applicable)|ir(?:relevant|revocable)|exclud(?:e|es|ed|ing)|prohibit(?:s|"
    r"ed)?|forbid(?:s|den)?|"
    r"den(?:y|ies|ied)|lacks?|fail(?:s|ed)? to|refus(?:e|es|ed)|exempt|except)\b|n['’]t\b",
    re.I,
)
_BOUND_NEGATION = re.compile(
    r"\b(?:no|not) (?:more|less|fewer|later|earlier) than\b|\bnot only\b|, (?:and )?not [$€£]?\d|\bwhether or not\b|"
    r"\bnot [$€£]?[\d.,]+%?,? but\b|\bnot exceed(?:ing)?\b|\bif not\b|"
    r"\b(?:at|for|with) no (?:\w+ )?(?:charge|cost|fee|expense)s?\b",
    re.I,
)
_MUST = re.compile(r"\b(?:must|shall|required? to|requires|has to|have to|needs? to|mandatory|obliged)\b", re.I)
_MAY = re.compile(
    r"\b(?:may|can|could|might|optional(?:ly)?|allowed to|permitted to|eligible to|are able to)\b", re.I
)
_EXCEPTION = re.compile(
    r"\b(?:except(?:ion)?s?|unless|other than|excluding|but not|provided that|only if|as long as)\b", re.I
)
_DIRECTION = re.compile(r"\b(?:than|to|from|by|over|before|after|exceeds?|pays?|owes?|owns?|lends?)\b", re.I)


# The answer to a question, or what is conceded, before the fact.
_ASIDE = re.compile(r"^\W*(?:(?:no|yes|not exactly)\b[,.;:–—-]|(?:while|although|though)\b[^,]{4,160},)\s*", re.I)


def find_flips(sentence: str, units: Sequence[tuple[Unit, float]]) -> tuple[str, ...]:
    """What the evidence sentence nearest in wording says otherwise; one that covers too little says nothing."""
    said = _wording(sentence)
    covering = [
        (len(said & _wording(u.text)) / len(said | _wording(u.text)), u) for u, c in units if c >= LEAST_COVERAGE
    ]
    nearest = max((closeness for closeness, _ in covering), default=0.0)
    compared = [_flips(sentence, unit) for closeness, unit in covering if closeness == nearest]
    return tuple(flag for flag in compared[0] if all(flag in other for other in compared)) if compared else ()


def _wording(text: str) -> frozenset[str]:
    return frozenset(words(text)) - {"not", "no", "never"} or frozenset(("",))


def _flips(sentence: str, unit: Unit) -> tuple[str, ...]:
    checks = (
        ("negation_conflict", _negation_differs(sentence, unit.text)),
        ("bound_flip", _bound_differs(sentence, unit.text)),
        ("modality_shift", _modality_differs(sentence, unit.text)),
        ("exception_dropped", bool(_EXCEPTION.search(unit.text)) and not _EXCEPTION.search(sentence)),
        ("term_swapped", contrast(sentence, unit.text) is not None),
        ("roles_swapped", _roles_differ(sentence, unit.text)),
    )
    return tuple(flag for flag, found in checks if found)


def _negation_differs(sentence: str, evidence: str) -> bool:
    """One of the two is negated and the other is not; "not more than" is a bound."""
    evidence = _nearest_clause(sentence, evidence)
    sentence = ";".join(part for part in _ASIDE.sub("", sentence).split(";") if not is_refusal(part))
    return is_negated(sentence) != is_negated(evidence)


def _nearest_clause(sentence: str, evidence: str) -> str:
    """The part of the evidence, between semicolons and "but", that shares most words with the sentence."""
    wanted = set(content_stems(sentence))
    parts = re.split(r";|,? \b(?:but|although|though|however|while|whereas|and|except|unless)\b", evidence)
    best = max(parts, key=lambda part: len(wanted & set(content_stems(part))))
    return (
        best
        if len(wanted & set(content_stems(best))) >= 0.8 * len(wanted & set(content_stems(evidence)))
        else evidence
    )


@lru_cache(maxsize=4096)
def is_negated(text: str) -> bool:
    """Whether a sentence denies; "not more than" is a bound, and "at no charge" says what it costs."""
    return _negations(text) % 2 == 1


def _negations(text: str) -> int:
    return len(_NEGATION.findall(_BOUND_NEGATION.sub(" ", text)))


def _bound_differs(sentence: str, evidence: str) -> bool:
    """The same value is a cap in one of the two and a floor in the other."""
    said = [figure for figure in read_figures(sentence) if figure.kind == "number" and figure.bound]
    shown: dict[Decimal, set[str]] = {}
    for figure in read_figures(evidence) if said else ():
        if figure.kind == "number":
            shown.setdefault(figure.value, set()).add(figure.bound)
    return any(shown.get(figure.value) == {_OPPOSITE[figure.bound]} for figure in said)


_OPPOSITE = {"upper": "lower", "lower": "upper"}


def _modality_differs(sentence: str, evidence: str) -> bool:
    """A duty in one of the two is a choice in the other."""
    said, shown = (
        (bool(_MUST.search(sentence)), bool(_MAY.search(sentence))),
        (bool(_MUST.search(evidence)), bool(_MAY.search(evidence))),
    )
    return (said, shown) in (((True, False), (False, True)), ((False, True), (True, False)))


def _roles_differ(sentence: str, evidence: str) -> bool:
    """The same words in another order round a word with a direction: `A costs more than B`, `B ... than A`."""
    said, shown = _tokens(sentence), _tokens(evidence)
    if sorted(said) != sorted(shown) or said == shown or not _DIRECTION.search(evidence):
        return False
    return [word for word in said if said.count(word) == 1] != [word for word in shown if shown.count(word) == 1]


def _tokens(text: str) -> Sequence[str]:
    return re.findall(r"\w+", text.lower())
