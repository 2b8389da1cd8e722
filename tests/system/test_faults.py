"""What is killed, cut off, frozen or full loses no task and does none twice: the stack's own processes, under faults.

The list of what goes wrong with Celery on Redis, by code, and where each is held here. A test's name begins with its
code; the rest cannot happen, and why:

    A1  test_A4_... here, test_chaos.py       A8  nobody deletes bindings; a direct queue needs none to be sent to
    A2  test_transport.py                     A9  test_transport.py
    A3  here                                  A10 here
    A4  here and test_delivery.py             A11 test_chaos.py
    A5  test_C1_... here                      A12 here
    A6  here, test_transport, test_liveness   A13 the database is rag-kit's own (README)
    A7  test_chaos.py kills Redis

    B1  here                                  B5  nobody sends a second signal: compose and supervisor send TERM, KILL
    B2  nothing is sent with a countdown      B6  here and test_nights.py
    B3  here, test_transport, test_delivery   B7  workers alone sweep sooner than Flower's hour; see A2
    B4  here                                  B8  an ingest replaces each document in one step (test_ingest.py)

    C1  here and test_transport.py            C8  test_liveness.py
    C2  test_C1_... goes on to ask            C9  a cancelled question is a key in Redis, no revoke in memory
    C3  broker_connection_max_retries None    C10 no priorities: two queues, two workers
    C4  producer: tests/producer              C11 test_nights.py; here, beat catches up
    C5  producer: tests/producer              C12 no chords, no groups
    C6  no solo pool                          C13 the stack starts Redis first; broker_connection_retry_on_startup
    C7  test_liveness.py; deadlines in tasks  C14 the ingest worker's child builds the embedder after the fork

    D1, D2, D3, D4, D5  producer: it has no result backend, and receipts tell states apart (tests/producer)
    D6  benchmarks.load_test                  D7  result_expires
    D8  --without-gossip --without-mingle     E1-E7 tests/system/test_stack.py, test_compose.py; E6 here
"""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kombu import Connection
from redis import ResponseError

from benchmarks.crew import Crew
from benchmarks.scripted_model import ScriptedModel
from producer import RagClient, TaskFailed
from producer.names import ANSWER_QUEUE, ANSWER_TASK, NIGHTLY_TASK
from worker.journal import Journal
from worker.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

