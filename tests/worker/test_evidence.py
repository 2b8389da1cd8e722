"""Evidence is more than hits: no text twice, within the budget, best first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.evidence import fit, merge_same_texts
from worker.records import Passage

BOILERPLATE = "This summary is not legal advice. Ask your advisor before you act on anything that is written here."
LIMIT = "The collision deductible is $500 for each accident under the 2024 policy."


def passages(*pairs: tuple[str, str]) -> list[Passage]:
    return [Passage(name=name, text=text) for name, text in pairs]


def test_a_text_that_stands_in_two_documents_is_shown_once_and_names_both():
    merged = merge_same_texts(passages(("a.md", BOILERPLATE), ("b.md", LIMIT), ("c.md", BOILERPLATE)))
    assert [(passage.name, passage.also_in) for passage in merged] == [("a.md", ("c.md",)), ("b.md", ())]


def test_white_space_and_case_do_not_make_another_text():
    merged = merge_same_texts(passages(("a.md", BOILERPLATE), ("c.md", BOILERPLATE.upper().replace(" ", "\n"))))
    assert [passage.also_in for passage in merged] == [("c.md",)]


def test_two_years_of_one_short_sentence_are_two_texts():
    """Near-namesakes are exactly what must not be merged: in them the digit is the meaning."""
    older = LIMIT.replace("2024", "2023").replace("$500", "$1,000")
    assert len(merge_same_texts(passages(("2024.pdf", LIMIT), ("2023.pdf", older)))) == 2


def test_a_text_that_stands_twice_in_one_document_names_it_once():
    merged = merge_same_texts(passages(("a.md", BOILERPLATE), ("a.md", BOILERPLATE)))
    assert [(passage.name, passage.also_in) for passage in merged] == [("a.md", ())]


def count_words(text: str) -> int:
    return len(text.split())


def test_the_least_relevant_passages_are_left_out_whole():
    shown = fit(
        passages(("a", "one two three"), ("b", "four five"), ("c", "six")), max_tokens=5, count_tokens=count_words
    )
    assert [passage.name for passage in shown] == ["a", "b"]


def test_the_best_passage_is_shown_even_where_it_is_above_the_budget():
    shown = fit(passages(("a", "one two three")), max_tokens=2, count_tokens=count_words)
    assert [passage.name for passage in shown] == ["a"]


@given(st.lists(st.text(max_size=40), max_size=8), st.integers(1, 30))
def test_what_is_shown_is_a_prefix_and_within_the_budget_but_for_the_first(texts: list[str], budget: int):
    given_passages = passages(*((str(i), text) for i, text in enumerate(texts)))
    shown = fit(given_passages, max_tokens=budget, count_tokens=count_words)
    assert list(shown) == given_passages[: len(shown)]
    assert sum(count_words(passage.text) for passage in shown) <= budget or len(shown) == 1


@given(st.lists(st.sampled_from([BOILERPLATE, LIMIT, "Vesting takes five years."]), max_size=6))
def test_merging_twice_changes_nothing_more(texts: list[str]):
    once = merge_same_texts(passages(*((str(i), text) for i, text in enumerate(texts))))
    assert merge_same_texts(once) == once
