"""Shapes in which models cite, refuse, count and quote, one a line, as a stranger would write them."""

from __future__ import annotations

import pytest

from worker.citations import REFUSAL, enforce_citations
from worker.records import Passage, Verdict

LIFE = Passage(
    name="whole_life_2023.pdf",
    text="The annual premium is $1,240. A lapsed policy may be reinstated within three years. "
    "Suicide is excluded in the first two years.",
)
BONDS = Passage(
    name="bond ladder notes.md",
    text="The ladder holds five bonds and yields 4.15% a year. Each bond costs $10,000.",
)
HEALTH = Passage(
    name="hsa_rules.txt",
    text="For 2024 the HSA limit is $4,150 for self-only coverage and $8,300 for family coverage. "
    "People aged 55 or older may add $1,000.",
)
COLLEGE = Passage(name="college/529_plan.docx", text="Earnings grow free of tax. The fee is 0.18% of assets.")
PENSION = Passage(
    name="pension_faq.html",
    text="Normal retirement age is 65. Early retirement is possible from age 58½ with a reduction of 0.4% per month.",
)
SHOWN = (LIFE, BONDS, HEALTH, COLLEGE, PENSION)
FACT = "The annual premium is $1,240"


def check(output: str, shown: tuple[Passage, ...] = SHOWN, *, policy: str = "flag", question: str = "") -> Verdict:
    return enforce_citations(output, shown, policy=policy, question=question)


def names(verdict: Verdict) -> list[str]:
    return [source.name for source in verdict.sources]


def strings(verdict: Verdict) -> set[str]:
    return {dropped.string for dropped in verdict.dropped}


def ids(value: object) -> str:
    return " ".join(str(value).split())[:60]


@pytest.mark.parametrize(
    "tail",
    [
        ".\n\n> Source: whole_life_2023.pdf",
        ".\n\nSOURCES\n=======\n- whole_life_2023.pdf",
        ".\n\nSource(s): whole_life_2023.pdf (page 2)",
        ".\n\nSources: #1",
        ".\n\nSource = whole_life_2023.pdf",
        ".\n\nSources: Doc 1 (whole_life_2023.pdf)",
        ".\n\nSources: <whole_life_2023.pdf>",
        ".\n\n<sources><source>whole_life_2023.pdf</source></sources>",
        ".\n\n出典：whole_life_2023.pdf",
        ".\n\nИсточники: whole_life_2023.pdf",
        " [1.].",
        " [doc_1].",
        " [Source_1].",
        " [1‑1].",
        " [1-1].",
        ".①",
        ". ⁽¹⁾",
        " [citation:1].",
        " [cite: 1].",
        " 【whole_life_2023.pdf】.",
        " (whole_life_2023.pdf:12).",
        " [whole_life_2023.pdf][1].",
        " (1).",
        ". (1)",
        " {1}.",
        "「1」.",
        ".\nSource: whole_life_2023.pdf</source>",
    ],
    ids=ids,
)
def test_each_shape_cites_its_document_and_leaves_the_sentence(tail: str) -> None:
    verdict = check(FACT + tail)
    assert verdict.text == f"{FACT}."
    assert (names(verdict), strings(verdict)) == (["whole_life_2023.pdf"], set())


@pytest.mark.parametrize(
    ("tail", "dropped"),
    [
        (" (whole_life_2024.pdf).", "whole_life_2024.pdf"),
        (" (whole_life_2023.docx).", "whole_life_2023.docx"),
        (" (old_whole_life_2023.pdf).", "old_whole_life_2023.pdf"),
        (" (/srv/docs/whole_life_2023.pdf).", "/srv/docs/whole_life_2023.pdf"),
        (" (wh\u043ele_life_2023.pdf).", "wh\u043ele_life_2023.pdf"),
        (" [00].", "[00]"),
        (" [1-99999].", "[1-99999]"),
        (".\n\nSources: premium_definition.txt", "premium_definition.txt"),
    ],
    ids=ids,
)
def test_a_near_miss_is_dropped(tail: str, dropped: str) -> None:
    verdict = check(FACT + tail)
    assert verdict.text == f"{FACT}."
    assert (names(verdict), strings(verdict)) == ([], {dropped})


@pytest.mark.parametrize(
    "text",
    [
        "(1) Pay the premium. (2) Keep the policy.",
        "A lapse of five (5) years ends it.",
        "It ended with a loss of (2).",
        "The limit stands in paragraph (1).",
        f"{FACT} (40).",
    ],
)
def test_a_number_in_round_brackets_that_is_part_of_the_sentence_stays(text: str) -> None:
    verdict = check(text)
    assert (verdict.text, verdict.dropped) == (text, ())


def test_a_number_in_round_brackets_that_the_evidence_has_itself_is_no_marker() -> None:
    code = Passage(name="code.md", text="The limit of subdivision (1) is $5,000. Interest counts under (1).")
    assert check("Interest counts (1).", (code,)).text == "Interest counts (1)."


