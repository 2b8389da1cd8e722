"""What is asked must be said, in that word or in a like one, by the sentence that an answer of few words rests on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.citations import enforce_citations
from worker.citations.alignment import Asked, unsaid_names, unsaid_words
from worker.citations.answering import asked_of
from worker.citations.contrasts import opposed
from worker.embedding import Embedder
from worker.likeness import Likeness
from worker.records import Passage

PARK = Passage(
    name="elm_hollow_park.txt",
    text="The Rowan Fund paid for new paths in 1975. Elm Hollow Park was founded by the county in 1968. "
    "A race around the lake was first held in 1983, and is broadcast by Radio Four. "
    "Mia Okoro, who designs the gardens, and Sir Paul Lisle are its patrons.",
)
LEDGER = Passage(
    name="ledger.txt",
    text="The buyer pays 400 dollars. The seller of the flat pays 900 dollars. Late instalments incur a fee of $25. "
    "Required minimum distributions begin at age 73. The shop in France sold 40 lamps.",
)


@pytest.fixture(scope="module")
def likeness(embedder: Embedder) -> Likeness:
    return Likeness(embedder)


def all_alike(texts, others):
    return [[1.0] * len(others) for _ in texts]


def none_alike(texts, others):
    return [[0.0] * len(others) for _ in texts]


def speaks_of(sentence: str, passage: str, asked: Asked, similarity) -> bool:
    return asked.allows(unsaid_words(sentence, asked, similarity) | unsaid_names(passage, asked))


def sources(answer: str, question: str, likeness: Likeness | None) -> list[str]:
    passages = (PARK, LEDGER)
    output = f"{answer}\nSources: {PARK.name}, {LEDGER.name}"
    return [
        source.name for source in enforce_citations(output, passages, question=question, similarity=likeness).sources
    ]


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("1968", "When was Elm Hollow Park established?"),
        ("The park was established in 1968.", "When was the park established?"),
        ("Mia Okoro", "Who is the designer of the gardens?"),
        ("$25", "What is the penalty for late instalments?"),
        ("Age 73", "At what age do RMDs begin?"),
        ("900 dollars", "What does the seller pay?"),
    ],
)
def test_a_like_word_says_what_was_asked(answer: str, question: str, likeness: Likeness):
    assert sources(answer, question, likeness)


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("1975", "When was Elm Hollow Park established?"),
        ("Radio Four", "Who sponsors the race around the lake?"),
        ("The park was established in 1975.", "When was the park established?"),
        ("The usual race is the race of 1983.", "What is the usual race?"),
        ("40", "How many lamps did the shop in Germany sell?"),
    ],
)
def test_a_sentence_about_something_else_is_no_source(answer: str, question: str, likeness: Likeness):
    assert sources(answer, question, likeness) == []


def test_what_the_embedder_finds_alike_may_still_be_the_opposite(likeness: Likeness):
    assert likeness(["buyer"], ["seller"])[0][0] > 0.7
    question = asked_of("What must the buyer hand over?")
    assert not speaks_of("The seller hands over the keys.", LEDGER.text, question, likeness)


@pytest.mark.parametrize(
    "pair",
    [
        "buyers seller", "uninsured insured", "ineligible eligible", "lessor lessee", "inpatient outpatient",
        "bought sold", "employers employees", "january march", "miles kilometers",
    ],
)  # fmt: skip
def test_words_for_different_things_of_one_kind_are_opposed(pair: str):
    word, other = pair.split()
    assert opposed(word, other)
    assert opposed(other, word)


@pytest.mark.parametrize("pair", ["buyer buyers", "employ employees", "it unit", "teach teacher", "fee charge"])
def test_other_words_are_not_opposed(pair: str):
    assert not opposed(*pair.split())


def test_a_name_is_said_by_itself_its_adjective_or_its_initials(likeness: Likeness):
    argentina = asked_of("Which firm runs the office in Argentina?")
    assert speaks_of(
        "The Argentine office is run by Lisle.", "The Argentine office is run by Lisle.", argentina, likeness
    )
    assert not speaks_of(
        "The Chilean office is run by Lisle.", "The Chilean office is run by Lisle.", argentina, likeness
    )
    short = asked_of("When do RMDs begin?")
    assert speaks_of(LEDGER.text, LEDGER.text, short, none_alike)


def test_the_passage_may_hold_the_names_and_only_the_sentence_the_rest(likeness: Likeness):
    asked = asked_of("When was the park of Elm Hollow founded?")
    assert speaks_of("The park was founded in 1968.", PARK.text, asked, likeness)
    assert not speaks_of("Elm Hollow has new paths since 1975.", PARK.text, asked, likeness)


def test_of_six_words_one_may_be_missing():
    question = "Which {}crimson lantern hangs above the northern harbour gate?"
    long = asked_of(question.format("rusty "))
    assert len(long.words) == 6
    said = "A crimson lantern hangs above the northern harbour."
    assert speaks_of(said, said, long, none_alike)
    assert not speaks_of(said.replace("northern ", ""), said, long, none_alike)


@pytest.mark.parametrize(
    "question",
    [
        "Is flood damage covered?",
        "Which is cheaper, Gold or Silver?",
        "Tell me more.",
        "",
        "What is it?",
        "I earn well.",
    ],
)
def test_a_question_that_is_answered_in_other_words_asks_for_none(question: str):
    assert asked_of(question) == Asked((), ())


def test_a_request_asks_as_a_question_does():
    assert asked_of("Tell me the flood deductible.").words == ("flood", "deductible")


def test_only_the_sentence_that_asks_is_read():
    assert asked_of("I earn well. Who is the beneficiary, Maria Lopez?").words == ("beneficiary",)


def test_evidence_in_another_language_is_not_held_to_the_words_of_the_question():
    tarif = Passage(
        name="tarif.txt", text="Der Selbstbehalt im Tarif beträgt 500 Euro und wird von der Kasse gezahlt."
    )
    output = "500 Euro\nSources: tarif.txt"
    verdict = enforce_citations(output, (tarif,), question="What is the deductible?", similarity=none_alike)
    assert verdict.text == "500 Euro"


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_more_likeness_never_asks_for_more(sentence: str, passage: str, question: str):
    asked = asked_of(question)
    if speaks_of(sentence, passage, asked, none_alike):
        assert speaks_of(sentence, passage, asked, all_alike)
