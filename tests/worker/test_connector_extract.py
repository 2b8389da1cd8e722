"""Without a model an answer is sentences of the evidence, word for word, or it is none; the embedder is real."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worker.citations import enforce_citations
from worker.connectors.extract import ExtractConnector
from worker.prompt import NO_ANSWER, Prompt
from worker.records import Passage

HANDBOOK = (
    Passage(
        name="auto_policy_2024.pdf",
        text="This policy covers your car. The collision deductible is $500 for each accident. Glass is covered.",
    ),
    Passage(name="auto_policy_2023.pdf", text="The collision deductible is $1,000 for each accident."),
    Passage(name="vesting.md", text="The employer match vests over five years, one fifth each year."),
)


@pytest.fixture
def extract(embedder):
    return ExtractConnector(embedder)


def ask(connector, question, passages=HANDBOOK):
    return connector.complete(Prompt(question, passages), max_tokens=100, deadline=time.time() + 20)


def test_the_sentence_that_answers_is_given_word_for_word_with_its_source(extract):
    draft = ask(extract, "What is the collision deductible for each accident in 2024?")
    assert draft.text == "The collision deductible is $500 for each accident."
    assert [(c.name, c.quote, c.passage) for c in draft.citations] == [("auto_policy_2024.pdf", draft.text, 0)]


def test_it_passes_the_check_like_every_draft(extract):
    question = "Over how many years does the employer match vest?"
    draft = ask(extract, question)
    verdict = enforce_citations(draft.text, HANDBOOK, question=question, citations=draft.citations)
    assert verdict.text == HANDBOOK[2].text
    assert verdict.sources_line == "Sources: vesting.md"
    assert verdict.dropped == ()


@pytest.mark.parametrize(
    "question",
    [
        "How do I bake sourdough bread?",
        "Who is the mayor of the town?",
        "How many cars did the company insure?",
        "When does the collision deductible change?",
    ],
)
def test_a_question_that_no_sentence_answers_gets_no_answer(extract, question):
    passages = (*HANDBOOK[2:], Passage(name="auto.md", text="The collision deductible may change. A car is insured."))
    assert ask(extract, question, passages).text == NO_ANSWER


def test_evidence_without_a_sentence_gives_no_answer(extract):
    assert ask(extract, "What?", (Passage(name="a.md", text="***"),)).text == NO_ANSWER


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["deductible", "", "What is 0?"]), st.lists(st.text(max_size=80), max_size=3))
def test_whatever_is_shown_the_answer_stands_in_the_evidence(extract, question, texts):
    passages = (*HANDBOOK, *(Passage(name=f"{number}.md", text=text) for number, text in enumerate(texts)))
    draft = ask(extract, question, passages)
    assert draft.text == NO_ANSWER or all(
        citation.quote in passages[citation.passage].text and citation.quote in draft.text
        for citation in draft.citations
    )
