"""How much of an answer is new: what neither the evidence nor the question holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.citations import enforce_citations
from worker.citations.grounding import WEAKLY_GROUNDED, WRONG_FIGURE, ungrounded
from worker.citations.grounds import Grounds
from worker.citations.statements import read_statements
from worker.records import Passage

SHOWN = (
    Passage(name="garden.md", text="Water the tomatoes at dawn. Prune the vines in March. A bag of lime costs $12."),
    Passage(name="pond.md", text="Feed the carp twice a week in summer."),
)
INVENTED = "Orchids need bark and mist. Beetles hollow old oak beams. Saffron dyes linen curtains yellow."


def new(answer: str, question: str = "") -> float:
    grounds = Grounds(SHOWN, question)
    return ungrounded(read_statements(answer, grounds), grounds)


def test_a_copied_answer_has_nothing_new() -> None:
    assert new(SHOWN[0].text) == 0


def test_an_invented_answer_is_new_sentence_by_sentence() -> None:
    assert new(INVENTED) == pytest.approx(3)


def test_what_is_said_again_is_not_new_again() -> None:
    assert new(f"{INVENTED} {INVENTED}") == pytest.approx(new(INVENTED), abs=0.5)


def test_words_of_the_question_are_half_as_new() -> None:
    sentence = "Orchids need bark."
    assert new(sentence, question="Which orchids need bark?") == pytest.approx(new(sentence) / 2)


def test_a_wrong_figure_adds_to_it() -> None:
    assert new("A bag of lime costs $13.") == pytest.approx(WRONG_FIGURE)


@given(st.lists(st.sampled_from([*SHOWN[0].text.split(". "), *INVENTED.split(". ")]), max_size=8))
def test_more_sentences_never_make_an_answer_less_new(sentences: list[str]) -> None:
    shorter, longer = (". ".join(part) + "." for part in (sentences[:-1], sentences))
    assert new(longer) >= new(shorter) - 1e-9


def test_an_answer_with_much_that_is_new_is_flagged() -> None:
    answer = f"Water the tomatoes at dawn. {INVENTED}"
    assert new(answer) > WEAKLY_GROUNDED
    assert "weakly_grounded" in enforce_citations(answer, SHOWN, policy="flag").flags
    assert "weakly_grounded" not in enforce_citations(SHOWN[0].text, SHOWN, policy="flag").flags
