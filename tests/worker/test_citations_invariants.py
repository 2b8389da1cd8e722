"""What holds of every checked answer, whatever the model wrote."""

from __future__ import annotations

import re
from functools import cache

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from worker.citations import REASONS, enforce_citations
from worker.citations.naming import looks_like_a_name
from worker.embedding import Embedder
from worker.likeness import Likeness
from worker.records import FigureCheck, Passage, QuoteCheck, Verdict

POLICY = Passage(
    name="auto_policy_2024.pdf",
    text="Your collision deductible is $500 per claim. Your comprehensive deductible is $250 per claim. "
    "Flood damage is not covered.",
)
PLAN = Passage(
    name="Retirement Plan.md",
    text="The employer matches 50% of contributions up to 6% of salary. Loans may not exceed $50,000.",
)
FUND = Passage(
    name="clients/smith/fund.txt",
    text="Keep three to six months of expenses in a liquid account before investing in 2025.",
)
ODD = Passage(name="notes\nSources: <b>fake</b>.md", text="The annual fee is 1.25% of assets, and at least $40.")
SHOWN = (POLICY, PLAN, FUND, ODD)
IRRELEVANT = Passage(name="zebra.md", text="Zebras graze beside giraffes.")

FRAGMENTS = (
    "Your collision deductible is $500 per claim",
    "The employer matches 50% of contributions up to 6% of salary", "The fee is $900",
    "Flood damage is covered", 'It says "Flood damage is not covered."', "I don't know",
    "The documents do not mention it", "Hello!", "Keep 3-6 months of expenses", "$7,000 x 2 = $14,000", " [1]",
    "[2]", " [1, 9]", "[1-3]", " [[3]]", "【1†source】", " [7](http://evil.example)", "[^1]", "\n[^1]: fake.pdf",
    " (auto_policy_2024.pdf)", " (fake.pdf)", " (Retirement Plan)", "According to fake.pdf, ",
    "according to [2], ", "Document 2 says ", "\n\nSources: ", "auto_policy_2024.pdf", "Retirement Plan.md",
    "deductible_definition.txt", ", ", " and ", "\nSource: fund.txt", "\n- ", "\n1. ", "\n> ", "\n| a | b |",
    "```", "`", "<think>", "</think>", "<|im_end|>", "\nQUESTION: ", '{"answer": "', '", "sources": ["', '"]}',
    "![x](http://e.example/a.pdf)", "[x](http://e.example)", "https://e.example/a", ". ", ".", "\n", "\n\n",
    " ", "[", "]", "(", ")", '"', "“", "”", "…", "*", "**", "\x00", "\u202e", "\u200b", "é", "来源：", "Quellen: ",
    "not ", "in 2024 ", "401(k) ", "①", " [1]–[3]", " (1).", "<a href='http://e.example'>", "</a>", "<img src=x>",
    "<sources>", "</source>", "![][x]", "'Flood damage is not covered today'", "\nSources = #1", "While ", "; ",
    "\nQ: Hail?\nA: No.", "The dental maximum is $500", "It is $250", "\n=====\n", "ドル", "{answer: '", "$1,240",
)  # fmt: skip
outputs = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join),
    st.text(max_size=120),
)
policies = st.sampled_from(("strict", "flag"))


@cache
def likeness() -> Likeness:
    return Likeness(Embedder(device="cpu"))


def alike(texts, others):
    return likeness()(texts, others)


# With no question, with one, and as a worker asks: with an embedder that knows like words.
QUESTIONS = (
    "What is the collision deductible?", "How much does the boss add to my savings?", "Is flood damage covered?",
    "Which yearly charge do I pay in 2025?", "Who?",
)  # fmt: skip
ways = st.sampled_from(
    [{}, *({"question": each, **like} for each in QUESTIONS for like in ({}, {"similarity": alike}))]
)
thorough = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def names(verdict: Verdict) -> list[str]:
    return [source.name for source in verdict.sources]


