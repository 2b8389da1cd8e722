"""A checked answer in, what was thrown out of it and what is left to doubt in it out, as a person reads it."""

from __future__ import annotations

from typing import Final

from producer.contract import Answer, Figure

_FIGURES: Final = {
    "number": "no document that was shown holds it",
    "unit": "the documents say it with another unit",
    "sign": "the documents say it with the other sign",
    "date": "the documents say it of another time",
    "scope": "the documents say it of something else",
    "misplaced": "the documents say it of something else",
    "arithmetic": "it is wrongly computed",
    "echo": "only the question holds it",
}
_FLAGS: Final = {
    "all_dropped": "no source: none that the model named carries this",
    "uncited": "no source: the model named none",
    "truncated": "cut off: the model reached its token limit",
    "repetition": "the model repeated itself; the repetition is left out",
    "partial_abstain": "it answers a part of the question only",
    "weakly_grounded": "most of its words are in no document that was shown",
    "negation_conflict": "the documents say no where this says yes, or the other way round",
    "bound_flip": "the documents say `at least` where this says `at most`, or the other way round",
    "modality_shift": "the documents say `may` where this says `must`, or the other way round",
    "exception_dropped": "the documents name an exception that is missing here",
    "term_swapped": "the documents say it of another term",
    "roles_swapped": "the documents say it the other way round",
    "repeats_question": "it only says what was asked",
    "subject_not_in_evidence": "the documents do not speak of all that was asked about",
    "frankenquote": "a quotation is put together from several places",
    "quote_not_verbatim": "a quotation is in no document word for word",
    "other_language": "a sentence is in another language than the documents and was not compared",
    "fallback": "the model's answer was refused; these are the documents' own words",
}
_SUPPORTED_BY: Final = "supported_by:"


def thrown_out(answer: Answer) -> list[str]:
    """Every source and every figure that the check removed, each with the reason."""
    found = [f"{item.string} ({item.explanation or item.reason.replace('_', ' ')})" for item in answer.audit.dropped]
    return found + [_figure(figure) for figure in _unsupported(answer) if answer.policy == "strict"]


def doubts(answer: Answer) -> list[str]:
    """Why there is no answer, or what a reader should know before trusting the one that is there."""
    if answer.abstained:
        return [answer.explanation] if answer.explanation else []
    gone = _flags_of(answer, removed=True) - _flags_of(answer, removed=False)
    known = [_FLAGS[flag] for flag in answer.audit.flags if flag in _FLAGS and flag not in gone]
    return known + _supporters(answer) + [_figure(f) for f in _unsupported(answer) if answer.policy != "strict"]


def _flags_of(answer: Answer, *, removed: bool) -> set[str]:
    return {
        f for sentence in answer.audit.sentences if (sentence.state == "removed") == removed for f in sentence.flags
    }


def _supporters(answer: Answer) -> list[str]:
    flags = answer.audit.flags
    names = [flag.removeprefix(_SUPPORTED_BY) for flag in flags if flag.startswith(_SUPPORTED_BY)]
    return [f"its words and figures are in {', '.join(names)}, which the model did not name"] if names else []


def _unsupported(answer: Answer) -> list[Figure]:
    return [figure for figure in answer.audit.figures if figure.state == "unsupported"]


def _figure(figure: Figure) -> str:
    return f"{figure.string} ({_FIGURES.get(figure.reason, 'the documents do not carry it')})"
