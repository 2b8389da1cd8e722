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
    for doubt in _doubts(answer):
        notes.print(Text(f"  ({doubt})", style="yellow"))
    for dropped in answer.audit.dropped:
        why = dropped.explanation or dropped.reason.replace("_", " ")
        notes.print(Text(f"  thrown out: {dropped.string} ({why})", style="dim"))


def _doubts(answer: Answer) -> list[str]:
    doubts = [answer.explanation] if answer.abstained and answer.explanation else []
    if not (answer.sources or answer.abstained):
        doubts.append("no source: no shown document was credited for this")
    if answer.audit.truncated:
        doubts.append("cut off: the model reached its token limit")
    return doubts


def follow(ticket: Ticket[IngestReport], *, console: Console) -> IngestReport:
    """Show a running ingest's progress until it ends; raises what `Ticket.get` raises."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        line = bar.add_task("waiting for the ingest worker", total=None, told="")
        while True:
            try:
                report = ticket.get(timeout=_POLL_SECONDS)
            except AnswerTimeout:
                known = ticket.status
                bar.update(line, description=known.words)
                if known.progress:
                    told = known.progress
                    words = f"{told.chunks} chunks, {told.chunks_per_second:.1f}/s, {told.failures} refused"
                    bar.update(line, description="ingesting", total=told.total, completed=told.done, told=words)
                continue
            bar.update(line, description="ingested", total=report.files, completed=report.files)
            return report


def print_report(report: IngestReport, *, console: Console) -> None:
    """Print an ingest's counts, and the refused files under their reasons, the most frequent first."""
    rate = f", {report.chunks / report.seconds:.1f} chunks/s" if report.seconds else ""
    console.print(
        f"{report.collection}: {report.added} added, {report.changed} changed, {report.removed} removed, "
        f"{report.renamed} renamed, {report.unchanged} unchanged, {len(report.refused)} not indexed; "
        f"{report.chunks} chunks in {report.seconds:.1f} s{rate}"
    )
    for why, names in _refused_by_reason(report).items():
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        console.print(Text(f"  {why}: {', '.join(names[:_NAMES_SHOWN])}{more}"))
    for warning in report.warnings:
        console.print(Text(f"  warning: {warning}", style="yellow"))


def _refused_by_reason(report: IngestReport) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for refused in report.refused:
        grouped.setdefault(f"{refused.state}, {refused.reason}", []).append(refused.name)
    return dict(sorted(grouped.items(), key=lambda group: -len(group[1])))


def print_documents(found: DocumentList, *, console: Console) -> None:
    """Print what is stored in a collection, a line a document."""
    table = Table(title=f"{found.collection}{f', from {found.folder}' if found.folder else ''}", title_justify="left")
    for column in ("document", "state", "chunks", "kB", "tags"):
        table.add_column(column, justify="right" if column in ("chunks", "kB") else "left", overflow="fold")
    for document in found.documents:
        table.add_row(*map(Text, _document(document)))
    console.print(table)
    console.print(f"{len(found.documents)} documents{_ingested(found.ingested_at)}")
    if found.warning:
        console.print(Text(f"warning: {found.warning}", style="yellow"))


def _ingested(at: float) -> str:
    return f", last ingested {datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M %Z}" if at else ""


def _document(document: DocumentState) -> tuple[str, ...]:
    state = f"{document.state}: {document.reason}" if document.reason else document.state
    return (
        document.name,
        state,
        str(document.chunks),
        f"{document.size / 1000:.0f}",
        ", ".join(document.tags),
    )


def print_findings(findings: Sequence[Finding], *, console: Console) -> None:
    """Print what was looked at, a line each, with a sign that needs no colour; below it, what to do."""
    for finding in findings:
        sign, colour = _SIGNS[finding.state]
        console.print(Text(f"{sign} {finding.subject}: ", style=colour) + Text(finding.found, style="default"))
        if finding.remedy:
            console.print(Text(f"  → {finding.remedy}"))


def print_judgements(judgements: Sequence[Judgement], *, console: Console) -> None:
    """Print a table of questions and what is missing from their answers."""
    table = Table(expand=True)
    for column, ratio in (("", 0), ("question", 3), ("sources", 2), ("what is missing", 3), ("s", 0)):
        table.add_column(column, ratio=ratio or None, justify="right" if column == "s" else "left")
    for judged in judgements:
        sign, colour = _SIGNS["ok" if judged.is_as_expected else "fault"]
        cells = (judged.question, ", ".join(judged.sources), "; ".join(judged.missed), f"{judged.seconds:.1f}")
        table.add_row(Text(sign, style=colour), *map(Text, cells))
    console.print(table)
    good = sum(judged.is_as_expected for judged in judgements)
    console.print(f"{good} of {len(judgements)} as expected")
