"""When a figure of an answer counts as the evidence's, and when it does not."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.citations.figures import check_figures
from worker.citations.ledger import Ledger
from worker.citations.numerals import read_figures
from worker.citations.support import Evidence
from worker.records import FigureCheck, Passage


def check(statement: str, evidence: str, question: str = "", heading: tuple[str, ...] = ()) -> list[FigureCheck]:
    ledger = Ledger(Evidence([Passage(name="a.md", text=evidence, heading=heading)]))
    return check_figures(statement, (0, len(statement)), ledger, question)


def last(statement: str, evidence: str, question: str = "") -> tuple[str, str]:
    found = check(statement, evidence, question)[-1]
    return found.state, found.reason


@pytest.mark.parametrize(
    "spelling",
    [
        "$12,500",
        "12500",
        "USD 12,500.00",
        "12 500 dollars",
        "12.5k",
        "twelve thousand five hundred dollars",
        "$12.5 thousand",
    ],
)
def test_one_amount_has_many_spellings(spelling: str) -> None:
    assert last(f"The ceiling is {spelling}", "The ceiling is $12,500.")[0] == "verified"


@pytest.mark.parametrize(
    ("statement", "evidence"),
    [
        ("The rate is 4,75 %", "The rate is 4.75%."),
        ("The rate is 4.75 percent", "The rate is 4.75 %."),
        ("Leave at age 62.5", "Leave at age 62 1/2."),
        ("Leave at age 62½", "Leave at age 62.5."),
        ("The change was -320", "Change: (320)."),
        ("The Blue Card ($695) has the highest fee", "The Blue Card has the highest fee, $695."),
        ("Net cash used was $426 million", "Net cash used was $(426) million."),
        ("Net cash was $(426) million", "Net cash used was (426,000,000)."),
        ("Wait two to four months", "Wait 2-4 months."),
        ("The term is 24 months", "The term is two years."),
        ("Pay by 2025-03-01", "Pay by March 1, 2025."),
        ("File Form 8606", "Use Form 8606 for this."),
        ("It sold for $3.2 million", "It sold for $3,200,000."),
        ("It pays twice your wage", "It pays 2 times your wage."),
        ("It pays 2x your wage", "It pays double your wage."),
        ("It pays 3 times your wage", "It pays thrice your wage."),
        ("It pays 50% of your wage", "It pays half of your wage."),
    ],
)
def test_the_same_value_in_another_form_is_verified(statement: str, evidence: str) -> None:
    assert last(statement, evidence)[0] == "verified"


ROWS = (
    "Item: Revenue | 2023: 1,284 | 2022: 1,142\nItem: Cost | 2023: 780 | 2022: 655\nAnnual fee: $95\nLate fee: None"
)


@pytest.mark.parametrize(
    ("statement", "state"),
    [
        ("Revenue was 1,284 in 2023", "verified"),
        ("Revenue was 1,284 in 2022", "unsupported"),
        ("Cost was 655 in 2022", "verified"),
        ("The annual fee is $95", "verified"),
    ],
)
def test_a_cell_may_name_its_own_column(statement: str, state: str) -> None:
    assert next(found.state for found in check(statement, ROWS) if found.string != "2022") == state


PLOT = (
    "The plot is 2.4 acres (0.97 ha), of which 1.9 acres (0.77 ha) is wood; it sold for $3,214,000 (EUR 2.9 million)."
)


@pytest.mark.parametrize(
    ("statement", "state"),
    [
        ("The plot has 2.4 acres (0.97 ha)", "verified"),
        ("The plot has 1.9 acres (0.97 ha)", "unsupported"),
        ("The plot has 0.97 ha", "verified"),
        ("It sold for $3.2 million (EUR 2.9 million)", "verified"),
        ("It sold for $2.4 million (EUR 2.9 million)", "unsupported"),
    ],
)
def test_two_figures_of_one_bracketed_amount_stay_together(statement: str, state: str) -> None:
    assert last(statement, PLOT)[0] == state


@pytest.mark.parametrize(
    ("statement", "evidence", "reason"),
    [
        ("The ceiling is $12,600", "The ceiling is $12,500.", "number"),
        ("It sold for $3.2 billion", "It sold for $3,200,000.", "number"),
        ("It pays twice your wage", "It pays three times your wage.", "number"),
        ("The rate is 4.75 basis points", "The rate is 4.75%.", "unit"),
        ("Rent is $900 per year", "Rent is $900 per month.", "unit"),
        ("The fee is €2", "The fee is 2% of assets.", "unit"),
        ("The term is 15 months", "The term is 15 years.", "unit"),
        ("The change was +320", "Change: (320).", "sign"),
        ("The ceiling was $12,500 in 2023", "In 2024 the ceiling was $12,500, and in 2023 it was $12,000.", "date"),
        (
            "The family ceiling is $4,000",
            "The ceiling is $4,000 for self-only cover and $8,000 for family cover.",
            "scope",
        ),
        ("Pay by March 1, 2026", "Pay by March 1, 2025.", "date"),
        ("File Form 8607", "Use Form 8606 for this.", "number"),
    ],
)
def test_a_figure_is_bound_to_its_unit_its_period_its_year_and_its_scope(
    statement: str, evidence: str, reason: str
) -> None:
    assert ("unsupported", reason) in [(c.state, c.reason) for c in check(statement, evidence)]


def test_rounding_needs_a_hedge_or_two_figures() -> None:
    assert last("The rate is about 6.3%", "The rate is 6.27%.")[0] == "rounded"
    assert last("The rate is about 7%", "The rate is 6.27%.")[0] == "unsupported"
    assert last("Sales were $1.23 million", "Sales were $1,234,567.")[0] == "rounded"


def test_a_shown_sum_is_done_again() -> None:
    evidence = "One person may pay in $6,000."
    assert last("Two may pay in $6,000 x 2 = $12,000", evidence) == ("computed", "")
    assert last("Two may pay in $6,000 x 2 = $13,000", evidence) == ("unsupported", "arithmetic")
    assert last("Two may pay in $12,000", evidence) == ("unsupported", "number")


def test_the_question_gives_operands_and_no_support() -> None:
    evidence = "The company adds 5% of your wage."
    question = "What do I get with a wage of $40,000?"
    assert last("With $40,000, it adds 5% of $40,000 = $2,000", evidence, question) == ("computed", "")
    assert last("Your wage ceiling is $40,000", evidence, question) == ("unsupported", "echo")
    assert last("The ceiling is not $40,000", evidence, question)[0] == "question"


def test_counting_words_claim_nothing() -> None:
    assert check("Three things matter", "The fee is $5.") == []


def test_a_cell_is_bound_to_its_row_and_its_column() -> None:
    table = "Item | 2023 | 2022\nRent | 410 | 380\nFuel | 95 | 120"
    assert last("Rent in 2023 was 410", table)[0] == "verified"
    assert last("Rent in 2022 was 410", table) == ("unsupported", "date")


def test_amounts_and_years_are_paired_by_respectively() -> None:
    evidence = "Fees were $5 and $6 in 2023 and 2022, respectively."
    assert last("The fee of 2023 was $5", evidence)[0] == "verified"
    assert last("The fee of 2022 was $5", evidence) == ("unsupported", "date")


def test_a_table_in_thousands_gives_full_amounts() -> None:
    assert last("Rent was $410,000", "(in thousands)\nItem | 2023\nRent | 410")[0] == "verified"


def test_the_support_of_a_figure_is_where_it_stands() -> None:
    evidence = "Theft costs $30. Water costs $75."
    span = check("Water costs $75", evidence)[-1].support
    assert span is not None
    assert evidence[span.start : span.end] == "$75"


@given(st.integers(min_value=1, max_value=10**9))
def test_a_number_is_read_the_same_with_and_without_separators(value: int) -> None:
    for text in (f"${value:,}", f"{value} dollars", f"USD {value:,}.00"):
        figures = read_figures(text)
        assert [figure.value for figure in figures] == [Decimal(value)]
        assert text[figures[0].start : figures[0].end] == text


@given(st.integers(min_value=10, max_value=10**7), st.integers(min_value=1, max_value=9))
def test_another_number_is_never_verified(value: int, change: int) -> None:
    assert last(f"The fee is ${value + change:,}", f"The fee is ${value:,}.")[0] == "unsupported"


@given(st.text(max_size=200))
def test_figures_are_read_from_any_text(text: str) -> None:
    for figure in read_figures(text):
        assert 0 <= figure.start < figure.end <= len(text)


@pytest.mark.parametrize("answer", ["10 months.", "$10,500.", "67.", "10 %) a year"])
def test_an_answer_that_opens_with_its_figure_is_no_list(answer: str) -> None:
    assert last(answer, "Keep six months, $2,000 and 4 %.")[0] == "unsupported"


@pytest.mark.parametrize("line", ["2. Sell the bonds.", "(3) Sell the bonds.", "- 2. Sell", "12) Sell"])
def test_the_number_of_a_list_item_claims_nothing(line: str) -> None:
    assert check(line, "Sell the bonds.") == []


def test_a_count_in_words_is_no_length_of_time() -> None:
    evidence = "A household with two steady incomes should keep three months of expenses."
    assert last("It keeps two months of expenses.", evidence) == ("unsupported", "unit")
    assert last("It keeps three months of expenses.", evidence)[0] == "verified"
