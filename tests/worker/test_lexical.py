"""Names in questions and the chunks that hold them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.lexical import NameIndex, names_in

CHUNKS = [
    "File Form 5329 for the additional tax under section 72(t)(2)(A).",
    "Form 5498 reports contributions; see Form 5329.",
    "The fund VTSAX has no load. T.D. 9324 applies.",
    "Form 8955-SSA is due with the plan's return; the penalty is $23,500.",
    "Nothing is named here.",
]


@pytest.fixture
def index() -> NameIndex:
    index = NameIndex()
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
def test_chunks_are_found_by_the_very_name(index: NameIndex, question: str, documents: list[int]):
    assert sorted(document for document, _ in index.search(question)) == documents


def test_the_chunk_that_holds_more_of_the_names_comes_first(index: NameIndex):
    assert index.search("Form 5329 and Form 5498")[0] == (1, 0)


def test_a_name_that_many_chunks_share_is_not_used(index: NameIndex):
    for number in range(100, 160):
        index.put(number, ["Contribute to the 401(k) plan.", "Form 9999 was withdrawn."][: 2 if number == 100 else 1])
    assert index.search("What is a 401(k)?") == []
    assert index.search("Does Form 9999 concern my 401(k)?") == [(100, 1)]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(100, 120), max_size=4)), max_size=12))
def test_the_index_follows_every_change(changes: list[tuple[int, list[int]]]):
    """A dictionary gets the same changes; an empty list of chunks is a removal."""
    index, mirror = NameIndex(), {}
    for document, numbers in changes:
        index.put(document, [f"Form {number}" for number in numbers])
        mirror[document] = numbers
        for asked in (100, 110):
            expected = {(d, o) for d, held in mirror.items() for o, number in enumerate(held) if number == asked}
            assert set(index.search(f"Form {asked}?")) == expected


def test_any_text_may_be_indexed_and_asked():
    index = NameIndex()

    @settings(max_examples=50, deadline=None)
    @given(st.text(max_size=60), st.text(max_size=60))
    def check(text: str, question: str) -> None:
        index.put(1, [text])
        index.search(question)

    check()
