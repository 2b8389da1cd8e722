"""Messages in, what a person reads in a terminal out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from producer.checkup import Finding
from producer.client import Ticket
from producer.contract import Answer, DocumentList, DocumentState, IngestReport
from producer.doubts import doubts, thrown_out
from producer.errors import AnswerTimeout
from producer.evaluation import Judgement

_POLL_SECONDS = 0.5
# A folder may hold thousands of files of one refused kind.
_NAMES_SHOWN = 5
_SIGNS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "fault": ("✗", "red")}


def print_answer(answer: Answer, *, console: Console, notes: Console) -> None:
    """Print the answer and its sources on `console`, what was thrown out and other doubts on `notes`."""
    console.print(Text(answer.text))
    if answer.sources_line:
        console.print(Text(answer.sources_line, style="bold"))
    for source in answer.sources:
        if source.quote:
            where = f", {source.place}" if source.place else ""
            console.print(Text(f'  {source.name}{where}: "{source.quote}"', style="dim"))
    for doubt in doubts(answer):
        notes.print(Text(f"  ({doubt})", style="yellow"))
    for removed in thrown_out(answer):
        notes.print(Text(f"  thrown out: {removed}", style="dim"))


def follow(ticket: Ticket[IngestReport], *, console: Console) -> IngestReport:
    """Show a running ingest's progress until it ends; raises what `Ticket.get` raises."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        line = bar.add_task("waiting for the ingest worker", total=None, told="")
        while True:
            try:
                return ticket.get(timeout=_POLL_SECONDS)
            except AnswerTimeout:
                known = ticket.status
                bar.update(line, description=known.words)
                if told := known.progress:
                    words = f"{told.chunks} chunks, {told.chunks_per_second:.1f}/s, {told.failures} refused"
                    bar.update(line, description="ingesting", total=told.total, completed=told.done, told=words)


def print_report(report: IngestReport, *, console: Console) -> None:
    """Print an ingest's counts, and the files that are not indexed under their reasons, the most frequent first."""
    console.print(f"{report.collection}: {_counts(report)}")
    for why, names in _refused_by_reason(report).items():
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        console.print(Text(f"  {why}:\n    {', '.join(names[:_NAMES_SHOWN])}{more}"))
    for warning in report.warnings:
        console.print(Text(f"  warning: {warning}", style="yellow"))


def _counts(report: IngestReport) -> str:
    counts = [(getattr(report, word), word) for word in ("added", "changed", "removed", "renamed", "unchanged")]
    told = [f"{count} {word}" for count, word in [*counts, (len(report.refused), "not indexed")] if count]
    if report.chunks:
        told.append(f"{report.chunks} chunks in {report.seconds:.1f} s")
    return ", ".join(told) or "nothing to do"


def _refused_by_reason(report: IngestReport) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for refused in report.refused:
        grouped.setdefault(_reason(refused.reason), []).append(refused.name)
    return dict(sorted(grouped.items(), key=lambda group: -len(group[1])))


def _reason(predicate: str) -> str:
    """`is encrypted; save it ...` is said of a file; under a heading it goes without its verb."""
    return predicate.removeprefix("is ")


def print_documents(found: DocumentList, *, console: Console) -> None:
    """Print what is stored in a collection, a line a document, and how much of it answers questions."""
    tagged = any(document.tags for document in found.documents)
    table = Table(box=None, pad_edge=False)
    table.add_column("document", overflow="fold", ratio=2)
    table.add_column("chunks", justify="right")
    table.add_column("kB", justify="right")
    table.add_column("state", overflow="fold", ratio=2)
    if tagged:
        table.add_column("tags", overflow="fold", ratio=1)
    for document in found.documents:
        cells = (document.name, str(document.chunks), _kilobytes(document.size), _state(document))
        table.add_row(*map(Text, (*cells, ", ".join(document.tags)) if tagged else cells))
    console.print(table)
    console.print(_total(found))
    if found.warning:
        console.print(Text(f"warning: {found.warning}", style="yellow"))


def _kilobytes(size: int) -> str:
    return str(-(-size // 1000))


def _state(document: DocumentState) -> str:
    why = _reason(document.reason)
    if not why or why == document.state:
        return document.state
    return f"indexed in part: {why}" if document.state == "indexed" else f"{document.state}: {why}"


def _total(found: DocumentList) -> Text:
    indexed = sum(document.state == "indexed" for document in found.documents)
    folder = f" from {found.folder}" if found.folder else ""
    when = datetime.fromtimestamp(found.ingested_at).astimezone() if found.ingested_at else None
    last = f", last ingested {when:%Y-%m-%d %H:%M %Z}" if when else ""
    return Text(f"{found.collection}: {indexed} of {len(found.documents)} documents are indexed{folder}{last}")


def print_findings(findings: Sequence[Finding], *, console: Console) -> None:
    """Print what was looked at, a line each, with a sign that needs no colour; below it, what to do."""
    for finding in findings:
        sign, colour = _SIGNS[finding.state]
        console.print(Text.assemble((f"{sign} {finding.subject}: ", colour), finding.found), soft_wrap=True)
        if finding.remedy:
            console.print(Text(f"  → {finding.remedy}"), soft_wrap=True)


def print_judgements(judgements: Sequence[Judgement], *, console: Console) -> None:
    """Print a table of questions and what is missing from their answers."""
    table = Table(expand=console.is_terminal)
    for column, ratio in (("", 0), ("question", 3), ("sources", 2), ("what is missing", 3), ("s", 0)):
        table.add_column(column, ratio=ratio or None, justify="right" if column == "s" else "left")
    for judged in judgements:
        sign, colour = _SIGNS["ok" if judged.is_as_expected else "fault"]
        cells = (judged.question, ", ".join(judged.sources), "; ".join(judged.missed), f"{judged.seconds:.1f}")
        table.add_row(Text(sign, style=colour), *map(Text, cells))
    console.print(table)
    good = sum(judged.is_as_expected for judged in judgements)
    console.print(f"{good} of {len(judgements)} as expected")
