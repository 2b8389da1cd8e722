"""A verdict in, what to tell the model before it is asked once more out; and which of two verdicts is the better."""

from __future__ import annotations

from worker.records import Verdict

# What was thrown out for these reasons was no fault of the answer.
_HARMLESS = {"refusal", "empty", "abandoned", "cut_off"}
_WORDS = {
    "not_supported": "it named a document that does not say so",
    "claim_conflict": "it said what the documents deny",
    "figure_unsupported": "it held a number that stands in none of the documents",
    "quote_unsupported": "it held a quotation that stands in none of the documents",
    "repeats_question": "it only said what was asked",
}
_NOT_THERE = ("not_found", "stitched")
_NOT_SHOWN = "it named a source that is none of the documents above"


def problems(verdict: Verdict) -> tuple[str, ...]:
    """Return what the check removed, in words for the model; () where it removed nothing.

    No name, number or quotation is repeated: a small model copies what it reads.
    """
    reasons = [dropped.reason for dropped in verdict.dropped if dropped.reason not in _HARMLESS]
    reasons += ["figure_unsupported" for check in verdict.figures if check.start < 0 and check.state == "unsupported"]
    reasons += ["quote_unsupported" for check in verdict.quotes if check.start < 0 and check.state in _NOT_THERE]
    reasons += ["repeats_question"] if verdict.abstained and "repeats_question" in verdict.flags else []
    return tuple(dict.fromkeys(_WORDS.get(reason, _NOT_SHOWN) for reason in reasons))


def is_better(verdict: Verdict, first: Verdict) -> bool:
    """Whether a verdict is worth more than an earlier one: an answer, then one with sources, then with less removed.

    Where the earlier one answers, it must say the same: small models asked again like to tell something else.
    """
    same = first.abstained or _figures(first) <= _figures(verdict)
    return same and _worth(verdict) > _worth(first)


def _figures(verdict: Verdict) -> set[str]:
    return {check.string for check in verdict.figures if check.start >= 0}


def _worth(verdict: Verdict) -> tuple[bool, bool, int]:
    removed = sum(sentence.state == "removed" for sentence in verdict.sentences)
    return not verdict.abstained, bool(verdict.sources), -removed - len(problems(verdict))
