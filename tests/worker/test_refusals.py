"""What is a refusal, and what only sounds like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.citations.refusals import is_deflection, is_refusal, is_small_talk, refuses
from worker.citations.sentences import split_sentences


@pytest.mark.parametrize(
    "sentence",
    [
        "I don't know.",
        "I'm unable to determine your tax bracket.",
        "Unfortunately, I could not find that in your files.",
        "The documents provided do not mention hail.",
        "The passages contain no information about premiums.",
        "There is not enough information to say.",
        "Your premium is not stated in the text.",
        "It is not clear from the context when the plan ends.",
        "This cannot be determined from the report.",
        "None of the documents gives the date.",
        "The plan does not say what happens after a divorce.",
        "As an AI model I cannot see your accounts.",
        "Unknown.",
        "N/A",
        "Das geht aus den Dokumenten nicht hervor.",
        "Los documentos no contienen esa información.",
        "Je ne trouve pas cette information.",
        "Ik kan dat niet vinden.",
        "Non posso rispondere a questa domanda.",
        "Os documentos não mencionam isso.",
        "文档中没有相关信息。",
    ],
)
def test_a_refusal_is_recognised(sentence: str) -> None:
    assert is_refusal(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "No, hail is not insured.",
        "The policy does not cover hail.",
        "The plan does not include dental care.",
        "A will does not avoid probate.",
        "There is no deadline for an answer.",
        "I am not certain, but the deductible is $300.",
        "You do not need any documents for this.",
        "Choose a fund such as a large index fund.",
        "No fee is charged.",
        'The letter says "we could not find your file".',
    ],
)
def test_an_answer_with_a_no_in_it_is_no_refusal(sentence: str) -> None:
    assert not is_refusal(sentence)


def test_an_answer_is_a_refusal_by_its_first_sentence_or_by_most_of_them() -> None:
    assert refuses(["I could not find it.", "The fee is $5.", "The term is 2 years."])
    assert refuses(["The fee is $5.", "I could not find the rest.", "It is not stated in the documents."])
    assert not refuses(["The fee is $5.", "The documents do not mention the term."])


def test_sending_the_user_elsewhere_and_greeting_give_no_answer() -> None:
    assert refuses(["It depends on your plan.", "Please contact your adviser."])
    assert refuses(["Hello!", "How can I help you today?"])
    assert is_small_talk("Thank you for asking!")


@given(st.text(max_size=300))
def test_any_text_is_judged(text: str) -> None:
    assert refuses([text[start:end] for start, end in split_sentences(text)]) in (True, False)


def test_what_the_documents_are_about_instead_is_no_answer():
    assert is_deflection("However, the passages provided mainly discuss car insurance.")
    assert is_deflection("It primarily focuses on pensions.")
    assert not is_deflection("The policy only covers theft.")
    assert not is_deflection("It mainly focuses on the 3 largest funds.")
    assert refuses(["The text does not say when it ends.", "It mainly talks about fees."])
