"""An answer is held against its question: what leans on that has a source only where a sentence carries both."""

from __future__ import annotations

import pytest

from worker.citations import REFUSAL, enforce_citations
from worker.citations.answering import (
    is_bare_yes,
    lacks_number,
    leans_on_question,
    ordinals,
    repeats,
    restates,
    subject,
)
from worker.citations.wording import content_stems
from worker.embedding import Embedder
from worker.likeness import Likeness
from worker.records import Passage, Verdict
from worker.repair import problems

PLAN = Passage(
    name="plan.md",
    text="The Maple Grove clinic was opened in 1988. Dr. Ida Lund founded the first sleep laboratory there. "
    "In 1994 the Harbor Trust bought land for parking. The plan covers hearing aids for children.",
)
TABLE = Passage(
    name="fees.md",
    text="Fee | 2023 | 2024\nWire transfer fee | $25 | $30\nCard replacement | $12 | $15\nFees for paper\n"
    "Paper | 2023 | 2024\nReturned mail | |\nStatement | $4 | $6",
)


COMPARED: dict[str, Likeness] = {}


@pytest.fixture(autouse=True, params=["by words alone", "by like words"])
def compared(request: pytest.FixtureRequest, embedder: Embedder) -> None:
    """All of it holds with and without an embedder."""
    COMPARED.clear()
    if request.param == "by like words":
        COMPARED["similarity"] = Likeness(embedder)


def check(answer: str, question: str, policy: str = "strict") -> Verdict:
    output = f"{answer}\nSources: plan.md, fees.md"
    return enforce_citations(output, (PLAN, TABLE), question=question, policy=policy, **COMPARED)


def keeps(passage: Passage, answer: str, question: str) -> bool:
    output = f"{answer}\nSources: {passage.name}"
    return bool(enforce_citations(output, (passage,), question=question, **COMPARED).sources)


def sources(answer: str, question: str) -> list[str]:
    return [source.name for source in check(answer, question).sources]


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("Maple Grove clinic", "Who opened the Maple Grove clinic?"),
        ("The Maple Grove clinic was opened.", "In which year was the Maple Grove clinic opened?"),
        ("The first laboratory", "What was the first laboratory?"),
        ("The founder of the laboratory", "What is the name of the founder of the laboratory?"),
    ],
)
@pytest.mark.parametrize("policy", ["strict", "flag"])
def test_an_answer_that_only_says_what_was_asked_is_none(answer: str, question: str, policy: str):
    verdict = check(answer, question, policy)
    assert (verdict.text, verdict.abstained, verdict.sources) == (REFUSAL, True, ())
    assert {"repeats_question", "nothing_supported"} <= set(verdict.flags)
    assert "it only said what was asked" in problems(verdict)


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("The plan covers hearing aids.", "Does the plan cover hearing aids?"),
        ("The plan covers hearing aids.", "Tell me whether the plan covers hearing aids."),
        ("The plan covers hearing aids.", "So the plan covers hearing aids?"),
        ("Hearing aids.", "I need hearing aids and parking. Which does the plan cover?"),
        ("Hearing aids.", "Does the plan cover hearing aids or parking?"),
        ("Hearing aids.", "Which of the hearing aids does it cover?"),
        ("The Maple Grove clinic.", "Which opened first, the Maple Grove clinic or the sleep laboratory?"),
    ],
)
def test_a_yes_in_other_words_and_a_choice_are_answers(answer: str, question: str):
    assert check(answer, question).text == answer


def test_what_is_said_beside_the_repeated_question_is_kept_with_its_source():
    verdict = check("The Maple Grove clinic. It was opened in 1988.", "When was the Maple Grove clinic opened?")
    assert "1988" in verdict.text
    assert [source.name for source in verdict.sources] == ["plan.md"]


