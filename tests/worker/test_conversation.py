"""A follow-up is searched for in its conversation, and asked of the model with the questions before it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.conversation import in_context, searched
from worker.evidence import clearly_nearer
from worker.records import Chunk, Hit

HISTORY = (("user", "What is the 401(k) limit?"), ("assistant", "It is $23,500."))
FOLLOW_UP = "And if I am over 50?"


def hits(*scores: float) -> list[Hit]:
    return [Hit(f"{score}.md", 0, score, Chunk("text", 0, 4)) for score in scores]


def test_a_question_without_a_conversation_is_searched_for_and_asked_as_it_stands():
    assert searched(FOLLOW_UP, ()) == [FOLLOW_UP]
    assert in_context(FOLLOW_UP, ()) == FOLLOW_UP


def test_a_follow_up_is_searched_for_by_itself_and_with_the_question_before_it():
    assert searched(FOLLOW_UP, HISTORY) == [FOLLOW_UP, "What is the 401(k) limit? And if I am over 50?"]


def test_the_model_is_told_what_the_user_asked_before():
    assert in_context(FOLLOW_UP, HISTORY) == "(asked before: What is the 401(k) limit?) And if I am over 50?"


def test_what_an_assistant_said_is_neither_searched_for_nor_told():
    """Its figures are no evidence; told to the model, they would come back as an answer."""
    assert "$23,500" not in " ".join([*searched(FOLLOW_UP, HISTORY), in_context(FOLLOW_UP, HISTORY)])


def test_a_conversation_takes_over_only_where_it_finds_something_clearly_nearer():
    alone, little_nearer, nearer = hits(0.5, 0.4), hits(0.55), hits(0.7)
    assert clearly_nearer([alone, little_nearer]) == alone
    assert clearly_nearer([alone, nearer]) == nearer
    assert clearly_nearer([alone]) == alone


def test_a_question_that_finds_nothing_by_itself_is_found_in_its_conversation():
    assert clearly_nearer([[], hits(0.4)]) == hits(0.4)
    assert clearly_nearer([hits(0.4), []]) == hits(0.4)
    assert clearly_nearer([[], []]) == []


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=2000)), max_size=30), st.text())
def test_however_long_a_conversation_is_little_of_it_is_told(turns, question):
    assert in_context(question, tuple(turns)).endswith(question)
    assert len(in_context(question, tuple(turns))) <= len(question) + 3 * 500 + 40
    assert len(searched(question, tuple(turns))) <= 2
