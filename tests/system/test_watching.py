"""What an operator sees of a running stack: figures, events, spans, log lines; and in none of them a client's word.

The whole stack of `python -m worker up`, Redis' roles included; only the model's words are scripted.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from celery import Celery
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider

from producer import RagClient, TaskFailed
from producer.contract import Answer, IngestReport
from producer.names import ANSWER_QUEUE, ANSWER_TASK
from tests.system.conftest import ROOT, RunningStack, start, stop
from tests.wire import Wire, completion, send_bytes, send_json, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

CANARIES = {
    "question": "canaryquestion",
    "document": "canarydocument",
    "name": "canaryname",
    "answer": "canaryanswer",
    "exception": "canaryexception",
}
NAME = f"{CANARIES['name']}.md"
SENTENCE = f"The allowance of the {CANARIES['document']} plan is $4,321 a year."


@dataclass(slots=True)
class Seen:
    """Everything that an operator could have looked at, and what the clients got."""

    pages: dict[str, str] = field(default_factory=dict)
    events: str = ""
    spans: list[ExportTraceServiceRequest] = field(default_factory=list)
    logs: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)
    answer: Answer | None = None
    report: IngestReport | None = None
    ids: dict[str, str] = field(default_factory=dict)
    trace: str = ""


class Collector:
    """An OpenTelemetry collector: keeps what it is sent."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        kept = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") != "gzip":
                    kept.append(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Events:
    """Listens to the workers' events, as Flower does, with Flower's user."""

    def __init__(self, url: str) -> None:
        self._app = Celery("listener", broker=url, set_as_current=False)
        self.received: list[dict[str, object]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._app.close()

    def _listen(self) -> None:
        with self._app.connection_for_read() as connection:
            receiver = self._app.events.Receiver(connection, handlers={"*": self.received.append})
            with receiver.consumer_context() as (own_connection, _channel, _consumers):
                while not self._stop.is_set():
                    with suppress(TimeoutError):
                        own_connection.drain_events(timeout=0.3)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """Drive one stack through an ingest, an answer, a refusal and failures, and keep all that can be seen of it."""
    folder = tmp_path_factory.mktemp("watched")
    collector = Collector()
    with serving() as wire:
        wire.say(send_json(completion("unused")))
        settings = {
            "RAG_LOCAL_URL": f"{wire.url}/v1",
            "RAG_LOG_FORMAT": "json",
            "RAG_SPANS_URL": collector.url,
            "OTEL_BSP_SCHEDULE_DELAY": "200",
        }
        stack = start(folder / "up", settings)
        try:
            yield watch(stack, wire, collector, folder)
        finally:
            stop(stack)
            collector.close()


def watch(stack: RunningStack, wire: Wire, collector: Collector, folder: Path) -> Seen:
    seen = Seen()
    events = Events(role_url(stack, "flower"))
    with TracerProvider().get_tracer("runway").start_as_current_span("a client asks") as span:
        drive(stack, wire, folder, seen)
    seen.trace = f"{span.get_span_context().trace_id:032x}"
    time.sleep(1.5)  # spans and events travel on their own
    look(stack, seen)
    events.close()
    seen.events = json.dumps(events.received)
    seen.spans = collector.requests
    return seen


def drive(stack: RunningStack, wire: Wire, folder: Path, seen: Seen) -> None:
    documents = folder / "documents"
    documents.mkdir()
    (documents / NAME).write_text(SENTENCE)
    (documents / "notes.md").write_text("The library opens at nine.")
    question = f"What is the allowance, {CANARIES['question']}?"
    broken = send_bytes(b"<html>" + CANARIES["exception"].encode())
    with RagClient(stack.broker_url) as client:
        seen.report = client.ingest(str(documents), collection="watched").get(timeout=120)
        wire.say(send_json(completion("I don't have an answer for you.")))
        client.ask(f"{question} Who?", collection="watched", min_score=-1).get(timeout=120)
        wire.say(broken)
        ticket = client.ask(question, collection="watched", min_score=-1)
        seen.ids["failed"] = ticket.id
        with pytest.raises(TaskFailed):
            ticket.get(timeout=120)
        seen.ids["malformed"] = send_malformed(stack)
        wire.say(send_json(completion(f"{SENTENCE} Only {CANARIES['answer']} pays $9,999.\nSources: {NAME}, x.pdf")))
        ticket = client.ask(question, collection="watched", min_score=-1)
        seen.ids["answered"] = ticket.id
        seen.answer = ticket.get(timeout=120)


def send_malformed(stack: RunningStack) -> str:
    """A message of an app that is wrong, and says a client's words in every field and header."""
    canary = CANARIES["exception"]
    message = {"text": {"no": canary}, "collection": "watched", "deadline": canary, "asked_at": [canary]}
    app = Celery("wrong", broker=role_url(stack, "worker"), set_as_current=False)
    sent = app.send_task(ANSWER_TASK, kwargs={"message": message}, queue=ANSWER_QUEUE, argsrepr="()", kwargsrepr="{}")
    with RagClient(stack.broker_url) as client:
        end = time.monotonic() + 60
        while client.status(sent.id).state != "failed":
            assert time.monotonic() < end
            time.sleep(0.2)
    app.close()
    return str(sent.id)


def role_url(stack: RunningStack, role: str) -> str:
    password = (stack.data / f"redis-password-{role}").read_text()
    return f"redis://{role}:{password}@127.0.0.1:{urllib.parse.urlsplit(stack.broker_url).port}/0"


def look(stack: RunningStack, seen: Seen) -> None:
    printed = stack.printed()
    flower = re.search(r"Flower: +(\S+)", printed)
    metrics = re.findall(r"http://\S+/metrics", printed)
    assert flower
    password = (stack.data / "flower-password").read_text()
    token = base64.b64encode(f"operator:{password}".encode()).decode()
    paths = ["/", "/workers", "/broker", "/tasks", "/api/tasks", "/api/workers", "/metrics"]
    paths += [
        f"{kind}/{task}" for kind in ("/task", "/api/task/info", "/api/task/result") for task in seen.ids.values()
    ]
    for path in paths:
        seen.pages[path] = page(flower[1] + path, token)
    for worker, url in zip(("answer", "ingest"), metrics, strict=True):
        seen.metrics[worker] = page(url)
    for log in (stack.data / "logs").iterdir():
        seen.logs[log.stem] = log.read_text(errors="replace")


def page(url: str, token: str = "") -> str:
    request = urllib.request.Request(url, headers={"Authorization": f"Basic {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return str(response.read().decode())
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"


def value(metrics: str, series: str) -> float:
    (line,) = [line for line in metrics.splitlines() if line.startswith(series + " ")]
    return float(line.rpartition(" ")[2])


def test_the_clients_got_what_the_canaries_were_in(seen: Seen):
    assert seen.report is not None
    assert seen.report.added == 2
    assert seen.answer is not None
    assert CANARIES["document"] in seen.answer.text
    assert seen.answer.sources_line == f"Sources: {NAME}"


@pytest.mark.parametrize("canary", CANARIES.values(), ids=CANARIES)
def test_no_client_word_is_on_any_page_in_any_event_span_figure_or_log_line(seen: Seen, canary: str):
    for path, text in {**seen.pages, **seen.metrics, **seen.logs}.items():
        assert canary not in text, path
    assert canary not in seen.events
    assert canary not in str(seen.spans)


def test_flower_cannot_show_a_result(seen: Seen):
    assert seen.pages[f"/api/task/result/{seen.ids['answered']}"].startswith("503")


def test_flower_names_tasks_and_states_as_an_operator_says_them(seen: Seen):
    tasks = json.loads(seen.pages["/api/tasks"])
    states = {(task["name"], task["state"]) for task in tasks.values()}
    assert {("rag.answer", "SUCCESS"), ("rag.answer", "FAILURE"), ("rag.ingest", "SUCCESS")} <= states
    assert tasks[seen.ids["failed"]]["exception"].startswith("TaskFailure('ModelAnswerInvalid'")


def test_an_ingest_tells_its_progress_as_events(seen: Seen):
    told = [event for event in json.loads(seen.events) if event["type"] == "task-progress"]
    assert (told[-1]["done"], told[-1]["total"], told[-1]["result"]) == (2, 2, "2 of 2 documents")


def test_questions_are_counted_by_outcome(seen: Seen):
    answer = seen.metrics["answer"]
    outcomes = ("answered", "refused", "failed", "expired")
    counted = {outcome: value(answer, f'rag_questions_total{{outcome="{outcome}"}}') for outcome in outcomes}
    assert counted == {"answered": 1, "refused": 1, "failed": 2, "expired": 0}
    assert value(answer, 'rag_refusals_total{reason="model_abstained"}') == 1
    assert value(answer, 'rag_failures_total{error="ModelAnswerInvalid",task="rag.answer"}') == 1


def test_what_was_thrown_out_is_counted(seen: Seen):
    assert value(seen.metrics["answer"], 'rag_dropped_citations_total{reason="not_shown"}') == 1
    assert value(seen.metrics["answer"], "rag_unsupported_figures_total") >= 1


def test_stages_waits_and_tokens_are_measured(seen: Seen):
    answer = seen.metrics["answer"]
    assert value(answer, "rag_queue_wait_seconds_count") == 2
    assert value(answer, 'rag_stage_seconds_count{stage="generate"}') == 2
    assert value(answer, 'rag_tokens_total{connector="local",kind="completion"}') >= 14


def test_redis_and_the_collections_are_measured(seen: Seen):
    answer = seen.metrics["answer"]
    assert value(answer, "rag_redis_up") == 1
    assert value(answer, "rag_redis_persistent") == 1
    assert value(answer, 'rag_index_rows{collection="watched"}') == 2
    assert value(answer, 'rag_index_bytes{collection="watched"}') > 2 * 384 * 4
    assert value(answer, f'rag_tasks_waiting{{queue="{ANSWER_QUEUE}"}}') == 0


def test_the_ingest_workers_child_counts_its_own_work(seen: Seen):
    ingest = seen.metrics["ingest"]
    assert value(ingest, 'rag_ingests_total{outcome="done"}') == 1
    assert value(ingest, 'rag_documents_total{outcome="added"}') == 2
    assert value(ingest, "rag_chunks_total") == 2


def test_every_log_line_of_the_workers_is_json_with_the_task_it_belongs_to(seen: Seen):
    lines = [json.loads(line) for line in seen.logs["answer"].splitlines() if line.startswith("{")]
    assert {"time", "level", "logger", "message"} <= set.intersection(*map(set, lines))
    assert any(seen.ids["answered"] in line["message"] for line in lines)


def test_a_trace_goes_from_the_apps_call_to_the_models_answer(seen: Seen):
    spans = [
        (span.trace_id.hex(), span.name, span.kind)
        for request in seen.spans
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    names = {name for trace, name, _ in spans if trace == seen.trace}
    assert {"run/rag.ingest", "run/rag.answer", "POST"} <= names


def listening() -> dict[str, str]:
    """Addresses of listening TCP sockets of this machine, by inode, as the kernel writes them."""
    rows = [
        line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    return {row[9]: row[1].partition(":")[0] for row in rows if row[3] == "0A"}


def test_no_process_of_the_stack_listens_beyond_the_loopback(stack: RunningStack):
    sessions = set(json.loads((stack.data / "pids.json").read_text()).values())
    inodes = {
        os.readlink(file).removeprefix("socket:[").removesuffix("]")
        for process in Path("/proc").glob("[0-9]*")
        if process.stat().st_uid == os.getuid() and session(process) in sessions
        for file in (process / "fd").iterdir()
        if os.readlink(file).startswith("socket:[")
    }
    addresses = {address for inode, address in listening().items() if inode in inodes}
    assert addresses == {"0100007F"}


def session(process: Path) -> int:
    """Each service is started in a session of its own, which its children share."""
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except OSError:
        return 0


def test_check_says_what_runs_and_that_it_runs(stack: RunningStack):
    words = shlex.split(".venv/bin/python -m worker check")
    ran = subprocess.run(
        [sys.executable, *words[1:], "--json"],
        cwd=ROOT,
        env=stack.operator_environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    told = json.loads(ran.stdout)
    subjects = {finding["subject"] for finding in told["findings"]}
    assert {"Redis", "Redis' disk", "answer worker", "ingest worker", "nightly job", "connector local"} <= subjects
    assert told["well"], ran.stdout
    assert ran.returncode == 0