@pytest.mark.parametrize(
    ("answer", "question", "expected"),
    [
        ("Ida Lund", "Who founded the sleep laboratory?", ["plan.md"]),
        ("Ida Lund", "Who is the chief surgeon of the county hospital?", []),
        ("The Harbor Trust", "Who bought land for parking?", ["plan.md"]),
        ("The Harbor Trust", "Who runs the pharmacy in Oslo?", []),
    ],
)
def test_a_bare_name_needs_a_sentence_that_carries_the_question(answer: str, question: str, expected: list[str]):
    assert sources(answer, question) == expected


@pytest.mark.parametrize(
    ("answer", "question", "expected"),
    [
        ("1988", "When was the Maple Grove clinic opened?", ["plan.md"]),
        ("1994", "When was the Maple Grove clinic opened?", []),
        ("$30", "What is the wire transfer fee in 2024?", ["fees.md"]),
        ("$15", "What is the wire transfer fee in 2024?", []),
        ("$6", "What is the fee for a statement of returned mail in 2024?", ["fees.md"]),
    ],
)
def test_a_bare_figure_needs_the_question_in_its_own_sentence_or_cell(
    answer: str, question: str, expected: list[str]
):
    assert sources(answer, question) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [("Does the plan cover hearing aids for children?", ["plan.md"]), ("Is Norway part of the Union?", [])],
)
def test_a_bare_yes_has_a_source_only_where_the_question_is_spoken_of(question: str, expected: list[str]):
    assert sources("Yes.", question) == expected


def test_where_a_number_was_asked_for_a_name_is_no_answer_that_a_document_carries():
    assert sources("The Harbor Trust", "How many trusts bought land for parking?") == []
    assert sources("Ida Lund's laboratory", "How many laboratories did Ida Lund found there?") == []


def test_the_first_of_its_kind_is_not_carried_by_what_is_said_of_another():
    assert sources("Ida Lund", "Who founded the first sleep laboratory?") == ["plan.md"]
    assert sources("The Harbor Trust", "Who was the first that bought land for parking?") == []


BOARD = Passage(
    name="board.md",
    text="Ana Reyes was Treasurer of the fund until 2019. Ben Osei, the Treasurer, disagreed with the auditors. "
    "Carla Voss was elected Chair of the fund in 2021. Dev Anand is the Secretary of the fund. "
    "The fund was founded by Ella Novak.",
)


@pytest.mark.parametrize(
    ("answer", "question", "kept"),
    [
        ("Ana Reyes", "Who is the Treasurer of the fund?", False),
        ("Ana Reyes", "Who was Treasurer of the fund until 2019?", True),
        ("Carla Voss", "Who is the Chair of the fund?", True),
        ("Dev Anand", "What is the name of the Secretary of the fund?", True),
        ("Ella Novak", "Who founded the fund?", True),
    ],
)
def test_who_held_an_office_is_not_who_holds_it(answer: str, question: str, kept: bool):
    assert keeps(BOARD, answer, question) == kept


PLANS = Passage(
    name="plans.md",
    text="Plan: Pine | Deductible: $6,100 | Copay: $61\nPlan: Fir | Deductible: $1,300 | Copay: $21\n"
    "Part A costs nothing. Part B costs $174 a month. Form 1040 is due on April 15.",
)


@pytest.mark.parametrize(
    ("answer", "question", "kept"),
    [
        ("$1,300", "What is the deductible of the Fir plan?", True),
        ("$6,100", "What is the deductible of the Fir plan?", False),
        ("$21", "What is the deductible of the Fir plan?", False),
        ("$174", "What does Part B cost?", True),
        ("$174", "What does Part A cost?", False),
        ("April 15", "When is Form 1040 due?", True),
        ("April 15", "When is Form 1120 due?", False),
    ],
)
def test_the_cell_or_the_part_that_was_asked_of_is_the_one_that_answers(answer: str, question: str, kept: bool):
    assert keeps(PLANS, answer, question) == kept


