"""Changes one detail of right answers over real passages and reports how often the check names the damage.

    python -m benchmarks.mutations --data DIR [--json FILE]

A mutation counts as caught when the right flag appears; its unmutated twin must not have had it. Answers come
from three sets, as far as DIR holds them: sentences of IRS pages (plain policy answers, half of their figures
spelled another way), questions of TAT-QA turned into statements, and answers of FinanceBench over the whole
filing page.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.checking import check
from benchmarks.tabulating import show, write
from worker.chunking import chunk_document
from worker.citations.numerals import read_figures
from worker.citations.sentences import split_sentences
from worker.documents import read_document
from worker.records import Passage, Verdict

SHOWN, A_SET, TOKENS = 6, 250, 250
KINDS = ("digit", "unit", "year", "negation", "name", "quote")
_FIGURE_FAULTS = (
    "number_unsupported",
    "unit_mismatch",
    "date_mismatch",
    "scope_mismatch",
    "number_misplaced",
    "arithmetic_error",
    "sign_flip",
)
FLAGS = {
    "digit": _FIGURE_FAULTS,
    "unit": _FIGURE_FAULTS,
    "year": _FIGURE_FAULTS,
    "negation": ("negation_conflict", "bound_flip"),
    "quote": ("quote_not_verbatim", "frankenquote"),
}
_UNITS = (
    ("%", " basis points"), (" percent", " basis points"), ("$", "€"), (" million", " billion"),
    (" billion", " million"), (" months", " years"), (" years", " months"), (" days", " weeks"),
    (" per month", " per year"), (" per year", " per month"), (" annually", " monthly"),
)  # fmt: skip
_NOT = (
    (r"\b(is|are|was|were|may|can|must|will|should|does|do|did|has|have|could)\b(?! not)", r"\1 not"),
    (r"\b(is|are|was|were|may|can|must|will|should|does|do|did|has|have|could|can) ?not\b", r"\1"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A right answer with the passages it was given from; the first one holds it."""

    source: str
    text: str
    passages: tuple[Passage, ...]
    question: str = ""


