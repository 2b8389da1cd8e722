"""Runs a catalogue of citation cases and reports how often the right documents are listed, beside simpler rules."""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.checking import check
from benchmarks.tabulating import show, write
from worker.records import Passage

Case = dict[str, Any]
MEASURES = ("strict", "lax", "text", "abstention", "false_documents")


@dataclass(frozen=True, slots=True)
class Result:
    """What one rule made of one case."""

    kept: tuple[str, ...]
    text: str | None = None
    abstained: bool | None = None


def ours(case: Case) -> Result:
    """`enforce_citations` with policy `flag`, which changes nothing but what cites."""
    passages = [Passage(name=item["name"], text=item["text"]) for item in case["evidence"]]
    verdict = check(case["model_output"], passages, question=case.get("question") or "", policy="flag")
    return Result(tuple(source.name for source in verdict.sources), verdict.text, verdict.abstained)


def list_all(case: Case) -> Result:
    """Every document shown, as many products do."""
    return Result(tuple(dict.fromkeys(item["name"] for item in case["evidence"])))


def list_none(case: Case) -> Result:
    """Never a source."""
    return Result(())


def bracketed_numbers(case: Case) -> Result:
    """The best public rule in a few lines: `[n]`, `[n, m]`, `[[n]]`, full-width forms; in range, outside code."""
    text = re.sub(r"```.*?(?:```|\Z)", "", case["model_output"], flags=re.S)
    names = [item["name"] for item in case["evidence"]]
    found = (
        int(number)
        for group in re.findall(r"[\[【［]{1,2}\s*(\d{1,4}(?:\s*,\s*\d{1,4})*)\s*[\]】］]{1,2}", text)
        for number in group.split(",")
    )
    return Result(tuple(dict.fromkeys(names[number - 1] for number in found if 1 <= number <= len(names))))


RULES: dict[str, Callable[[Case], Result]] = {
    "enforce_citations": ours,
    "list all": list_all,
    "list none": list_none,
    "bracketed numbers": bracketed_numbers,
}


def judge(case: Case, result: Result) -> dict[str, bool]:
    """Whether the result is right, by each measure."""
    expected = case["expected"]
    readings = [expected["kept"], *expected.get("alt_kept", [])]
    texts = [expected["answer_text"], *expected.get("also_ok", [])]
    allowed = {name for reading in readings for name in reading}
    return {
        "strict": list(result.kept) == expected["kept"],
        "lax": list(result.kept) in readings,
        "text": result.text in texts,
        "abstention": result.abstained == expected["abstained"],
        "false_documents": bool(set(result.kept) - allowed),
    }


def share(judged: Sequence[dict[str, bool]], measure: str) -> float:
    """The share of cases for which a measure holds."""
    return sum(item[measure] for item in judged) / len(judged) if judged else 0.0


def measure(cases: Sequence[Case]) -> dict[str, float | int]:
    """Run every rule, print the tables and return our figures."""
    judged = {name: [judge(case, rule(case)) for case in cases] for name, rule in RULES.items()}
    mine = judged["enforce_citations"]
    for key in ("level", "class"):
        groups: dict[str, list[dict[str, bool]]] = defaultdict(list)
        for case, item in zip(cases, mine, strict=True):
            groups[case[key]].append(item)
        rows = [[name, len(group), *(share(group, m) for m in MEASURES)] for name, group in sorted(groups.items())]
        show(f"By {key}", [key, "n", *MEASURES], rows)
    show(
        "Beside simpler rules",
        ["rule", *MEASURES[:2], MEASURES[4]],
        [[n, *(share(j, m) for m in ("strict", "lax", "false_documents"))] for n, j in judged.items()],
    )
    support = [item for case, item in zip(cases, mine, strict=True) if case["level"] == "support"]
    others = [item for case, item in zip(cases, mine, strict=True) if case["level"] != "support"]
    figures: dict[str, float | int] = {name: share(mine, name) for name in MEASURES[:4]}
    figures |= {"strict_outside_support": share(others, "strict"), "strict_support": share(support, "strict")}
    return figures | {"false_documents": sum(item["false_documents"] for item in mine), "n": len(cases)}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, required=True, help="a file with one JSON case a line")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    lines = arguments.cases.read_text(encoding="utf-8").splitlines()
    write(measure([json.loads(line) for line in lines if line.strip()]), arguments.json)


if __name__ == "__main__":
    main()
