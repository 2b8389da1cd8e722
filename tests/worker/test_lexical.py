"""Words and names of questions, and the chunks that hold them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.lexical import LexicalIndex, names_in

CHUNKS = [
    "File Form 5329 for the additional tax under section 72(t)(2)(A).",
    "Form 5498 reports contributions; see Form 5329.",
    "The fund VTSAX has no load. T.D. 9324 applies.",
    "Form 8955-SSA is due with the plan's return; the penalty is $23,500.",
    "Nothing is named here.",
]


def places(index: LexicalIndex, question: str) -> list[tuple[int, int]]:
    """What is found, best first: documents' numbers and chunks' ordinals."""
    return [(document, ordinal) for _, document, ordinal in sorted(index.by_names(question), reverse=True)]


@pytest.fixture
def index() -> LexicalIndex:
    index = LexicalIndex()
    for number, text in enumerate(CHUNKS):
        index.put(number, [text])
    return index


def test_names_are_words_with_figures_and_tickers():
    text = "Form 8955-SSA, section 415(c)(1)(A), W-2, VTSAX and $23,500 by age 65 or 401(k)."
    assert list(names_in(text)) == ["8955 ssa", "415 c 1 a", "w 2", "vtsax", "23 500", "401 k"]


def test_a_shouted_question_is_not_all_tickers():
    assert list(names_in("WHAT IS AN IRA")) == []


@pytest.mark.parametrize(
    ("question", "documents"),
    [
        ("What is Form 5498?", [1]),
        ("Is Form 8955-SSA required?", [3]),
        ("Does section 72(t)(2) apply?", [0]),
        ("What about section 72(t)(3)?", []),
        ("What about form 5329", [0, 1]),
        ("Tell me about VTSAX.", [2]),
        ("Where is T.D. 9324 used?", [2]),
        ("Why $23,500?", [3]),
        ("When may I retire?", []),
        ("", []),
    ],
)
def test_chunks_are_found_by_the_very_name(index: LexicalIndex, question: str, documents: list[int]):
    assert sorted(place[0] for place in places(index, question)) == documents


def test_the_chunk_that_holds_more_of_the_names_comes_first(index: LexicalIndex):
    assert places(index, "Form 5329 and Form 5498")[0] == (1, 0)


def test_a_name_that_many_chunks_share_is_not_used(index: LexicalIndex):
    for number in range(100, 160):
        index.put(number, ["Contribute to the 401(k) plan.", "Form 9999 was withdrawn."][: 2 if number == 100 else 1])
    assert places(index, "What is a 401(k)?") == []
    assert places(index, "Does Form 9999 concern my 401(k)?") == [(100, 1)]


def test_words_are_found_in_any_form_and_rare_ones_count_most(index: LexicalIndex):
    found = sorted(index.by_words("Are contributions taxed additionally?", 5), reverse=True)
    assert {document for _, document, _ in found} == {0, 1}
    assert index.by_words("unheard-of", 5) == []
    assert len(index.by_words("the form", 2)) == 2


def test_only_the_given_documents_are_searched_and_scores_stay_the_same(index: LexicalIndex):
    everywhere = {document: score for score, document, _ in index.by_words("Form 5329", 5)}
    assert set(everywhere) == {0, 1, 3}
    assert [(document, score) for score, document, _ in index.by_words("Form 5329", 5, [1, 2])] == [
        (1, everywhere[1])
    ]
    assert index.by_words("Form 5329", 5, []) == []


def test_words_of_a_query_language_are_only_words(index: LexicalIndex):
    assert index.by_words('NOT form:5329 AND "OR* (', 5) != []


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(100, 120), max_size=4)), max_size=12))
def test_the_index_follows_every_change(changes: list[tuple[int, list[int]]]):
    """A dictionary gets the same changes; an empty list of chunks is a removal, and four chunks share a subject."""
    index, mirror = LexicalIndex(), {}
    for document, numbers in changes:
        index.remove(document)
        index.put(document, [f"Form {number}" for number in numbers])
        mirror[document] = numbers
        for asked in (100, 110):
            expected = {(d, o) for d, held in mirror.items() for o, number in enumerate(held) if number == asked}
            assert set(places(index, f"Form {asked}?")) == (expected if len(expected) <= 3 else set())


def test_any_text_may_be_indexed_and_asked():
    index = LexicalIndex()

    @settings(max_examples=50, deadline=None)
    @given(st.text(max_size=60), st.text(max_size=60))
    def check(text: str, question: str) -> None:
        index.remove(1)
        index.put(1, [text])
        index.by_names(question)
        index.by_words(question, 5)

    check()