def irs_answers(data: Path, rng: random.Random) -> Iterator[Answer]:
    """Sentences of IRS pages with a figure, among passages of the same and of other pages."""
    passages: list[Passage] = []
    for path in sorted((data / "docs_finance" / "html_irs").glob("*.html"))[:14]:
        document = read_document(path)
        chunks = chunk_document(document, count_tokens=lambda text: len(text) // 4, max_tokens=TOKENS)
        passages += (Passage(name=path.name, text=chunk.text, heading=chunk.heading) for chunk in chunks)
    for place, passage in enumerate(passages):
        others = [*passages[max(0, place - 2) : place], *passages[place + 1 : place + 3]]
        others += rng.sample(passages, 2)
        for start, end in split_sentences(passage.text):
            sentence = passage.text[start:end]
            if (
                6 <= len(sentence.split()) <= 45
                and sentence.endswith(".")
                and re.search(r"\d", sentence)
                and "\n" not in sentence
            ):
                yield Answer("irs", respelled(sentence, rng), (passage, *others))


def respelled(text: str, rng: random.Random) -> str:
    """The same figures as a writer may spell them: half of the time without thousands separators, with `percent`."""
    if rng.random() < 0.5:
        return text
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    return re.sub(r"(?<=\d)%", " percent", text)


def tatqa_answers(data: Path, rng: random.Random) -> Iterator[Answer]:
    """Questions for a value in a table or a text, turned into statements; the table is rows of cells."""
    with gzip.open(data / "tatqa" / "tatqa_dataset_dev.json.gz", "rt", encoding="utf-8") as file:
        sets = json.load(file)
    pages = [_tatqa_passages(number, item) for number, item in enumerate(sets)]
    for number, item in enumerate(sets):
        others = [passage for other in rng.sample(pages, 2) for passage in other[:2]]
        for question in item["questions"]:
            statement = _statement(question["question"])
            if (
                question["answer_type"] == "span"
                and statement
                and len(question["answer"]) == 1
                and re.search(r"\d", question["answer"][0])
            ):
                value = question["answer"][0].strip()
                yield Answer("tatqa", f"{statement} {value}.", (*pages[number], *others), question["question"])


def _tatqa_passages(number: int, item: dict[str, object]) -> tuple[Passage, ...]:
    table, paragraphs = item["table"], item["paragraphs"]
    assert isinstance(table, dict)
    assert isinstance(paragraphs, list)
    rows = "\n".join(" | ".join(cell.strip() for cell in row) for row in table["table"])
    name = f"report_{number:03}.md"
    return (Passage(name=name, text=rows), Passage(name=name, text="\n\n".join(p["text"] for p in paragraphs)))


def financebench_answers(data: Path, rng: random.Random) -> Iterator[Answer]:
    """Human answers over whole pages of filings."""
    lines = (data / "financebench" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    for item in items:
        own = [Passage(name=f"{e['doc_name']}.pdf", text=e["evidence_text_full_page"]) for e in item["evidence"]]
        other = rng.choice(items)["evidence"][0]
        answer = str(item["answer"])
        statement = _statement(item["question"])
        text = answer if len(answer.split()) > 5 else f"{statement} {answer}." if statement else ""
        if text and re.search(r"\d", text):
            yield Answer(
                "financebench",
                text,
                (*own, Passage(name=f"{other['doc_name']}.pdf", text=other["evidence_text_full_page"])),
                item["question"],
            )


def _statement(question: str) -> str:
    """`What is the total in 2019?` becomes `The total in 2019 is`."""
    match = re.fullmatch(r"What (is|was|were|are) (?:the )?([^?]{5,160})\?", question.strip())
    return f"The {match[2].strip()} {match[1]}" if match else ""


# --- mutations ---------------------------------------------------------------------------------


def change_digit(text: str, rng: random.Random) -> str | None:
    """Another digit in one amount, percentage or count."""
    figures = [figure for figure in read_figures(text) if figure.kind == "number" and not figure.spelled]
    places = [place for figure in figures for place in range(figure.start, figure.end) if text[place].isdigit()]
    return _replaced(text, places, lambda digit: rng.choice([d for d in "123456789" if d != digit]), rng)


def change_year(text: str, rng: random.Random) -> str | None:
    """Another year near the one stated."""
    places = [match.start() for match in re.finditer(r"\b(?:19|20)\d{2}\b", text)]
    if not places:
        return None
    place = rng.choice(places)
    year = int(text[place : place + 4]) + rng.choice((-3, -2, -1, 1, 2, 3))
    return f"{text[:place]}{year}{text[place + 4 :]}"


def change_unit(text: str, rng: random.Random) -> str | None:
    """Another unit, currency, scale or period behind or before a figure."""
    fitting = [(old, new) for old, new in _UNITS if re.search(rf"\d{re.escape(old)}|{re.escape(old)}\d", text)]
    if not fitting:
        return None
    old, new = rng.choice(fitting)
    return re.sub(rf"(?<=\d){re.escape(old)}|{re.escape(old)}(?=\d)", new, text, count=1)


def negate(text: str, rng: random.Random) -> str | None:
    """A negation put in or taken out."""
    for pattern, replacement in reversed(_NOT):
        changed = re.sub(pattern, replacement, text, count=1)
        if changed != text:
            return changed
    return None


def change_quotation(text: str, rng: random.Random) -> str | None:
    """Another word, digit or negation inside a quotation."""
    digits = [place for place, character in enumerate(text) if character.isdigit()]
    if digits and rng.random() < 0.5:
        return _replaced(text, digits, lambda digit: rng.choice([d for d in "123456789" if d != digit]), rng)
    words = [match.span() for match in re.finditer(r"\b[a-z]{4,}\b", text)]
    if not words:
        return None
    start, end = rng.choice(words)
    return f"{text[:start]}{rng.choice(['always', 'never', 'usually', 'other'])}{text[end:]}"


def _replaced(text: str, places: Sequence[int], new: Callable[[str], str], rng: random.Random) -> str | None:
    if not places:
        return None
    place = rng.choice(places)
    return text[:place] + new(text[place]) + text[place + 1 :]


MUTATIONS: dict[str, Callable[[str, random.Random], str | None]] = {
    "digit": change_digit,
    "unit": change_unit,
    "year": change_year,
    "negation": negate,
}

# --- measuring ---------------------------------------------------------------------------------


def judged(answer: Answer, text: str) -> Verdict:
    """The verdict on a text that cites the passage it comes from."""
    return check(f"{text} [1]", answer.passages, question=answer.question, policy="flag")


def flagged(verdict: Verdict, kinds: Sequence[str]) -> bool:
    """Whether any flag is of one of these kinds."""
    return any(flag.split(":")[0] in kinds for flag in verdict.flags)


class Tally:
    """Caught and tried, by kind and set; and the flags of unmutated answers."""

    def __init__(self) -> None:
        self.caught: dict[tuple[str, str], list[bool]] = defaultdict(list)
        self.false: dict[str, list[bool]] = defaultdict(list)
        self.misses: dict[str, list[str]] = defaultdict(list)

    def add(self, answer: Answer, rng: random.Random) -> None:
        """Try every mutation that fits on one answer."""
        twin = judged(answer, answer.text)
        wrong = [flag for flags in FLAGS.values() for flag in flags]
        self.false[answer.source].append(flagged(twin, wrong))
        if self.false[answer.source][-1]:
            self.misses["false"].append(f"[{answer.source}] {answer.text} {twin.flags}")
        for kind, mutate in MUTATIONS.items():
            mutated = mutate(answer.text, rng)
            if mutated and mutated != answer.text and not flagged(twin, FLAGS[kind]):
                self._record(kind, answer, mutated, flagged(judged(answer, mutated), FLAGS[kind]))
        if answer.source == "irs":
            self._quote(answer, rng)
        self._name(answer, rng)

    def _quote(self, answer: Answer, rng: random.Random) -> None:
        quotation = answer.text.rstrip(".").replace('"', "")
        mutated = change_quotation(quotation, rng)
        shape = 'The page says "{}".'
        if mutated and not flagged(judged(answer, shape.format(quotation)), FLAGS["quote"]):
            self._record("quote", answer, mutated, flagged(judged(answer, shape.format(mutated)), FLAGS["quote"]))

    def _name(self, answer: Answer, rng: random.Random) -> None:
        name = answer.passages[0].name
        digits = [place for place, character in enumerate(name) if character.isdigit()]
        other = _replaced(name, digits, lambda digit: rng.choice([d for d in "0123456789" if d != digit]), rng)
        if other is None or any(other == passage.name for passage in answer.passages):
            return
        verdict = check(f"{answer.text}\n\nSources: {other}", answer.passages, policy="flag")
        gone = (
            not verdict.sources
            and other in {dropped.string for dropped in verdict.dropped}
            and other not in verdict.text
        )
        self._record("name", answer, other, gone)

    def _record(self, kind: str, answer: Answer, mutated: str, caught: bool) -> None:
        self.caught[kind, answer.source].append(caught)
        if not caught:
            self.misses[kind].append(f"[{answer.source}] {mutated} <- {answer.text}")


def measure(data: Path, *, seed: int = 1, verbose: bool = False) -> dict[str, float | int]:
    """Run every set that DIR holds, print the table and return the figures."""
    rng = random.Random(seed)
    tally = Tally()
    sets = {"docs_finance": irs_answers, "tatqa": tatqa_answers, "financebench": financebench_answers}
    for folder, answers in sets.items():
        if not (data / folder).is_dir():
            print(f"skipped: {folder} is not in {data}")
            continue
        every = list(answers(data, rng))
        for answer in rng.sample(every, min(A_SET, len(every))):
            tally.add(answer, rng)
    return _report(tally, verbose=verbose)


def _report(tally: Tally, *, verbose: bool) -> dict[str, float | int]:
    sources = sorted(tally.false)
    share = {key: sum(values) / len(values) for key, values in tally.caught.items()}
    rows = [
        [
            kind,
            *(
                f"{share[kind, s]:.3f} of {len(tally.caught[kind, s])}" if (kind, s) in share else "-"
                for s in sources
            ),
        ]
        for kind in KINDS
    ]
    rows.append(
        [
            "false flags",
            *(f"{sum(tally.false[s]) / len(tally.false[s]):.3f} of {len(tally.false[s])}" for s in sources),
        ]
    )
    show("Caught mutations", ["", *sources], rows)
    if verbose:
        for kind, misses in tally.misses.items():
            print(kind, Counter(miss.split("]")[0] for miss in misses), *misses[:10], sep="\n   ")
    figures: dict[str, float | int] = {}
    for kind in KINDS:
        values = [caught for (k, _), each in tally.caught.items() if k == kind for caught in each]
        figures[f"caught_{kind}"] = sum(values) / len(values) if values else 0.0
    figures["false_flags"] = sum(tally.false["irs"]) / max(1, len(tally.false["irs"]))
    return figures | {f"false_flags_{s}": sum(tally.false[s]) / len(tally.false[s]) for s in sources if s != "irs"}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, required=True, help="a folder with docs_finance/html_irs, tatqa, financebench"
    )
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--misses", action="store_true", help="print some mutations that went unseen")
    arguments = parser.parse_args()
    write(measure(arguments.data, verbose=arguments.misses), arguments.json)


if __name__ == "__main__":
    main()
