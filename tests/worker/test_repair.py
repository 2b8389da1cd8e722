"""A model is told what was wrong with its answer, and never in words that it could copy."""

from __future__ import annotations

from itertools import pairwise

import pytest

from worker.citations import enforce_citations
from worker.records import Passage
from worker.repair import is_better, problems

EVIDENCE = (
    Passage(name="auto_policy_2024.pdf", text="The collision deductible is $500 for each accident."),
    Passage(name="vesting.md", text="The employer match vests over five years."),
)
GOOD = "The collision deductible is $500 for each accident.\nSources: auto_policy_2024.pdf"


def check(text):
    return enforce_citations(text, EVIDENCE, question="What is the collision deductible?")


@pytest.mark.parametrize(
    ("text", "told", "invented"),
    [
        (f"{GOOD}, deductible_definition.txt", "named a source", "deductible_definition"),
        (f"{GOOD} It was $750 in Ohio.".replace("accident.\n", "accident. It was $750 in Ohio.\n"), "number", "750"),
        ("The collision deductible is $750.\nSources: auto_policy_2024.pdf", "number", "750"),
        (f"{GOOD}, vesting.md", "does not say so", "vesting"),
        ('The policy says "no deductible applies ever".\nSources: auto_policy_2024.pdf', "quotation", "applies"),
    ],
)
def test_what_was_removed_is_told_without_repeating_it(text, told, invented):
    words = "; ".join(problems(check(text)))
    assert told in words
    assert invented not in words


@pytest.mark.parametrize("text", [GOOD, "I don't have an answer for you.\nSources: vesting.md", ""])
def test_an_answer_of_which_nothing_was_removed_and_an_honest_refusal_are_let_be(text):
    assert problems(check(text)) == ()


def test_an_answer_is_better_than_none_then_a_sourced_one_then_one_with_less_removed():
    none = check("The collision deductible is $750.")
    unsourced = check("The collision deductible is $500 for each accident.")
    invented = check(f"{GOOD}, deductible_definition.txt")
    good = check(GOOD)
    ordered = [none, unsourced, invented, good]
    for worse, better in pairwise(ordered):
        assert is_better(better, worse)
        assert not is_better(worse, better)
    assert not is_better(good, good)


def test_an_answer_to_something_else_mends_nothing_however_well_it_is_sourced():
    unsourced = check("The collision deductible is $500 for each accident.")
    other = check("The employer match vests over five years.\nSources: vesting.md")
    assert other.sources
    assert not is_better(other, unsourced)
