"""When a quotation counts as the evidence's own words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.citations.quotes import QuoteIndex, check_quotes
from worker.records import Passage, QuoteCheck

TEXT = "Water damage is not insured. Theft is insured up to $4,000 for each loss. Claims are paid with-\nin\n30 days."
OTHER = "Loans are repaid within five years of the first payment."
INDEX = QuoteIndex.of([Passage(name="a.md", text=TEXT), Passage(name="b.md", text=OTHER)])


def one(answer: str, question: str = "") -> QuoteCheck:
    (found,) = check_quotes(answer, INDEX, question)
    return found


@pytest.mark.parametrize(
    "quotation",
    [
        "Theft is insured up to $4,000 for each loss.",
        "theft is insured up to $4,000",
        "Claims are paid within 30 days",
        "Water damage is not insured … Claims are paid",
        "[The] theft is insured up to $4,000",
        "Water damage [...] is insured up to $4,000",
    ],
)
def test_white_space_hyphens_omissions_and_editors_are_no_difference(quotation: str) -> None:
    found = one(f'It says "{quotation}".')
    assert found.state == "verbatim"
    assert found.support is not None


@pytest.mark.parametrize(
    ("quotation", "state"),
    [
        ("Theft is insured up to $40,000 for each loss", "not_found"),
        ("Water damage is insured in full", "not_found"),
        ("Water damage is insured. Theft is not", "not_found"),
        ("Claims are paid … Water damage is not insured", "stitched"),
        ("Theft is insured up to five years of the first payment", "stitched"),
    ],
)
def test_digits_negations_and_order_are_exact(quotation: str, state: str) -> None:
    assert one(f'It says "{quotation}".').state == state


def test_a_block_quotation_is_held_to_its_words() -> None:
    assert one("> Water damage is never insured by anyone.").state == "not_found"
    assert one("> Water damage is not insured.").state == "verbatim"


def test_scare_quotes_titles_and_the_question_are_no_quotations() -> None:
    assert check_quotes('A "safe harbour" plan', INDEX) == []
    assert check_quotes('See "The Complete Guide To Claims"', INDEX) == []
    assert check_quotes('You asked "is my water damage insured?"', INDEX, "Is my water damage insured?") == []


def test_the_support_is_the_quoted_run_itself() -> None:
    span = one('It says "theft is insured up to $4,000".').support
    assert span is not None
    assert TEXT[span.start : span.end] == "Theft is insured up to $4,000"


@given(st.integers(min_value=0, max_value=len(OTHER.split()) - 4), st.integers(min_value=4, max_value=8))
def test_every_contiguous_run_is_verbatim(start: int, length: int) -> None:
    run = " ".join(OTHER.split()[start : start + length])
    assert [check.state for check in check_quotes(f'It says "{run}"', INDEX)] in (["verbatim"], [])


@given(st.text(max_size=200))
def test_quotations_are_read_from_any_text(text: str) -> None:
    for check in check_quotes(text, INDEX):
        assert text[check.start : check.end] == check.string
