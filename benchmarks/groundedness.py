"""Measures how well the check tells grounded answers from others, claims that a text supports, and refusals.

    python -m benchmarks.groundedness --data DIR [--json FILE]

RAGTruth: a response is called hallucinated where more of it than `WEAKLY_GROUNDED` is outside its passages;
where DIR holds the mtRAG tasks, that threshold is measured again on their human-written answers, never on
RAGTruth. AttributionBench: a claim is called attributable from the support on that separates best on the dev
set; the figure is of the test set. NoMIRACL: an answer is a refusal where it opens with the words its prompt
asked for, and an answer where it opens with the other words; answers that do neither are left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.tabulating import show, write
from worker.citations.grounding import WEAKLY_GROUNDED, novelty, ungrounded
from worker.citations.grounds import Grounds
from worker.citations.refusals import refuses
from worker.citations.sentences import split_sentences
from worker.citations.statements import read_statements
from worker.records import Passage

Row = dict[str, Any]
TARGET_FALSE_ALARMS = 0.05
PUBLISHED = (
    ("prompted GPT-4-turbo", 0.332, 0.906, 0.456),
    ("Luna", 0.378, 0.800, 0.513),
    ("LettuceDetect-large", 0.659, 0.750, 0.702),
    ("RAG-HAT", 0.765, 0.731, 0.748),
)


def rows(path: Path) -> Iterator[Row]:
    """The JSON lines of a file, packed or not."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    yield from map(json.loads, text.splitlines())


def grounds(texts: Sequence[str], question: str = "") -> Grounds:
    """Passages without names of their own."""
    return Grounds([Passage(name=f"{number}.txt", text=text) for number, text in enumerate(texts)], question)


def outside(text: str, texts: Sequence[str], question: str) -> float:
    """How much of an answer is not in its passages."""
    held = grounds(texts, question)
    return ungrounded(read_statements(text, held), held)


def scores(predicted: Sequence[bool], actual: Sequence[bool]) -> tuple[float, float, float]:
    """Precision, recall and F1."""
    hits = sum(p and a for p, a in zip(predicted, actual, strict=True))
    precision, recall = hits / max(1, sum(predicted)), hits / max(1, sum(actual))
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


# --- the three sets ----------------------------------------------------------------------------


def human_threshold(data: Path) -> float:
    """What one in twenty grounded human answers exceeds; the constant where their set is not there."""
    path = data / "mtrag_tasks" / "tasks.jsonl.gz"
    if not path.is_file():
        return WEAKLY_GROUNDED
    answered = [
        row for row in rows(path) if row["contexts"] and row["enrichments"].get("Answerability") == ["ANSWERABLE"]
    ]
    found = sorted(outside(row["target"], [c["text"] for c in row["contexts"]], row["question"]) for row in answered)
    return found[int((1 - TARGET_FALSE_ALARMS) * len(found))]


def ragtruth(data: Path) -> dict[str, float]:
    """Response-level precision, recall and F1 on RAGTruth's question answering."""
    threshold = human_threshold(data)
    responses = list(rows(data / "ragtruth_qa" / "test.jsonl"))
    texts = [[p.strip() for p in re.split(r"passage \d+:", row["passages"]) if p.strip()] for row in responses]
    predicted = [
        outside(row["response"], each, row["question"]) > threshold
        for row, each in zip(responses, texts, strict=True)
    ]
    figures = scores(predicted, [bool(row["hallucinated"]) for row in responses])
    ours = (f"ours, more than {threshold:.2f} outside", *figures)
    show(f"RAGTruth QA, {len(responses)} responses", ["", "precision", "recall", "F1"], [ours, *PUBLISHED])
    return dict(zip(("ragtruth_precision", "ragtruth_recall", "ragtruth_f1"), figures, strict=True))


def attribution(data: Path) -> dict[str, float]:
    """Macro-F1 on AttributionBench's test set, with the threshold of its dev set."""
    folder = data / "attributionbench"
    dev = _claims(folder / "dev_all_subset_balanced.jsonl.gz")
    test = _claims(folder / "test_all_subset_balanced_sampled500.jsonl.gz")
    threshold = max(sorted({support for support, _ in dev}), key=lambda t: _macro_f1(dev, t))
    figures = (_macro_f1(dev, threshold), _macro_f1(test, threshold))
    show(
        "AttributionBench",
        ["", "macro-F1"],
        [("dev", figures[0]), (f"test, support from {threshold:.2f}", figures[1])],
    )
    return {"attribution_macro_f1": figures[1]}


def _claims(path: Path) -> list[tuple[float, bool]]:
    found: list[tuple[float, bool]] = []
    for row in rows(path):
        held = grounds(row["references"])
        claims = [s for s in read_statements(row["claim"], held) if s.kind == "claim"]
        support = sum((s.support + 1 - novelty(s, held)) / 2 for s in claims) / len(claims) if claims else 1.0
        found.append((support, row["attribution_label"] == "attributable"))
    return found


def _macro_f1(claims: Sequence[tuple[float, bool]], threshold: float) -> float:
    predicted, actual = [support >= threshold for support, _ in claims], [label for _, label in claims]
    negative = scores([not p for p in predicted], [not a for a in actual])[2]
    return (scores(predicted, actual)[2] + negative) / 2


def refusals(data: Path) -> dict[str, float]:
    """F1 of refusals among the raw answers of NoMIRACL's models."""
    predicted: list[bool] = []
    actual: list[bool] = []
    for file in ("non_relevant.jsonl.gz", "relevant.jsonl.gz"):
        for row in rows(data / "nomiracl_en" / file):
            for answer in row["results"].values():
                label = _opening(answer)
                if label is not None:
                    predicted.append(refuses([answer[start:end] for start, end in split_sentences(answer)]))
                    actual.append(label)
    figures = scores(predicted, actual)
    show(f"NoMIRACL refusals, {len(actual)} answers", ["", "precision", "recall", "F1"], [("ours", *figures)])
    return {"refusal_f1": figures[2]}


def _opening(answer: str) -> bool | None:
    """Whether an answer opens as a refusal, or as an answer; None where it does neither."""
    start = answer.strip().lower()
    if start.startswith(("i don't know", "i don’t know")) or re.match(r"no, (?:the )?answer is not present", start):
        return True
    return False if start.startswith("yes") or "yes, answer is present" in start[:60] else None


SETS: dict[str, Callable[[Path], dict[str, float]]] = {
    "ragtruth_qa": ragtruth,
    "attributionbench": attribution,
    "nomiracl_en": refusals,
}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, required=True, help=f"a folder with {', '.join(SETS)}; mtrag_tasks if there"
    )
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    for folder, run in SETS.items():
        if (arguments.data / folder).is_dir():
            figures |= run(arguments.data)
        else:
            print(f"skipped: {folder} is not in {arguments.data}")
    write(figures, arguments.json)


if __name__ == "__main__":
    main()
