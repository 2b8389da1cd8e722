"""How long the check of one answer takes, as a share of embedding the question that it answers.

python -m benchmarks.enforce_speed [--json FILE]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.checking import check, embedder
from benchmarks.tabulating import show, write
from worker.citations import enforce_citations
from worker.records import Passage

RUNS = 15
WORDS, PASSAGES = 300, 8
TOPICS = ("collision", "comprehensive", "liability", "dental", "vision", "life", "travel", "home")
QUESTION = "What are the deductibles and limits of the policies, and how long does each claim take?"


def passages(run: int) -> list[Passage]:
    """Eight paragraphs of about 120 words, alike in all but their topic and figures; other figures each run."""
    return [
        Passage(
            name=f"{topic}_policy_{2018 + number}.pdf",
            text=" ".join(
                f"The {topic} deductible of section {part} is ${250 + 50 * number + part + 7 * run} per claim, and "
                f"the {topic} limit is ${10_000 * (number + 1) + part}. A {topic} claim is paid within {20 + number} "
                f"days of notice in {2018 + number}."
                for part in range(1, 5)
            ),
        )
        for number, topic in enumerate(TOPICS)
    ]


def answer(run: int) -> str:
    """About 300 words with a figure and a citation in nearly every sentence, every tenth of them wrong."""
    sentences = []
    for number, topic in enumerate(TOPICS * 2):
        place = number % PASSAGES
        amount = 250 + 50 * place + 7 * run + (1 if number % 10 else 400)
        sentences.append(
            f"The {topic} deductible is ${amount} per claim, and a {topic} claim is paid within {20 + place} days "
            f"of notice [{place + 1}]."
        )
    return " ".join(sentences)


def paraphrased(run: int) -> str:
    """As many sentences that hardly share a word with the evidence: each is compared with it by the embedder."""
    return " ".join(
        f"Whoever suffers mishap {run} with {topic} matters bears a certain part alone, and money arrives soon."
        for topic in TOPICS * 2
    )


def median_ms(call: Callable[[int], object]) -> float:
    """The median of several runs, none of which was seen before, after one to warm up, in milliseconds."""
    call(RUNS)
    times = []
    for run in range(RUNS):
        began = time.perf_counter()
        call(run)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    enforce = median_ms(lambda run: check(answer(run), passages(run), question=QUESTION))
    paraphrase = median_ms(lambda run: check(paraphrased(run), passages(run), question=QUESTION))
    alone = median_ms(lambda run: enforce_citations(answer(run), passages(run), question=QUESTION))
    embed = median_ms(lambda run: embedder().embed_query(QUESTION))
    figures = {
        "enforce_ms": enforce,
        "embed_ms": embed,
        "enforce_vs_embedding": enforce / embed,
        "paraphrases_ms": paraphrase,
        "without_embedder_ms": alone,
        "words": len(answer(0).split()),
    }
    show("One answer", ["", "value"], list(figures.items()))
    write(figures, arguments.json)


if __name__ == "__main__":
    main()
