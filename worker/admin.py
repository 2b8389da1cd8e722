"""The operator's commands: `python -m worker up | demo | model | check | rebuild`."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from producer.checkup import is_well
from producer.config import read, settings_table
from producer.errors import RagError
from producer.printing import print_findings
from worker.access import Right
from worker.checkup import examine
from worker.config import ModelServerConfig, WorkerConfig
from worker.demo import run_demo
from worker.embedded import Stack, forget_pids, note_pids, only_one, prepare, services
from worker.errors import FolderUnavailable, WorkerError
from worker.model_server import serve
from worker.runtime import current
from worker.supervisor import Supervisor

_START_SECONDS = 180.0
_WATCH_SECONDS = 0.5

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help="Run and look after rag-kit's workers.")
_console = Console(highlight=False)

DataFolder = Annotated[Path, typer.Option("--data", help="the folder that keeps everything")]


@app.command()
def up(data: DataFolder = Path(".rag")) -> None:
    """Start the whole stack on this machine, without Docker, and keep it running until ctrl-C."""
    with running_stack(data) as (stack, supervisor):
        _console.print(_how_to_use(stack), soft_wrap=True)
        while True:
            if supervisor.watch():
                note_pids(stack.folder, supervisor.pids())
            time.sleep(_WATCH_SECONDS)


@app.command()
def demo(
    documents: Annotated[Path, typer.Argument(help="a folder of documents", exists=True, file_okay=False)] = Path(
        "examples/handbook"
    ),
    questions: Annotated[
        Path, typer.Option(help="a file with one question a line", exists=True, dir_okay=False)
    ] = Path("examples/questions.txt"),
    data: DataFolder = Path(".rag/demo"),
) -> None:
    """Start the stack, ingest a folder, ask questions, and show what was thrown out of each answer."""
    traces = data.resolve() / "trace"
    os.environ["RAG_TRACE_DIR"] = str(traces)
    # The demo is its own only app.
    for variable in ("RAG_ACCESS_SECRET", "RAG_ACCESS_SECRET_FILE"):
        os.environ.pop(variable, None)
    with running_stack(data) as (stack, _):
        run_demo(stack.broker_url, documents=documents, questions=questions, traces=traces, console=_console)


@app.command()
def model() -> None:
    """Serve a GGUF file as an OpenAI-compatible server (RAG_MODEL_FILE, RAG_MODEL_HOST, RAG_MODEL_PORT)."""
    serve(read(ModelServerConfig))


@app.command()
def rebuild(
    collection: str,
    folder: Annotated[
        Path | None, typer.Option(help="its folder; default: the one in RAG_FOLDERS, else the one it is made from")
    ] = None,
    accept_loss: Annotated[bool, typer.Option(help="forget documents even where most of them are gone")] = False,
) -> None:
    """Read and embed a collection anew beside the live one, which goes on answering, and switch at the end."""
    runtime = current()
    known = runtime.store.facts(collection).folder
    source = folder or dict(runtime.config.folders).get(collection) or (Path(known) if known else None)
    with _console.status(f"rebuilding {collection}"):
        outcome = runtime.ingests.rebuild(source, collection=collection, accept_loss=accept_loss)
    _console.print(
        f"{collection}: {outcome.added + outcome.unchanged} documents, {outcome.chunks} chunks, "
        f"{len(outcome.refused)} refused"
    )


@app.command()
def move(collection: str, folder: Path) -> None:
    """Say that a collection is made from another folder from now on; the next ingest reads what differs there."""
    runtime = current()
    if not folder.is_dir():
        raise FolderUnavailable(f"the folder {folder} is missing or is no folder; check the path and the mount")
    runtime.store.generation(collection)
    facts = runtime.store.facts(collection)
    runtime.store.note(collection, replace(facts, folder=str(folder.resolve())))
    _console.print(f"{collection}: was made from {facts.folder or 'no folder'}, is made from {folder.resolve()}")


@app.command()
def check(
    as_json: Annotated[bool, typer.Option("--json", help="for machines")] = False,
    quick: Annotated[bool, typer.Option(help="without loading the embedder")] = False,
) -> None:
    """Say in plain words of all that runs here what is wrong and what to do; ends with 1 where something is."""
    from worker.inspection import inspect  # Celery's app reads the settings as soon as it is imported

    findings = examine(inspect(current(), quick=quick))
    if as_json:
        told = {"well": is_well(findings), "findings": [asdict(finding) for finding in findings]}
        print(json.dumps(told))  # noqa: T201 - JSON, not for rich
    else:
        print_findings(findings, console=_console)
    if not is_well(findings):
        raise typer.Exit(1)


@app.command()
def grant(
    name: Annotated[str, typer.Argument(help="the app's; it is told when its grant does not hold")],
    collections: Annotated[list[str], typer.Argument(help="may end in *, as clients-*")],
    may: Annotated[
        list[Right], typer.Option(help="ask; write: upload and delete documents; folders: ingest any of the worker's")
    ] = [Right.ASK],  # noqa: B006 - typer copies it
    days: Annotated[int | None, typer.Option(min=1, help="how long it holds; default: until the secret goes")] = None,
) -> None:
    """Print a grant, for RAG_GRANT of an app; workers that have RAG_ACCESS_SECRET serve no app without one."""
    until = None if days is None else time.time() + days * 86_400
    issued = current().access.issue(name, collections, may=[right.value for right in may], until=until)
    print(issued)  # noqa: T201 - to be copied whole, so not for rich


@app.command()
def settings() -> None:
    """Print the table of settings, as the README holds it."""
    print(settings_table(WorkerConfig, ModelServerConfig))  # noqa: T201 - Markdown, not for rich


@contextmanager
def running_stack(data: Path) -> Iterator[tuple[Stack, Supervisor]]:
    """Start every service, and stop all of them at the end, whatever ends it."""
    with only_one(data) as lock:
        stack = prepare(data)
        supervisor = Supervisor(stack.folder / "logs", say=_say, keep_open=(lock,))
        try:
            _start_all(stack, supervisor)
            yield stack, supervisor
        finally:
            with _console.status("stopping"):
                supervisor.stop()
            forget_pids(data)
            _console.print("stopped")


def _start_all(stack: Stack, supervisor: Supervisor) -> None:
    for service in services(stack, os.environ):
        with _console.status(f"starting {service.name}"):
            seconds = supervisor.start(service, timeout=_START_SECONDS)
        note_pids(stack.folder, supervisor.pids())
        _console.print(f"  [green]ready[/] {service.name:<7} {seconds:5.1f} s")
    stack.write_settings()


def _how_to_use(stack: Stack) -> str:
    password = stack.folder / "flower-password"
    return (
        f"\nThe stack is up. In another terminal:\n"
        f"  . {stack.settings_file}\n"
        f"  rag ingest FOLDER --collection NAME\n"
        f'  rag ask "..." --collection NAME\n'
        f"\n"
        f"Is all well?  rag check; and more with  . {stack.operator_file}; python -m worker check\n"
        f"Flower:       {stack.flower_url} (user operator, password in {password})\n"
        f"Prometheus:   {stack.metrics_url('answer')} and {stack.metrics_url('ingest')}\n"
        f"Logs:         {stack.folder / 'logs'}\n"
        f"\n"
        f"ctrl-C stops everything."
    )


def _say(words: str) -> None:
    _console.print(Text(words, style="yellow"))


def main() -> None:
    """Run a command; every foreseen error is one readable line; ctrl-C and SIGTERM end alike, quietly."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except (WorkerError, RagError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
