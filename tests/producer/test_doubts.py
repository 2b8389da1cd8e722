"""What a person is told of a checked answer, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from producer.contract import Answer, Audit, Dropped, Figure, Sentence
from producer.doubts import doubts, thrown_out

FIGURE = Figure(string="$7,500", state="unsupported", reason="scope")


def answer(*flags: str, policy: str = "strict", **audit: object) -> Answer:
    return Answer(question_id="q", text="It is so.", policy=policy, audit=replace(Audit(flags=flags), **audit))


def test_an_answer_that_is_whole_leaves_nothing_to_say():
    assert doubts(answer("rounded:$7")) == thrown_out(answer()) == []


def test_a_source_that_was_not_shown_is_told_with_its_reason():
    dropped = Dropped(string="x.pdf", reason="not_shown", explanation="no shown document has this name")
    assert thrown_out(answer(dropped=(dropped,))) == ["x.pdf (no shown document has this name)"]


def test_a_document_that_the_model_should_have_named_is_told():
    assert doubts(answer("all_dropped", "supported_by:auto.pdf")) == [
        "no source: none that the model named carries this",
        "its words and figures are in auto.pdf, which the model did not name",
    ]


@pytest.mark.parametrize(("policy", "told"), [("strict", thrown_out), ("flag", doubts)])
def test_a_figure_that_is_not_carried_is_thrown_out_or_kept_as_a_doubt_as_the_policy_says(policy, told):
    checked = answer(policy=policy, figures=(FIGURE,))
    assert told(checked) == ["$7,500 (the documents say it of something else)"]
    assert len(thrown_out(checked) + doubts(checked)) == 1


def test_what_is_said_of_a_sentence_that_was_removed_is_no_doubt_of_the_rest():
    kept, removed = (Sentence(start=0, end=9, state="supported"), Sentence(start=-1, end=-1, state="removed"))
    flagged = replace(removed, flags=("negation_conflict",))
    assert doubts(answer("negation_conflict", sentences=(kept, flagged))) == []
    assert len(doubts(answer("negation_conflict", sentences=(replace(kept, flags=flagged.flags), flagged)))) == 1


def test_a_refusal_says_why_and_nothing_else():
    refused = replace(answer("all_dropped"), abstained=True, reason="nothing_supported")
    assert doubts(refused) == [refused.explanation]