VISIBILITY = 4
MANY = 300
CANARY = "Zanzibarcanary"


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    model = ScriptedModel()
    yield model
    model.stop()


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plans")
    for number in range(40):
        (folder / f"plan-{number}.md").write_text(f"The deductible of plan {number} is $1,{number:03}.\n")
    return folder


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that takes some seconds to ingest."""
    folder = tmp_path_factory.mktemp("many")
    for number in range(MANY):
        (folder / f"note-{number}.md").write_text(f"Note {number} of many.\n" * 50)
    return folder


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel, plans: Path) -> Iterator[Crew]:
    settings = {
        "RAG_LOCAL_URL": model.url,
        "RAG_ANSWER_CONCURRENCY": "4",
        "RAG_FOLDERS": f"night={plans}",
        "LIGHT_VISIBILITY": str(VISIBILITY),
    }
    crew = Crew(tmp_path_factory.mktemp("crew"), app="benchmarks.light", settings=settings)
    try:
        crew.start("redis", "answer", "ingest")
        with RagClient(crew.url) as client:
            client.ingest(str(plans), collection="plans").get(60)
        yield crew
    finally:
        crew.stop()


@pytest.fixture
def client(crew: Crew) -> Iterator[RagClient]:
    with RagClient(crew.url) as client:
        yield client


@pytest.fixture
def ask(client: RagClient, model: ScriptedModel):
    """Ask, with words by which the model knows the question again."""
    model.asked.clear()
    model.seconds = 0.0

    def ask(number: int, words: str = ""):
        return client.ask(f"What is the deductible of plan {number}? {words}", collection="plans")

    return ask


def wait_until(happened, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


def test_C1_A5_a_restart_of_redis_costs_the_tasks_in_hand_nothing(crew, ask, model):
    model.seconds = 1.5
    pid = crew.pid("answer")
    tickets = [ask(number) for number in range(2)]
    wait_until(lambda: len(model.asked) == 2)
    crew.restart("redis", pause=2.5)  # they are answered while it is away
    assert ["$1,00" in ticket.get(60).text for ticket in tickets] == [True, True]
    assert "$1,002" in ask(2).get(60).text
    assert crew.pid("answer") == pid
    assert set(model.asked.values()) == {1}


def test_B1_B3_a_long_question_is_done_once_though_every_connection_is_cut(crew, ask, model):
    model.seconds = VISIBILITY + 2
    pid = crew.pid("answer")
    ticket = ask(3)
    wait_until(lambda: len(model.asked) == 1)
    with crew.client() as redis:
        redis.client_kill_filter(skipme=True, _type="normal")
        assert "$1,003" in ticket.get(60).text
        wait_until(lambda: redis.hlen("unacked") == 0)
    assert crew.pid("answer") == pid
    assert set(model.asked.values()) == {1}


def test_B4_what_has_succeeded_is_not_done_again_though_its_acknowledgement_was_lost(crew, ask, model):
    model.seconds = 0.5
    ticket = ask(4)
    with crew.client() as redis:
        wait_until(lambda: redis.hlen("unacked") == 1)
        (note,) = redis.hgetall("unacked").items()
        ticket.get(60)
        wait_until(lambda: redis.hlen("unacked") == 0)
        redis.hset("unacked", *note)
        redis.zadd("unacked_index", {note[0]: 1})
        wait_until(lambda: redis.hlen("unacked") == 0 and redis.llen(ANSWER_QUEUE) == 0)
    assert "$1,004" in ticket.get(60).text
    assert set(model.asked.values()) == {1}


def test_after_a_full_disk_a_worker_has_redis_write_its_file_anew(crew):
    with crew.client() as redis:
        before = redis.info("persistence")["aof_rewrites"]
        with pytest.raises(ResponseError):
            redis.eval("return redis.error_reply('MISCONF as of a full disk')", 0)
        wait_until(lambda: redis.info("persistence")["aof_rewrites"] > before)


def test_A4_a_question_that_kills_its_worker_a_third_time_is_abandoned_and_the_others_are_answered(crew, ask, model):
    model.seconds = 1.0
    model.on_question = lambda question: "poison" in question and crew.signal("answer", signal.SIGKILL)
    try:
        with crew.watching():
            poison, other = ask(5, "poison"), ask(6)
            journal = Journal(crew.url)
            for _ in range(2):
                journal.note_start(poison.id)  # it has killed two already
            with pytest.raises(TaskFailed, match="TaskAbandoned"):
                poison.get(90)
            assert "$1,006" in other.get(90).text
    finally:
        model.on_question = lambda question: None


def test_A12_a_stop_ends_what_runs_and_puts_the_rest_back(crew, ask, model):
    model.seconds = 0.7
    tickets = [ask(number) for number in range(10)]
    wait_until(lambda: len(model.asked) == 4)
    crew.end("answer")
    with crew.client() as redis:
        assert redis.hlen("unacked") == 0
        assert redis.llen(ANSWER_QUEUE) == 10 - len(model.asked) > 0
    crew.start("answer")
    assert all(f"$1,00{number}" in ticket.get(60).text for number, ticket in enumerate(tickets))
    assert set(model.asked.values()) == {1}


def test_a_stop_ends_an_ingest_between_documents_and_a_start_goes_on_with_the_rest(crew, client, many):
    ticket = client.ingest(str(many), collection="stopped")
    wait_until(lambda: ticket.status.progress is not None and ticket.status.progress.done > 2)
    crew.end("ingest")
    assert ticket.status.state == "queued"
    crew.start("ingest")
    report = ticket.get(60)
    assert report.unchanged > 2
    assert report.added + report.unchanged == MANY


def test_A3_an_ingest_whose_process_is_killed_is_done_by_the_next_one(crew, client, many):
    ticket = client.ingest(str(many), collection="killed")
    wait_until(lambda: ticket.status.progress is not None and ticket.status.progress.done > 2)
    crew.kill_children("ingest")
    report = ticket.get(60)
    assert report.added + report.unchanged == MANY


def send(crew: Crew, id: str, *, task: str, **options) -> None:
    """Send what no producer of ours sends."""
    headers = {"id": id, "task": task, "lang": "py"}
    with Connection(crew.url) as connection:
        connection.Producer().publish(headers=headers, routing_key=ANSWER_QUEUE, **options)


def test_E6_A10_what_is_pickled_damaged_or_unknown_is_refused_and_told(crew, client, ask):
    pid, body = crew.pid("answer"), [[], {"message": CANARY}, {}]
    send(crew, "pickled", task=ANSWER_TASK, body=body, serializer="pickle")
    send(crew, "damaged", task=ANSWER_TASK, body=b"{" + CANARY.encode(), content_type="application/json")
    send(crew, "unknown", task="rag.unknown", body=body, serializer="json")
    send(crew, "yaml", task=ANSWER_TASK, body=pickle.dumps(body), content_type="application/x-yaml")
    sent = ("pickled", "damaged", "unknown", "yaml")
    wait_until(lambda: all(client.status(task).state == "failed" for task in sent))  # nobody wrote a receipt
    assert {client.status(task).error for task in sent} == {"MessageRefused"}
    assert "$1,007" in ask(7).get(60).text
    assert crew.pid("answer") == pid
    assert CANARY not in crew.log("answer")


def test_B6_C11_however_many_beats_there_are_a_night_is_ingested_once(crew):
    crew.start("beat")
    wait_until(lambda: ingested_at(crew, "night") > 0)  # a missed night is made up for at the start
    first = ingested_at(crew, "night")
    crew.start_another("beat", "beat2")
    wait_until(lambda: len(re.findall(rf"{NIGHTLY_TASK}\[\S+\] succeeded", crew.log("ingest"))) == 2)
    assert ingested_at(crew, "night") == first
    crew.end("beat")
    crew.end("beat2")


def ingested_at(crew: Crew, collection: str) -> float:
    store = Store.connect(crew.url)
    try:
        return store.facts(collection).ingested_at
    finally:
        store.close()


def test_A6_a_redis_that_is_nearly_full_takes_questions_and_no_documents(crew, client, ask, plans):
    with crew.client() as redis:
        redis.config_set("maxmemory", int(redis.info("memory")["used_memory"] * 1.1))
        try:
            with pytest.raises(TaskFailed, match=r"RedisNearlyFull: .* MB, above 80%"):
                client.ingest(str(plans), collection="full").get(60)
            assert "$1,008" in ask(8).get(60).text
        finally:
            redis.config_set("maxmemory", 0)


def test_a_worker_does_not_start_on_a_redis_that_evicts(crew):
    with crew.client() as redis:
        redis.config_set("maxmemory-policy", "allkeys-lru")
        try:
            crew.start_another("answer", "evicted")
            wait_until(lambda: crew.ended("evicted"))
        finally:
            redis.config_set("maxmemory-policy", "noeviction")
    assert "CONFIG SET maxmemory-policy noeviction" in crew.log("evicted")


def test_nobodys_words_and_no_fault_of_ours_are_in_a_log(crew):
    for name in ("answer", "ingest"):
        log = crew.log(name)
        assert "deductible" not in log
        assert "Unrecoverable" not in log
        assert "unforeseen" not in log


def test_where_processors_are_short_an_ingest_goes_behind_a_question(crew):
    niceness = {os.getpriority(os.PRIO_PROCESS, child) for child in crew.children("ingest")}
    assert min(niceness) > os.getpriority(os.PRIO_PROCESS, crew.pid("answer"))


def test_a_workers_signs_of_life_are_files(crew):
    for kind in ("alive", "ready"):
        assert {path.name for path in (crew.stack.folder / kind).iterdir()} >= {"answer", "ingest"}
    assert json.loads((crew.stack.folder / "ready" / "answer").read_text()) == crew.pid("answer")
