"""The `rag` command: ask, ingest, list, delete and look after things from a shell.

Exit codes: 0 answered or done, 1 failed, 2 wrong usage, 3 the documents hold no answer, 4 some answers are not as
expected, 130 interrupted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

try:
    import typer
    from rich.console import Console
    from rich.progress import track
    from rich.text import Text
except ImportError:
    sys.exit("The `rag` command needs two more packages: pip install 'rag-kit[cli]'")

from dataclasses import asdict

from producer.checkup import examine, is_well, unreachable
from producer.client import RagClient, Ticket
from producer.contract import ENDED, Filters, IngestReport, TaskStatus
from producer.errors import BrokerUnavailable, ConfigurationError, InvalidRequest, RagError, TaskError
from producer.evaluation import evaluate, read_expectations
from producer.printing import (
    follow,
    print_answer,
    print_documents,
    print_findings,
    print_judgements,
    print_report,
)

_FAILED, _USAGE, _NO_ANSWER, _UNEXPECTED, _INTERRUPTED = 1, 2, 3, 4, 130

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help="Ask your documents; see what was used.")
# Lines are for other programs too: the terminal breaks them, nobody else does.
_UNBROKEN = 10_000
_out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else _UNBROKEN)
_err = Console(stderr=True, highlight=False, soft_wrap=True)

Collection = Annotated[str, typer.Option("--collection", "-c", help="the documents' collection")]
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON object")]
Connector = Annotated[str | None, typer.Option(help="local (the default), claude or extract")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="a tag; may be given several times")]


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="the question, in quotation marks", show_default=False)],
    collection: Collection,
    connector: Connector = None,
    policy: Annotated[
        str | None, typer.Option(help="strict (the default) removes unsupported sentences, flag only marks them")
    ] = None,
    document: Annotated[
        list[str] | None, typer.Option(help="only from documents of this name, * and ? allowed; several times")
    ] = None,
    folder: Annotated[str, typer.Option(help="only from documents in this folder of the collection")] = "",
    tag: Annotated[list[str] | None, typer.Option(help="only from documents with this tag; several times")] = None,
    timeout: Annotated[float, typer.Option(help="seconds to wait")] = 120.0,
    as_json: AsJson = False,
) -> None:
    """Ask one question and print the checked answer with the documents that it used."""
    filters = Filters(names=tuple(document or ()), folder=folder, tags=tuple(tag or ()))
    with RagClient() as client:
        ticket = client.ask(
            question,
            collection=collection,
            connector=connector,
            policy=policy,
            filters=None if filters == Filters() else filters,
            deadline=timeout,
        )
        try:
            answer = ticket.get(timeout=timeout)
        except KeyboardInterrupt:
            ticket.cancel()
            _err.print("cancelled")
            raise
    if as_json:
        _print_json(answer.to_dict())
    else:
        print_answer(answer, console=_out, notes=_err)
    raise typer.Exit(_NO_ANSWER if answer.abstained else 0)


@app.command()
def ingest(
    path: Annotated[
        str,
        typer.Argument(help="a folder, as the ingest worker sees it; or a file, to upload it", show_default=False),
    ],
    collection: Collection,
    tag: Tags = None,
    wait: Annotated[bool, typer.Option(help="wait for the end and print the report")] = True,
    as_json: AsJson = False,
) -> None:
    """Make a folder the content of a collection, or put one file into it."""
    with RagClient() as client:
        ticket = _sent(client, path, collection, tag or [])
        if not wait:
            _print_json({"id": ticket.id}) if as_json else _out.print(ticket.id)
            return
        _err.print(Text(f"id: {ticket.id}", style="dim"))
        try:
            _show(follow(ticket, console=_err), as_json)
        except KeyboardInterrupt:
            _err.print(f"it goes on in the worker; `rag cancel {ticket.id}` ends it")
            raise


def _sent(client: RagClient, path: str, collection: str, tags: list[str]) -> Ticket[IngestReport]:
    file = Path(path)
    if file.is_file():
        return client.ingest_bytes(file.name, file.read_bytes(), collection=collection, tags=tags)
    if tags:
        raise InvalidRequest("tags are given to a file, not to a folder")
    return client.ingest(str(file.absolute()) if path.strip() else "", collection=collection)


@app.command()
def documents(
    collection: Annotated[str, typer.Argument(help="the documents' collection", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """List what is stored in a collection."""
    with RagClient() as client:
        found = client.documents(collection).get()
    _print_json(found.to_dict()) if as_json else print_documents(found, console=_out)


@app.command()
def delete(
    name: Annotated[str, typer.Argument(help="the document's name, as `rag documents` lists it", show_default=False)],
    collection: Collection,
    as_json: AsJson = False,
) -> None:
    """Take one document out of a collection: no answer is made from it any more."""
    with RagClient() as client:
        report = follow(client.delete(name, collection=collection), console=_err)
    if report.removed or as_json:
        _show(report, as_json)
    else:
        _err.print(Text(f"{collection} holds no {name!r}; `rag documents {collection}` lists what it holds"))
    raise typer.Exit(0 if report.removed else _FAILED)


@app.command()
def status(
    id: Annotated[str, typer.Argument(help="the id of a question or an ingest", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Say what is known of a question or an ingest."""
    with RagClient() as client:
        known = client.status(id)
        if as_json:
            _print_json(known.to_dict())
            return
        _out.print(_standing(known))
        if (known.kind, known.state) == ("ingest", "succeeded"):
            print_report(client.ticket(id, IngestReport).get(), console=_out)
        if (known.kind, known.state) == ("answer", "succeeded"):
            print_answer(client.ticket(id).get(), console=_out, notes=_err)