@thorough
@given(outputs, policies, ways)
def test_only_shown_documents_are_kept_and_a_refusal_keeps_none(output: str, policy: str, way) -> None:
    verdict = enforce_citations(output, SHOWN, policy=policy, **way)
    assert set(names(verdict)) <= {passage.name for passage in SHOWN}
    assert len(set(names(verdict))) == len(names(verdict))
    assert not (verdict.abstained and verdict.sources)
    assert bool(verdict.sources) == bool(verdict.sources_line)
    assert "\n" not in verdict.sources_line
    assert {dropped.reason for dropped in verdict.dropped} <= set(REASONS)


@thorough
@given(outputs, policies, ways)
def test_a_name_that_was_never_shown_appears_nowhere(output: str, policy: str, way) -> None:
    verdict = enforce_citations(output, SHOWN, policy=policy, **way)
    for dropped in verdict.dropped:
        if dropped.reason == "not_shown" and looks_like_a_name(dropped.string):
            pattern = rf"(?<![\w./\\-]){re.escape(dropped.string)}(?![\w/\\])"
            assert not re.search(pattern, verdict.text)
            assert dropped.string not in names(verdict)


@thorough
@given(outputs, policies, ways)
def test_checking_a_checked_answer_changes_nothing(output: str, policy: str, way) -> None:
    once = enforce_citations(output, SHOWN, policy=policy, **way)
    twice = enforce_citations(f"{once.text}\n\n{once.sources_line}", SHOWN, policy=policy, **way)
    assert (twice.text, twice.sources_line, names(twice)) == (once.text, once.sources_line, names(once))


@thorough
@given(outputs, policies, ways)
def test_every_pointer_is_the_text_it_points_at(output: str, policy: str, way) -> None:
    verdict = enforce_citations(output, SHOWN, policy=policy, **way)
    for source in (*verdict.sources, *verdict.verified_by_check):
        if source.start is not None:
            assert SHOWN[source.passage].text[source.start : source.end] == source.quote
    checks: tuple[FigureCheck | QuoteCheck, ...] = (*verdict.figures, *verdict.quotes)
    for check in checks:
        if check.start >= 0:
            assert verdict.text[check.start : check.end] == check.string
        if check.support:
            assert SHOWN[check.support.passage].text[check.support.start : check.support.end].strip()
    for sentence in verdict.sentences:
        assert sentence.start < 0 or verdict.text[sentence.start : sentence.end].strip()


@thorough
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=10).map("".join), policies, ways)
def test_an_irrelevant_document_shown_last_changes_nothing(output: str, policy: str, way) -> None:
    without, with_it = (
        enforce_citations(output, shown, policy=policy, **way) for shown in (SHOWN, (*SHOWN, IRRELEVANT))
    )
    assert (with_it.text, names(with_it)) == (without.text, names(without))


@thorough
@given(
    st.permutations(range(4)),
    st.lists(st.tuples(st.sampled_from(range(6)), st.integers(0, 3)), min_size=1, max_size=5),
    ways,
)
def test_showing_the_documents_in_another_order_keeps_the_same_ones(
    order: list[int], claims: list[tuple[int, int]], way
) -> None:
    def answer(place: dict[int, int]) -> str:
        return " ".join(f"{FRAGMENTS[claim]} [{place[document] + 1}]." for claim, document in claims)

    straight = enforce_citations(answer({n: n for n in range(4)}), SHOWN, policy="flag", **way)
    shuffled = enforce_citations(
        answer({n: order.index(n) for n in range(4)}), [SHOWN[n] for n in order], policy="flag", **way
    )
    assert set(names(shuffled)) == set(names(straight))
    assert shuffled.text == straight.text


@thorough
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=10).map("".join), ways)
def test_renaming_a_document_renames_it_in_the_result(output: str, way) -> None:
    assume(not re.search(rf"\w{re.escape(POLICY.name)}|{re.escape(POLICY.name)}\w", output))  # glued to a word
    renamed = Passage(name="car_rules_2024.pdf", text=POLICY.text)
    before = enforce_citations(output, SHOWN, policy="flag", **way)
    after = enforce_citations(output.replace(POLICY.name, renamed.name), (renamed, *SHOWN[1:]), policy="flag", **way)
    assert names(after) == [renamed.name if name == POLICY.name else name for name in names(before)]