def test_a_brace_at_the_end_is_no_json() -> None:
    verdict = check(f"{FACT}.{{\n\nSources: whole_life_2023.pdf")
    assert (verdict.text, names(verdict)) == (f"{FACT}.{{", ["whole_life_2023.pdf"])


def test_a_range_between_two_brackets_is_one_range() -> None:
    verdict = check(f"{FACT}, the ladder yields 4.15% a year and the HSA limit for 2024 is $8,300 [1]–[3].")
    assert names(verdict) == ["whole_life_2023.pdf", "bond ladder notes.md", "hsa_rules.txt"]


def test_a_sources_line_before_the_answer_leaves_the_answer() -> None:
    verdict = check(f"Sources: whole_life_2023.pdf\n\n{FACT}.")
    assert (verdict.text, names(verdict)) == (f"{FACT}.", ["whole_life_2023.pdf"])


@pytest.mark.parametrize(
    "text",
    [
        f"A list like [1, 2, 3] is sorted; {FACT[0].lower()}{FACT[1:]}.",
        f"The regex [0-9]+ is unrelated; {FACT[0].lower()}{FACT[1:]}.",
        f"- [ ] {FACT}",
        f"Under [26 CFR 1.408], {FACT[0].lower()}{FACT[1:]}.",
        f"Sources of funding: salary and gifts. {FACT}.",
    ],
    ids=ids,
)
def test_what_is_no_citation_stays(text: str) -> None:
    verdict = check(text)
    assert (verdict.text, verdict.dropped, names(verdict)) == (text, (), [])


@pytest.mark.parametrize(
    "output",
    [
        '{answer: "%s", sources: ["whole_life_2023.pdf"]}',
        '{"answer": "%s", "sources": {"whole_life_2023.pdf": "page 1"}}',
        '{"final_answer": "%s", "used_sources": ["whole_life_2023.pdf"]}',
        '<tool_call>{"name": "reply", "arguments": {"text": "%s", "sources": [1]}}</tool_call>',
        "<response><answer>%s</answer><sources><source>whole_life_2023.pdf</source></sources></response>",
        "### Response:\n%s [1]",
        "◁think▷ghost.pdf?◁/think▷%s [1]",
        "%s [1]\nQ: And hail?\nA: See hail.",
        "%s [1]<end_of_turn>\n<start_of_turn>user\nAnd hail?",
    ],
    ids=ids,
)
def test_wrappings_and_debris_are_taken_off(output: str) -> None:
    verdict = check(output.replace("%s", f"{FACT}."))
    assert (verdict.text, names(verdict)) == (f"{FACT}.", ["whole_life_2023.pdf"])


@pytest.mark.parametrize(
    "text",
    [
        "The answer is not in the documents.",
        "I'm afraid that isn't covered in what I was given.",
        "The question falls outside the documents provided.",
        "I lack the information to answer.",
        "Your documents make no mention of hail.",
        "No dispongo de esa información.",
        "Dat staat niet in de documenten.",
        "Das kann ich Ihnen leider nicht beantworten.",
    ],
    ids=ids,
)
def test_a_refusal_in_other_words_lists_nothing(text: str) -> None:
    verdict = check(f"{text}\n\nSources: whole_life_2023.pdf")
    assert (verdict.text, verdict.abstained, verdict.sources) == (text, True, ())


@pytest.mark.parametrize(
    "text",
    [
        f"{FACT}; the documents do not say when it is due",
        "While the documents do not mention a discount, the annual premium is $1,240",
        "I could not find the surrender charge. However, the annual premium is $1,240",
    ],
    ids=ids,
)
def test_a_partial_refusal_keeps_the_source_of_its_answer(text: str) -> None:
    verdict = check(f"{text} [1].")
    assert (verdict.abstained, names(verdict)) == (False, ["whole_life_2023.pdf"])


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("The ladder yields 415 basis points a year", "bond ladder notes.md"),
        ("The fee is 18 basis points of assets", "college/529_plan.docx"),
        ("A lapsed policy may be reinstated within 36 months", "whole_life_2023.pdf"),
        ("年間保険料は1,240ドルです", "whole_life_2023.pdf"),
        ("年保费为1,240美元", "whole_life_2023.pdf"),
        ("Die Jahresprämie beträgt 1.240 $", "whole_life_2023.pdf"),
        ("Early retirement is possible from age 58 1/2", "pension_faq.html"),
    ],
    ids=ids,
)
def test_a_figure_is_the_same_in_other_spellings(statement: str, name: str) -> None:
    verdict = check(f"{statement}.\n\nSources: {name}", policy="strict")
    assert (verdict.text, names(verdict)) == (f"{statement}.", [name])