@app.command()
def cancel(
    id: Annotated[str, typer.Argument(help="the id of a question or an ingest", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Say that nobody wants a question's answer, or the rest of an ingest, any more."""
    with RagClient() as client:
        ticket = client.ticket(id)
        ticket.cancel()
        known = ticket.status
    over = "; there was nothing to cancel" if known.state in ENDED - {"cancelled"} else ""
    _print_json(known.to_dict()) if as_json else _out.print(_standing(known).append(over))


def _standing(known: TaskStatus) -> Text:
    kind = {"": "task", "answer": "question"}.get(known.kind, known.kind)
    return Text(f"{kind} {known.id}: {known.words}")


@app.command()
def check(as_json: AsJson = False) -> None:
    """Say in plain words whether questions can be answered, what is wrong and what to do."""
    try:
        with RagClient() as client:
            findings = examine(client.survey())
    except BrokerUnavailable as error:
        findings = [unreachable(str(error))]
    if as_json:
        _print_json({"well": is_well(findings), "findings": [asdict(finding) for finding in findings]})
    else:
        print_findings(findings, console=_out)
    raise typer.Exit(0 if is_well(findings) else _FAILED)


@app.command("eval")
def evaluate_answers(
    file: Annotated[Path, typer.Argument(help="JSON lines or CSV: question, documents, contains, abstains")],
    collection: Collection,
    connector: Connector = None,
    timeout: Annotated[float, typer.Option(help="seconds that each question may take")] = 120.0,
    as_json: AsJson = False,
) -> None:
    """Ask the questions of FILE and compare the answers with what it says that they should hold."""
    expectations = read_expectations(file)
    with RagClient() as client:
        judged = evaluate(client, expectations, collection=collection, deadline=timeout, connector=connector)
        judgements = list(track(judged, "asking", total=len(expectations), console=_err))
    good = sum(judgement.is_as_expected for judgement in judgements)
    if as_json:
        _print_json({"as_expected": good, "questions": [asdict(judgement) for judgement in judgements]})
    else:
        print_judgements(judgements, console=_out)
    raise typer.Exit(0 if good == len(judgements) else _UNEXPECTED)


def _show(report: IngestReport, as_json: bool) -> None:
    _print_json({**report.to_dict(), "files": report.files}) if as_json else print_report(report, console=_out)


def _print_json(value: dict[str, Any]) -> None:
    _out.print(json.dumps(value, ensure_ascii=False, indent=2), markup=False)


def _fail(error: RagError) -> NoReturn:
    """Tell an error in one readable line, and as JSON where JSON was asked for."""
    usage = isinstance(error, InvalidRequest | ConfigurationError)
    again = " (the same call may succeed later)" if error.retryable else ""
    if "--json" in sys.argv:
        _print_json({"error": type(error).__name__, "message": str(error), "retryable": error.retryable})
    words = error.words if isinstance(error, TaskError) else f"{type(error).__name__}: {error}"
    _err.print(Text(f"{words}{again}", style="red"))
    if isinstance(error, TaskError):
        _err.print(Text(f"id: {error.task_id}", style="dim"))
    sys.exit(_USAGE if usage else _FAILED)


def main() -> None:
    """Run the command."""
    try:
        app()
    except RagError as error:
        _fail(error)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
