"""Hostile output of double the length takes less than three times as long."""

from __future__ import annotations

import time

import pytest

from worker.citations import enforce_citations
from worker.records import Passage

SHOWN = (
    Passage(name="policy.pdf", text="Theft is insured up to $4,000. Water damage is not insured."),
    Passage(name="plan.md", text="The company adds 5% of your wage."),
)
LENGTH, RUNS, SHORTEST = 8_000, 4, 0.05


def best(output: str) -> float:
    times = []
    for _ in range(RUNS):
        began = time.process_time()
        enforce_citations(output, SHOWN)
        times.append(time.process_time() - began)
    return min(times)


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "(",
        "[1",
        "[1]",
        "Sources:",
        "Sources:\n",
        "\n",
        "a.pdf, ",
        "1,",
        '"',
        "“",
        "<think>",
        '{"answer": ',
        "Theft is insured. ",
        "x",
        " ",
        "a | ",
        "\t",
        "Fee: $5\n",
        "Fee: Theft | Sum: $4,000\n",
    ],
)
def test_time_grows_with_length(piece: str) -> None:
    single, double = (best((piece * n)[:n]) for n in (LENGTH, 2 * LENGTH))
    assert double < 3 * max(single, SHORTEST)


def test_time_grows_with_the_evidence() -> None:
    """Every row holds the figure that the answer names, and is held against the question."""

    def alike(texts, others):
        return [[0.0] * len(others) for _ in texts]

    def checked(rows: int) -> float:
        text = "\n".join(f"Policy {number} insures theft and pays $4,000." for number in range(rows))
        shown = (Passage(name="rows.md", text=text),)
        began = time.process_time()
        enforce_citations("$4,000 [1]", shown, question="What does Zurich Re pay for theft?", similarity=alike)
        return time.process_time() - began

    assert checked(400) < 3 * max(checked(200), SHORTEST)


def test_one_line_of_200_kilobytes_is_checked() -> None:
    verdict = enforce_citations("water " * 33_000 + "[1]", SHOWN)
    assert len(verdict.text) > 150_000