@pytest.mark.parametrize(
    "statement",
    [
        "The ladder yields 4.15 basis points a year",
        "The ladder yields -4.15% a year",
        "Early retirement is possible from age 58",
        "For 2024 the HSA limit is $8,300 for self-only coverage",
        "The monthly premium is $1,240",
        "The policy says 'A lapsed policy may be reinstated within five years'",
    ],
    ids=ids,
)
def test_a_figure_or_quotation_that_is_turned_round_is_refused(statement: str) -> None:
    verdict = check(f"{statement}.\n\nSources: {', '.join(p.name for p in SHOWN)}", policy="strict")
    assert (verdict.text, verdict.sources) == (REFUSAL, ())


# --- figures that speak of something else --------------------------------------------------------

AUTO = Passage(
    name="auto_cover.pdf",
    text="Bodily injury liability is $250,000 per person. The collision deductible is $1,000.",
    heading=("Auto policy summary 2024", "Cover"),
)
PLAN = Passage(
    name="plan_limits.md",
    text="The deferral limit is $23,000. People aged 50 or older may add a catch-up of $7,500.",
    heading=("401(k) limits 2024",),
)


@pytest.mark.parametrize(
    "statement",
    [
        "Long-term care insurance costs $250,000",
        "The dental plan's annual maximum is $23,000",
        "The collision deductible of the homeowner's policy is $1,000",
        "The catch-up of a SIMPLE IRA is $7,500",
        "The deferral limit is $7,500",
    ],
    ids=ids,
)
def test_a_figure_said_of_another_thing_is_refused(statement: str) -> None:
    verdict = check(f"{statement}.\nSources: auto_cover.pdf, plan_limits.md", (AUTO, PLAN), policy="strict")
    assert (verdict.text, verdict.sources) == (REFUSAL, ())


@pytest.mark.parametrize("answer", ["It is $1,000.", "$1,000", "You would pay $1,000."], ids=ids)
def test_a_short_answer_says_what_was_asked(answer: str) -> None:
    question = "What is the collision deductible?"
    verdict = check(f"{answer}\nSources: auto_cover.pdf", (AUTO, PLAN), policy="strict", question=question)
    assert (verdict.text, names(verdict)) == (answer, ["auto_cover.pdf"])


def test_a_year_may_stand_in_the_heading_or_the_location() -> None:
    sheet = Passage(name="rates.xlsx", text="The lending rate is 5.5%.", location='sheet "2022", rows 2-4')
    for right, wrong, shown in (
        ("The deferral limit for 2024 is $23,000 [1].", "2025", PLAN),
        ("The lending rate in 2022 was 5.5% [1].", "2021", sheet),
    ):
        assert names(check(right, (shown,), policy="strict")) == [shown.name]
        year = "2024" if shown is PLAN else "2022"
        assert check(right.replace(year, wrong), (shown,), policy="strict").text == REFUSAL


def test_a_subject_that_no_document_has_lowers_trust() -> None:
    question = "What is the collision deductible of the scooter?"
    verdict = check("The scooter has a collision deductible of some $1,000 [1].", (AUTO,), question=question)
    assert ("subject_not_in_evidence" in verdict.flags) == (verdict.sentences[0].support < 0.6)


@pytest.mark.parametrize(
    "markup",
    [
        '<img src="https://evil.example/p.png?d=5">',
        "<a href='https://evil.example'></a>",
        "<iframe src=https://evil.example></iframe>",
        "![][x]\n\n[x]: https://evil.example/a.png",
    ],
    ids=ids,
)
def test_markup_that_a_page_would_load_is_gone(markup: str) -> None:
    assert check(f"{FACT} [1]. {markup}").text == f"{FACT}."


@pytest.mark.parametrize(
    "output",
    [
        f"{FACT}.\nSources: insurer.com.au.com.au.\nIt is due each year.",
        f"{FACT}. Source: insurer.co.uk. It is due each year.",
        f"Sources: insurer.com.au.\n{FACT}.",
    ],
    ids=ids,
)
def test_an_invented_address_among_the_sentences_is_gone_and_the_sentences_stay(output: str) -> None:
    verdict = check(output)
    assert "insurer" not in verdict.text
    assert verdict.text.startswith(f"{FACT}.")
    assert [dropped.reason for dropped in verdict.dropped] == ["not_shown"]


@pytest.mark.parametrize("output", ["whole_life_2023.pdf", "whole_life_2023", "premium_report.pdf\n"], ids=ids)
@pytest.mark.parametrize("policy", ["strict", "flag"])
def test_to_name_a_document_is_no_answer(output: str, policy: str) -> None:
    verdict = check(output, policy=policy)
    assert (verdict.text, verdict.abstained, names(verdict)) == (REFUSAL, True, [])


def test_a_sources_line_that_closes_a_paragraph_is_none_of_the_answer() -> None:
    verdict = check(f"{FACT}.\nSources: Insurer, Citybank, and N.A.\n\nIt is due each year.")
    assert verdict.text == f"{FACT}.\n\nIt is due each year."
    assert names(verdict) == []