def test_a_name_that_the_documents_do_not_hold_has_no_cell():
    question = "What is the deductible of the Larch plan?"
    assert keeps(PLANS, "$1,300", question) == (not COMPARED)


def test_what_was_said_before_the_question_is_not_asked_of_the_documents():
    asked = "My cat is old and I was told to hurry. When was the Maple Grove clinic opened?"
    assert sources("1988", asked) == ["plan.md"]


SUMMARY = Passage(
    name="summary.md",
    text="Deductibles\nWind and hail: 2% of the value\n\n"
    "Contributions vest as follows:\n- 2 years: 40%\n- 3 years: 75%\n\n"
    "Age reductions. Benefits drop to 65% at age 70.\n\nDue dates\nSecond payment: June 16, 2025",
)


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("2% of the value", "What is the deductible for wind and hail?"),
        ("75%", "How much of the contributions is vested after 3 years?"),
        ("June 16, 2025", "When is the second payment due?"),
    ],
)
def test_what_a_heading_or_the_opening_of_a_list_says_is_said_of_its_lines(answer: str, question: str):
    assert keeps(SUMMARY, answer, question)


def test_the_lines_of_another_heading_are_not_meant():
    question = "When is the third contribution vested?"
    assert not keeps(SUMMARY, "June 16, 2025", question)


def test_what_is_free_is_not_denied():
    tow = Passage(name="tow.md", text="Roadside assistance tows your car up to 25 miles at no extra charge.")
    question = "HOW FAR WILL ROADSIDE ASSISTANCE TOW MY CAR?"
    assert keeps(tow, "25 miles", question)


def test_a_list_is_judged_by_its_own_words():
    assert sources("Wire transfer and card replacement", "Name the services with a fee.") == ["fees.md"]


def test_a_question_in_another_language_than_the_documents_is_not_looked_for_in_them():
    assert sources("Ida Lund", "Wer hat das erste Schlaflabor in der Klinik gegründet?") == ["plan.md"]


def test_figures_that_answer_together_carry_the_question_together():
    question = "What are the fees for a wire transfer and for a card replacement in 2024?"
    assert sources("$30 and $15", question) == ["fees.md"]


def test_figures_of_two_documents_do_not_carry_a_question_together():
    other = Passage(name="other.md", text="The annual report costs $15.")
    question = "What are the fees for a wire transfer abroad and for a certified annual report by courier?"
    shown = (Passage(name="wire.md", text="A wire transfer costs $30."), other)
    verdict = enforce_citations("$30 and $15\nSources: wire.md, other.md", shown, question=question)
    assert not verdict.sources


def test_digits_alone_are_of_no_language():
    assert "other_language" not in check("1994 – 1995", "Which years?").flags


def test_without_a_question_nothing_is_held_against_one():
    assert check("Maple Grove clinic", "").text == "Maple Grove clinic"
    assert not check("Yes.", "").abstained


def test_the_parts_in_words():
    stems = content_stems
    assert repeats(stems("the fee"), stems("What is the fee?"), "What is the fee?")
    assert not repeats((), stems("What is the fee?"), "What is the fee?")
    assert leans_on_question("The Thomas Ward Medal for Natural Science", stems("Thomas Ward Medal Natural Science"))
    assert not leans_on_question("The insurer pays claims within days", stems("insurer pays claims within days"))
    asked = stems("What is the fee of a wire transfer?")
    assert restates("The fee is $30.", stems("The fee is $30."), asked)
    assert not restates("The bank charges for paper letters.", stems("The bank charges for paper letters."), asked)
    assert not restates("The fee, the tax and the tip.", stems("The fee, the tax and the tip."), asked)
    assert is_bare_yes("Yes.")
    assert not is_bare_yes("Yes, in May.")
    assert not lacks_number("None of them.", "How many are there?")
    assert lacks_number("The Perch is a river.", "How large is the Perch?")
    assert ordinals(stems("Who was the first owner?")) == {"first"}
    assert subject(stems("How much is the fee?")) == ("fee",)
