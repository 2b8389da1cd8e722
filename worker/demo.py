"""A folder and questions in, a screen out: what the model wrote, what was thrown out, what the app gets."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from producer.client import RagClient
from producer.contract import Answer
from producer.doubts import doubts, thrown_out
from producer.printing import follow, print_report
from worker.drafts import read_drafts
from worker.errors import FolderUnavailable

# Seconds; a small model on a busy machine may take its time, and the demo should not end for that.
_PATIENCE = 600.0
_DRAFT_SHOWN = 400


def run_demo(broker_url: str, *, documents: Path, questions: Path, traces: Path, console: Console) -> None:
    """Ingest `documents`, ask each line of `questions` and print what became of it.

    Raises FolderUnavailable where the questions cannot be read, and what the client raises.
    """
    asked, folder = _questions(questions), documents.resolve()
    collection = _collection(folder)
    with RagClient(broker_url) as client:
        console.print(Rule(f"Ingest {documents}"))
        report = follow(client.ingest(str(folder), collection=collection), console=console)
        print_report(report, console=console)
        answers = []
        for number, question in enumerate(asked, 1):
            console.print(Rule(f"Question {number} of {len(asked)}"))
            with console.status("waiting for the answer"):
                answer = client.ask(question, collection=collection, deadline=_PATIENCE).get(timeout=_PATIENCE)
            console.print(_shown(question, read_drafts(traces).get(answer.question_id, []), answer))
            answers.append(answer)
    console.print(Rule("All questions"))
    console.print(_summary(asked, answers))
    console.print(_verdict(answers))


def _collection(folder: Path) -> str:
    """One a folder: the next demo, of other documents, must not find these."""
    return "demo-" + hashlib.sha256(str(folder).encode()).hexdigest()[:12]


def _questions(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise FolderUnavailable(f"{file} cannot be read: {error.strerror}") from error
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _shown(question: str, drafts: list[str], answer: Answer) -> Group:
    parts: list[RenderableType] = [Text(question, style="bold"), _evidence(answer)]
    for draft, title in zip(drafts, ("what the model wrote", "what it wrote when asked once more"), strict=False):
        parts.append(Panel(Text(_cut(draft)), title=title, title_align="left", border_style="dim"))
    parts += [Text(f"thrown out: {words}", style="red") for words in thrown_out(answer)]
    parts.append(_final(answer))
    return Group(*parts)


def _cut(draft: str) -> str:
    """A small model may say one thing over and over until its limit."""
    more = len(draft) - _DRAFT_SHOWN
    return draft if more <= 0 else f"{draft[:_DRAFT_SHOWN]}... and {more} characters more"


def _evidence(answer: Answer) -> Text:
    if not answer.audit.shown:
        return Text("no passage is near enough; the model was not asked", style="dim")
    passages = Counter(passage.name for passage in answer.audit.shown)
    shown = ", ".join(f"{name} ({count} passages)" if count > 1 else name for name, count in passages.items())
    return Text(f"the model was shown: {shown}", style="dim")


def _final(answer: Answer) -> Panel:
    text = Text(answer.text)
    if answer.sources_line:
        text.append(f"\n{answer.sources_line}", style="bold")
    for source in answer.sources:
        if source.quote:
            text.append(f'\n  {source.name}: "{source.quote}"', style="dim")
    for doubt in doubts(answer):
        text.append(f"\n  ({doubt})", style="yellow")
    colour = "green" if answer.sources else "yellow"
    return Panel(text, title="what the app gets", title_align="left", border_style=colour)


def _summary(questions: list[str], answers: list[Answer]) -> Table:
    table = Table(box=None, expand=True, pad_edge=False)
    table.add_column("question and answer", ratio=3)
    table.add_column("source", ratio=2, overflow="fold")
    table.add_column("thrown\nout", justify="right")
    table.add_column("s", justify="right")
    for question, answer in zip(questions, answers, strict=True):
        seconds = f"{sum(answer.timings.values()):.1f}"
        said = Group(Text(question, style="dim"), Padding(Text(answer.text), (0, 0, 1, 2)))
        table.add_row(said, _outcome(answer), str(len(thrown_out(answer)) or ""), seconds)
    return table


def _outcome(answer: Answer) -> Text:
    if answer.abstained:
        return Text("-", style="yellow")
    if not answer.sources:
        return Text("none, and so it is marked", style="yellow")
    return Text(", ".join(source.name for source in answer.sources), style="green")


def _verdict(answers: list[Answer]) -> str:
    """The whole in two sentences, and what to do next."""
    with_source = sum(bool(answer.sources) for answer in answers)
    without = sum(not (answer.sources or answer.abstained) for answer in answers)
    removed = sum(len(thrown_out(answer)) for answer in answers)
    return (
        f"{len(answers)} questions: {with_source} answered with a source, {without} without one, "
        f"{len(answers) - with_source - without} refused. "
        f"{removed} sources and figures that the model wrote were thrown out before the app could see them.\n"
        'The model is small and invents a lot; README, "Use your own model", says how to take another.\n'
        "Next: `make up` keeps all of this running; `make demo DOCS=FOLDER` takes your own folder."
    )
