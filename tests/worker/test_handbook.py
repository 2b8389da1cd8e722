"""The demo's handbook: what its questions ask stands in it, short and under the right document."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from worker.chunking import chunk_document
from worker.documents import read_document
from worker.records import Document
from worker.sources import list_files

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def handbook() -> dict[str, Document]:
    return {file.name: read_document(file.path) for file in list_files(EXAMPLES / "handbook")}


def test_it_has_a_dozen_documents_in_five_formats(handbook):
    assert len(handbook) == 12
    assert {Path(name).suffix for name in handbook} == {".txt", ".md", ".html", ".pdf", ".docx"}


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("401k_limits.md", "For 2025 an employee may defer up to $23,500 of pay into a 401(k) plan."),
        ("401k_limits.md", "Limit: Catch-up, ages 60 to 63 | 2024: not available | 2025: $11,250"),
        ("required_minimum_distributions.html", "RMDs begin at age 73."),
        ("auto_policy_2023.pdf", "The collision deductible is $500 per accident."),
        ("auto_policy_2024.pdf", "The collision deductible is $1,000 per accident."),
        ("auto_policy_2024.pdf", "Coverage: Property damage, per accident | Limit: $100,000"),
        ("vesting.docx", "After four years of service, 60 percent of the employer match is vested."),
        (
            "hsa_and_fsa.html",
            "For 2025 the HSA limit is $4,300 for self-only coverage and $8,550 for family coverage.",
        ),
        ("emergency_fund.txt", "A household with a single income should keep six months."),
    ],
)
def test_a_fact_stands_in_its_document(handbook, name, fact):
    assert fact in handbook[name].text


def test_two_of_the_eight_questions_have_no_answer_in_it(handbook):
    questions = (EXAMPLES / "questions.txt").read_text().splitlines()
    assert len(questions) == 8
    everything = " ".join(document.text for document in handbook.values()).lower()
    assert "homeowner" in questions[6]
    assert "SIMPLE IRA" in questions[7]
    assert "homeowner" not in everything
    assert "16,500" not in everything


def test_its_chunks_are_short_enough_for_a_small_model(handbook, embedder):
    counts = [
        embedder.count_tokens(chunk.embedded_text)
        for document in handbook.values()
        for chunk in chunk_document(document, count_tokens=embedder.count_tokens, max_tokens=embedder.max_tokens)
    ]
    assert len(counts) > 60
    assert max(counts) <= 200


def test_its_generator_writes_what_is_kept(handbook, tmp_path):
    make = runpy.run_path(str(EXAMPLES / "make_handbook.py"))
    for name, (write, page) in make["FILES"].items():
        write(tmp_path / name, page)
        assert read_document(tmp_path / name) == handbook[name]
