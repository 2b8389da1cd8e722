"""A folder and questions in, a screen out: what the model wrote, what was thrown out, what the app gets."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from producer.client import RagClient
from producer.contract import Answer
from producer.printing import follow, print_report
from worker.citations import REASONS
from worker.drafts import read_drafts
from worker.errors import FolderUnavailable

# Seconds; a small model on a busy machine may take its time, and the demo should not end for that.
_PATIENCE = 600.0


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
            console.print(_shown(question, read_drafts(traces).get(answer.question_id, ""), answer))
            answers.append(answer)
    console.print(Rule("All questions"))
    console.print(_summary(asked, answers))
    console.print("The model is small: it invents, and what it invents is thrown out. `make up` starts this to stay.")


def _collection(folder: Path) -> str:
    """One a folder: the next demo, of other documents, must not find these."""
    return "demo-" + hashlib.sha256(str(folder).encode()).hexdigest()[:12]


def _questions(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise FolderUnavailable(f"{file} cannot be read: {error.strerror}") from error
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _shown(question: str, draft: str, answer: Answer) -> Group:
    parts: list[RenderableType] = [Text(question, style="bold"), _evidence(answer)]
    if draft:
        parts.append(Panel(Text(draft), title="what the model wrote", title_align="left", border_style="dim"))
    parts += [Text(f"thrown out: {words}", style="red") for words in _thrown_out(answer)]
    parts.append(_final(answer))
    return Group(*parts)


def _evidence(answer: Answer) -> Text:
    if not answer.audit.shown:
        return Text("no passage is near enough; the model was not asked", style="dim")
    shown = ", ".join(f"{passage.name} ({passage.score:.2f})" for passage in answer.audit.shown)
    return Text(f"the model was shown: {shown}", style="dim")


def _thrown_out(answer: Answer) -> list[str]:
    dropped = [(item.string, REASONS.get(item.reason, _words(item.reason))) for item in answer.audit.dropped]
    citations = [f"{string} ({reason})" for string, reason in dropped]
    figures = [
        f"the figure {figure.string} ({_words(figure.reason or 'unsupported')})"
        for figure in answer.audit.figures
        if figure.state == "unsupported"
    ]
    return citations + figures


def _words(reason: str) -> str:
    return reason.replace("_", " ")


def _final(answer: Answer) -> Panel:
    text = Text(answer.text)
    if answer.sources_line:
        text.append(f"\n{answer.sources_line}", style="bold")
    for source in answer.sources:
        if source.quote:
            text.append(f'\n  {source.name}: "{source.quote}"', style="dim")
    flags = f"   {', '.join(map(_words, answer.audit.flags))}" if answer.audit.flags else ""
    title = f"what the app gets{flags}"
    return Panel(text, title=title, title_align="left", border_style="yellow" if answer.abstained else "green")


def _summary(questions: list[str], answers: list[Answer]) -> Table:
    table = Table(expand=True)
    table.add_column("question", ratio=3)
    table.add_column("what the app gets", ratio=3)
    table.add_column("thrown out", justify="right")
    table.add_column("seconds", justify="right")
    for question, answer in zip(questions, answers, strict=True):
        thrown_out, seconds = len(_thrown_out(answer)), sum(answer.timings.values())
        table.add_row(question, _outcome(answer), str(thrown_out), f"{seconds:.1f}")
    return table


def _outcome(answer: Answer) -> str:
    if answer.abstained:
        return f"no answer ({_words(answer.reason)})"
    if answer.sources:
        return "answer from " + ", ".join(source.name for source in answer.sources)
    return "answer without a source"
