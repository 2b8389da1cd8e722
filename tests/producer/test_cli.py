"""The `rag` command as a person and as a script meet it; a thread answers in the worker's place."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from producer import cli
from producer.contract import Answer, DocumentList, DocumentState, IngestReport, Refusal, Source
from producer.names import ANSWER_QUEUE, INGEST_QUEUE, UPLOAD_PREFIX, WORKERS_PREFIX
from tests.producer.messages import arguments_of

ANSWER = Answer(
    question_id="q",
    text="It is $500.",
    sources=(Source(name="auto.pdf", page=3, heading=("Collision",), quote="The deductible is $500."),),
    sources_line="Sources: auto.pdf",
)
NOTHING = Answer(question_id="q", text="I don't have an answer for you.", abstained=True, reason="no_evidence")
REPORT = IngestReport(
    collection="handbook",
    added=2,
    refused=tuple(Refusal(name=f"{number}.pdf", reason="is encrypted") for number in range(7)),
    chunks=9,
    seconds=1.5,
)


@dataclass(frozen=True, slots=True)
class Ran:
    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def rag(redis_url, monkeypatch, capsys) -> Callable[..., Ran]:
    monkeypatch.setenv("RAG_BROKER_URL", redis_url)

    def run(*arguments: str) -> Ran:
        monkeypatch.setattr("sys.argv", ["rag", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return Ran(ended.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def worker(backend):
    """Call it with what each task gives, perhaps by its message; what was sent is in the list that it yields."""

    @contextmanager
    def working(queue: str, *results: Any):
        taken: list[dict[str, Any]] = []

        def work() -> None:
            for result in results:
                message = backend.redis.brpop(queue, timeout=4)
                taken.append(arguments_of(message[1])["message"])
                result = result(taken[-1]) if callable(result) else result
                if isinstance(result, dict):
                    backend.tell(taken[-1]["id"], "SUCCESS", result)
                else:
                    error, reason, retryable = result
                    backend.fail(taken[-1]["id"], error, reason, retryable=retryable)

        thread = threading.Thread(target=work)
        thread.start()
        yield taken
        thread.join()

    return working


def listen(server, *faults: str) -> None:
    told = json.dumps({"told_at": time.time(), "node": "n@spark", "concurrency": 8, "faults": list(faults)})
    for queue in (ANSWER_QUEUE, INGEST_QUEUE):
        server.hset(WORKERS_PREFIX + queue, "n@spark", told)


# --- ask ------------------------------------------------------------------------------------------


def test_an_answer_is_printed_with_its_sources_and_where_they_say_it(rag, worker):
    with worker(ANSWER_QUEUE, ANSWER.to_dict()):
        ran = rag("ask", "What is the deductible?", "-c", "handbook")
    assert ran.exit_code == 0
    assert ran.stdout.splitlines() == [
        "It is $500.",
        "Sources: auto.pdf",
        '  auto.pdf, page 3, Collision: "The deductible is $500."',
    ]


def test_no_answer_ends_with_three_and_says_why_in_a_sentence(rag, worker):
    with worker(ANSWER_QUEUE, NOTHING.to_dict()):
        ran = rag("ask", "How do I bake bread?", "-c", "handbook")
    assert ran.exit_code == 3
    assert ran.stdout.strip() == "I don't have an answer for you."
    assert "no document of the collection is near enough" in ran.stderr


def test_an_answer_as_json_is_the_whole_message(rag, worker):
    with worker(ANSWER_QUEUE, ANSWER.to_dict()):
        ran = rag("ask", "What?", "-c", "handbook", "--json")
    assert Answer.from_dict(json.loads(ran.stdout)) == ANSWER


def test_the_filters_of_the_command_line_reach_the_worker(rag, worker):
    words = ["--document", "*.pdf", "--document", "a.md", "--folder", "taxes", "--tag", "approved"]
    with worker(ANSWER_QUEUE, ANSWER.to_dict()) as taken:
        rag("ask", "What?", "-c", "handbook", *words)
    assert taken[0]["filters"]["names"] == ["*.pdf", "a.md"]
    assert (taken[0]["filters"]["folder"], taken[0]["filters"]["tags"]) == ("taxes", ["approved"])


def test_a_failure_is_one_readable_line(rag, worker):
    with worker(ANSWER_QUEUE, ("ModelUnavailable", "the model server does not answer", True)):
        ran = rag("ask", "What?", "-c", "handbook")
    assert ran.exit_code == 1
    told, task = ran.stderr.splitlines()
    assert told == "ModelUnavailable: the model server does not answer (the same call may succeed later)"
    assert task.startswith("id: ")
    assert "Traceback" not in ran.stderr


def test_a_failure_as_json_is_json_too(rag, worker):
    with worker(ANSWER_QUEUE, ("ModelUnavailable", "the model server does not answer", True)):
        ran = rag("ask", "What?", "-c", "handbook", "--json")
    told = json.loads(ran.stdout)
    assert (ran.exit_code, told["error"], told["retryable"]) == (1, "TaskFailed", True)


def test_wrong_usage_ends_with_two(rag):
    assert rag("ask", "What?", "-c", "No Such Name!").exit_code == 2
    assert rag("ask", "What?").exit_code == 2


def test_a_question_that_nobody_takes_up_says_that_nobody_listens(rag):
    ran = rag("ask", "What?", "-c", "handbook", "--timeout", "0.3")
    assert ran.exit_code == 1
    assert "expired" in ran.stderr.lower() or "no worker listens" in ran.stderr


# --- ingest, documents, delete --------------------------------------------------------------------


def test_an_ingest_prints_its_id_and_its_refused_files_by_reason(rag, worker, tmp_path):
    with worker(INGEST_QUEUE, REPORT.to_dict()) as taken:
        ran = rag("ingest", str(tmp_path), "-c", "handbook")
    assert ran.exit_code == 0
    assert taken[0]["folder"] == str(tmp_path)
    assert f"id: {taken[0]['id']}" in ran.stderr
    assert "2 added" in ran.stdout
    assert "  encrypted:\n    0.pdf, 1.pdf, 2.pdf, 3.pdf, 4.pdf and 2 more" in ran.stdout


def test_a_file_is_uploaded_with_its_tags(rag, worker, server, tmp_path):
    (tmp_path / "rates.md").write_text("The rate is 5%.")
    with worker(INGEST_QUEUE, REPORT.to_dict()) as taken:
        rag("ingest", str(tmp_path / "rates.md"), "-c", "handbook", "--tag", "rates")
    assert (taken[0]["name"], taken[0]["tags"]) == ("rates.md", ["rates"])
    assert server.get(UPLOAD_PREFIX + taken[0]["id"]) == "The rate is 5%."


def test_an_ingest_that_nobody_waits_for_prints_its_id_alone(rag, tmp_path):
    ran = rag("ingest", str(tmp_path), "-c", "handbook", "--no-wait")
    assert "queued" in rag("status", ran.stdout.strip()).stdout


def test_tags_for_a_folder_are_refused(rag, tmp_path):
    ran = rag("ingest", str(tmp_path), "-c", "handbook", "--tag", "a")
    assert (ran.exit_code, "not to a folder" in ran.stderr) == (2, True)


def test_documents_are_listed_and_deleted_by_name(rag, worker):
    name = f"{'long ' * 30}rates.pdf"
    state = DocumentState(name=name, state="indexed", chunks=12, size=34_000, tags=("rates",))
    listed = DocumentList(
        collection="handbook", folder="/srv/handbook", warning="it is gone", ingested_at=1.8e9, documents=(state,)
    )
    with worker(ANSWER_QUEUE, listed.to_dict()):
        ran = rag("documents", "handbook")
    assert all(
        word in ran.stdout
        for word in (
            name,
            "1 of 1 documents are indexed",
            "12",
            "34",
            "/srv/handbook",
            "last ingested 2027",
            "it is gone",
        )
    )
    with worker(INGEST_QUEUE, IngestReport(collection="handbook", removed=1).to_dict()) as taken:
        ran = rag("delete", "rates.pdf", "-c", "handbook")
    assert (taken[0]["name"], "1 removed" in ran.stdout) == ("rates.pdf", True)


def test_a_document_that_is_not_there_is_not_deleted_in_silence(rag, worker):
    with worker(INGEST_QUEUE, IngestReport(collection="handbook").to_dict()):
        ran = rag("delete", "rates.pdf", "-c", "handbook")
    assert (ran.exit_code, ran.stdout.strip()) == (1, "")
    assert "handbook holds no 'rates.pdf'" in ran.stderr


# --- status, cancel -------------------------------------------------------------------------------


def test_the_status_of_a_finished_ingest_shows_its_report(rag, worker, tmp_path):
    with worker(INGEST_QUEUE, REPORT.to_dict()) as taken:
        rag("ingest", str(tmp_path), "-c", "handbook")
    ran = rag("status", taken[0]["id"])
    assert "succeeded" in ran.stdout
    assert "2 added" in ran.stdout


def test_the_status_of_an_answered_question_shows_the_answer(rag, worker):
    with worker(ANSWER_QUEUE, ANSWER.to_dict()) as taken:
        rag("ask", "What is the deductible?", "-c", "handbook")
    first, *answer = rag("status", taken[0]["id"]).stdout.splitlines()
    assert first == f"question {taken[0]['id']}: succeeded"
    assert answer[:2] == ["It is $500.", "Sources: auto.pdf"]


def test_the_status_of_an_unknown_id_says_so(rag):
    assert "unknown" in rag("status", "no-such-id").stdout
    assert json.loads(rag("status", "no-such-id", "--json").stdout)["state"] == "unknown"


def test_what_is_cancelled_says_so(rag, tmp_path):
    queued = rag("ingest", str(tmp_path), "-c", "handbook", "--no-wait").stdout.strip()
    assert "cancelled" in rag("cancel", queued).stdout
    assert "nothing to cancel" in rag("cancel", "no-such-id").stdout


# --- check ----------------------------------------------------------------------------------------


def test_check_says_that_nobody_listens_and_how_many_wait(rag, tmp_path):
    rag("ingest", str(tmp_path), "-c", "handbook", "--no-wait")
    ran = rag("check")
    assert ran.exit_code == 1
    assert f"✗ ingest worker: nobody listens on {INGEST_QUEUE}, 1 waiting" in ran.stdout


def test_check_is_content_where_workers_listen(rag, server):
    listen(server)
    ran = rag("check")
    assert ran.exit_code == 0
    assert "✓ answer worker: n@spark on spark.answer, 8 at once, nothing waits" in ran.stdout
    assert "✓ Redis: answers" in ran.stdout


def test_check_passes_on_what_a_worker_complains_of(rag, server):
    listen(server, "the local model does not answer; start its server")
    ran = rag("check", "--json")
    told = json.loads(ran.stdout)
    assert (ran.exit_code, told["well"]) == (1, False)
    assert any("the local model does not answer" in finding["found"] for finding in told["findings"])


def test_check_says_that_redis_is_away(rag, monkeypatch):
    monkeypatch.setenv("RAG_BROKER_URL", "redis://127.0.0.1:9/0")
    ran = rag("check")
    assert ran.exit_code == 1
    assert "✗ Redis: " in ran.stdout
    assert "RAG_BROKER_URL" in ran.stdout


# --- eval -----------------------------------------------------------------------------------------


def test_eval_says_what_is_missing_from_which_answer(rag, worker, tmp_path):
    file = tmp_path / "questions.jsonl"
    rows = [
        {"question": "What is the deductible?", "documents": ["auto.pdf"], "contains": ["$500"]},
        {"question": "And the premium?", "documents": ["home.pdf"], "contains": ["$900"]},
        {"question": "Bread?", "abstains": True},
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    answers = {"What is the deductible?": ANSWER, "And the premium?": ANSWER, "Bread?": NOTHING}
    with worker(ANSWER_QUEUE, *([lambda question: answers[question["text"]].to_dict()] * 3)):
        ran = rag("eval", str(file), "-c", "handbook", "--json")
    told = json.loads(ran.stdout)
    assert (ran.exit_code, told["as_expected"]) == (4, 2)
    assert [row["missed"] for row in told["questions"]] == [
        [],
        ["home.pdf is no source", "'$900' is not in the answer"],
        [],
    ]


def test_eval_is_content_where_all_is_as_expected(rag, worker, tmp_path):
    file = tmp_path / "questions.csv"
    file.write_text("question,documents,contains\nWhat is it?,auto.pdf,500;it is\n")
    with worker(ANSWER_QUEUE, ANSWER.to_dict()):
        ran = rag("eval", str(file), "-c", "handbook")
    assert (ran.exit_code, "1 of 1 as expected" in ran.stdout) == (0, True)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.jsonl", "{", "line 1: no JSON"),
        ("a.jsonl", '{"text": "What?"}', "line 1: it has no question"),
        ("a.jsonl", '{"question": "What?", "documents": "a.pdf"}', "documents is no list"),
        ("a.jsonl", "", "holds no question"),
        ("a.csv", "question\n \n", "line 2: it has no question"),
    ],
)
def test_a_file_of_questions_that_cannot_be_read_is_refused_by_its_line(rag, tmp_path, name, text, told):
    (tmp_path / name).write_text(text)
    ran = rag("eval", str(tmp_path / name), "-c", "handbook")
    assert (ran.exit_code, told in ran.stderr) == (2, True)


def test_the_shells_completion_can_be_had(rag):
    assert "--install-completion" in rag("--help").stdout
