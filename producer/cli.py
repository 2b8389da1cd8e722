"""The `rag` command: ask, ingest and status from a shell.

Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 the documents hold no answer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

try:
    import typer
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.text import Text
except ImportError:
    sys.exit("The `rag` command needs two more packages: pip install 'rag-kit[cli]'")

from producer.client import RagClient, Ticket
from producer.contract import Answer, IngestReport
from producer.errors import AnswerTimeout, ConfigurationError, InvalidRequest, RagError

_FAILED, _USAGE, _NO_ANSWER = 1, 2, 3
# A folder may hold thousands of files of one refused kind.
_NAMES_SHOWN = 5
_POLL_SECONDS = 0.5

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help="Ask your documents; see what was used.")
_out = Console(highlight=False)
_err = Console(stderr=True, highlight=False)

Collection = Annotated[str, typer.Option("--collection", "-c", help="the documents' collection")]
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON object")]


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="the question, in quotation marks", show_default=False)],
    collection: Collection,
    connector: Annotated[str, typer.Option(help="local or claude")] = "local",
    policy: Annotated[
        str, typer.Option(help="strict removes unsupported sentences, flag only marks them")
    ] = "strict",
    timeout: Annotated[float, typer.Option(help="seconds to wait")] = 120.0,
    as_json: AsJson = False,
) -> None:
    """Ask one question and print the checked answer with the documents that it used."""
    with _client() as client:
        ticket = client.ask(question, collection=collection, connector=connector, policy=policy, deadline=timeout)
        answer = ticket.get(timeout=timeout)
    if as_json:
        _print_json(answer.to_dict())
    else:
        _print_answer(answer)
    raise typer.Exit(_NO_ANSWER if answer.abstained else 0)


@app.command()
def ingest(
    folder: Annotated[str, typer.Argument(help="the folder, as the ingest worker sees it", show_default=False)],
    collection: Collection,
    as_json: AsJson = False,
) -> None:
    """Make FOLDER, as the ingest worker sees it, the content of a collection."""
    with _client() as client:
        ticket = client.ingest(str(Path(folder).absolute()) if folder.strip() else "", collection=collection)
        report = follow(ticket, console=_err)
    if as_json:
        _print_json({**report.to_dict(), "files": report.files})
    else:
        print_report(report, console=_out)


@app.command()
def status(
    id: Annotated[str, typer.Argument(help="the id of a question or an ingest", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Say what is known of a question or an ingest."""
    with _client() as client:
        known = client.status(id)
    if as_json:
        _print_json(known.to_dict())
        return
    error = f": {known.error}: {known.reason}" if known.error else ""
    _out.print(Text(f"{known.kind or 'task'} {known.id}: {known.state}{error}"))


def follow(ticket: Ticket[IngestReport], *, console: Console) -> IngestReport:
    """Show a running ingest's progress until it ends; raises what `Ticket.get` raises."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        line = bar.add_task("waiting for the ingest worker", total=None, told="")
        while True:
            known = ticket.status
            if known.progress:
                told = known.progress
                words = f"{told.chunks} chunks, {told.chunks_per_second:.1f}/s, {told.failures} refused"
                bar.update(line, description="ingesting", total=told.total, completed=told.done, told=words)
            try:
                report = ticket.get(timeout=_POLL_SECONDS)
            except AnswerTimeout:
                continue
            bar.update(line, description="ingested", total=report.files, completed=report.files)
            return report


def print_report(report: IngestReport, *, console: Console) -> None:
    """Print an ingest's counts, and each refused file with its reason."""
    rate = f", {report.chunks / report.seconds:.1f} chunks/s" if report.seconds else ""
    console.print(
        f"{report.collection}: {report.added} added, {report.changed} changed, {report.removed} removed, "
        f"{report.renamed} renamed, {report.unchanged} unchanged, {len(report.refused)} not indexed; "
        f"{report.chunks} chunks in {report.seconds:.1f} s{rate}"
    )
    for why, names in _refused_by_reason(report).items():
        shown = ", ".join(names[:_NAMES_SHOWN]) + (
            f" and {len(names) - _NAMES_SHOWN} more" if names[_NAMES_SHOWN:] else ""
        )
        console.print(Text(f"  {why}: {shown}"))
    for warning in report.warnings:
        console.print(Text(f"  warning: {warning}", style="yellow"))


def _refused_by_reason(report: IngestReport) -> dict[str, list[str]]:
    """The names of refused files under their state and reason, the most frequent reason first."""
    grouped: dict[str, list[str]] = {}
    for refused in report.refused:
        grouped.setdefault(f"{refused.state}, {refused.reason}", []).append(refused.name)
    return dict(sorted(grouped.items(), key=lambda group: -len(group[1])))


def _print_answer(answer: Answer) -> None:
    _out.print(Text(answer.text))
    if answer.sources_line:
        _out.print(Text(answer.sources_line, style="bold"))
    for source in answer.sources:
        if source.quote:
            page = f", page {source.page}" if source.page else ""
            _out.print(Text(f'  {source.name}{page}: "{source.quote}"', style="dim"))
    if not (answer.sources or answer.abstained):
        _err.print(Text("  (no source: no shown document was credited for this)", style="yellow"))
    if answer.audit.truncated:
        _err.print(Text("  (cut off: the model reached its token limit)", style="yellow"))
    for dropped in answer.audit.dropped:
        _err.print(Text(f"  thrown out: {dropped.string} ({dropped.reason})", style="dim"))


def _print_json(value: dict[str, Any]) -> None:
    _out.print(json.dumps(value, ensure_ascii=False, indent=2), soft_wrap=True, markup=False)


def _client() -> RagClient:
    return RagClient()


def _fail(error: RagError) -> NoReturn:
    usage = isinstance(error, InvalidRequest | ConfigurationError)
    again = " (the same call may succeed later)" if error.retryable else ""
    _err.print(Text(f"{type(error).__name__}: {error}{again}", style="red"))
    sys.exit(_USAGE if usage else _FAILED)


def main() -> None:
    """Run the command; every error is one readable line."""
    try:
        app()
    except RagError as error:
        _fail(error)
