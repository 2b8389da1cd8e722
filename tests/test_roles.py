"""Redis' users, as docker-compose.yml makes them: each role does its own work and can do nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from producer import RagClient
from producer.errors import ConfigurationError
from producer.names import (
    ANSWER_QUEUE,
    INGEST_QUEUE,
    RECEIPT_PREFIX,
    RESULT_PREFIX,
    UPLOAD_PREFIX,
    WORKERS_PREFIX,
)
from worker.embedded import Stack, prepare, services
from worker.errors import StoreError
from worker.store import Store
from worker.supervisor import Supervisor

RESULT = RESULT_PREFIX + "somebodys-question"
ABOUT = "rag:{handbook}:about"

Try = Callable[[redis.Redis], object]

DENIED: dict[str, dict[str, Try]] = {
    "producer": {
        "writes a result": lambda r: r.set(RESULT, "forged"),
        "reads the questions of others": lambda r: r.lrange(ANSWER_QUEUE, 0, -1),
        "takes a question out of the queue": lambda r: r.brpop(ANSWER_QUEUE, timeout=1),
        "writes a result by a script": lambda r: r.eval("return redis.call('SET', KEYS[1], 1)", 1, RESULT),
        "reads questions by a script": lambda r: r.eval(
            "return redis.call('LRANGE', KEYS[1], 0, 9)", 1, ANSWER_QUEUE
        ),
        "says that a worker is there": lambda r: r.hset(WORKERS_PREFIX + ANSWER_QUEUE, "x", "{}"),
        "reads documents": lambda r: r.hgetall(ABOUT),
        "reads what another app uploaded": lambda r: r.get(UPLOAD_PREFIX + "x"),
        "lists keys": lambda r: r.keys("*"),
        "goes through all keys": lambda r: list(r.scan_iter()),
        "listens to everybody's results": lambda r: r.execute_command("PSUBSCRIBE", RESULT_PREFIX + "*"),
    },
    "flower": {
        "reads a result": lambda r: r.get(RESULT),
        "writes a result": lambda r: r.set(RESULT, "forged"),
        "reads questions": lambda r: r.lrange(ANSWER_QUEUE, 0, -1),
        "takes a question out of the queue": lambda r: r.brpop(ANSWER_QUEUE, timeout=1),
        "sends a task": lambda r: r.lpush(INGEST_QUEUE, "{}"),
        "reads documents": lambda r: r.hgetall(ABOUT),
        "listens to results": lambda r: r.execute_command("SUBSCRIBE", RESULT),
    },
    "beat": {
        "reads a result": lambda r: r.get(RESULT),
        "asks a question": lambda r: r.lpush(ANSWER_QUEUE, "{}"),
        "takes a task out of the queue": lambda r: r.brpop(INGEST_QUEUE, timeout=1),
        "reads documents": lambda r: r.hgetall(ABOUT),
        "reads receipts": lambda r: r.get(RECEIPT_PREFIX + "x"),
    },
    "worker": {
        "lists keys": lambda r: r.keys("*"),
    },
}
ALL: dict[str, Try] = {
    "empties the server": lambda r: r.flushall(),
    "changes its settings": lambda r: r.config_set("maxmemory-policy", "allkeys-lru"),
    "makes users": lambda r: r.acl_setuser("mallory", enabled=True),
    "stops it": lambda r: r.execute_command("SHUTDOWN", "NOSAVE"),
    "makes a copy of it": lambda r: r.execute_command("REPLICAOF", "NO", "ONE"),
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack's own Redis, and nothing else of it."""
    stack = prepare(tmp_path_factory.mktemp("roles") / "data")
    supervisor = Supervisor(stack.folder / "logs", say=print)
    supervisor.start(services(stack, {"PATH": os.environ["PATH"]})[0], timeout=30)
    yield stack
    supervisor.stop()


@pytest.mark.parametrize(
    ("role", "what"), [(role, what) for role, tries in DENIED.items() for what in {**tries, **ALL}]
)
def test_no_role_does_what_is_not_its_own(stack: Stack, role: str, what: str):
    with redis.Redis.from_url(stack.url(role)) as client, pytest.raises(redis.ResponseError, match="permission"):
        {**DENIED[role], **ALL}[what](client)


def test_an_app_sends_a_question_and_waits_for_its_result(stack: Stack):
    with RagClient(stack.url("producer")) as app, redis.Redis.from_url(stack.url("worker")) as worker:
        ticket = app.ask("What is the deductible?", collection="handbook")
        assert ticket.status.state == "queued"
        assert worker.llen(ANSWER_QUEUE) == 1
        worker.set(RESULT_PREFIX + ticket.id, '{"status": "SUCCESS", "result": {"question_id": "1", "text": "x"}}')
        assert ticket.get(timeout=5).text == "x"


def test_an_app_reads_the_stream_that_its_replies_go_to(stack: Stack):
    with (
        redis.Redis.from_url(stack.url("producer")) as app,
        redis.Redis.from_url(stack.url("worker")) as worker,
    ):
        worker.xadd("rag:reply:app", {"reply": "{}"})
        assert app.xlen("rag:reply:app") == 1


def test_a_worker_stores_documents_and_drops_them(stack: Stack):
    store = Store.connect(stack.url("worker"))
    store.ensure("roles", fingerprint="f", dimension=2)
    staged = store.stage("roles", fingerprint="f", dimension=2)
    store.switch("roles", staged)
    assert store.collections() == ["roles"]
    store.drop("roles")
    store.close()


@pytest.mark.parametrize("url", ["redis://127.0.0.1:{port}/0", "redis://producer:wrong@127.0.0.1:{port}/0"])
def test_who_has_no_password_gets_nothing_and_is_told_which_setting_to_look_at(stack: Stack, url: str):
    with (
        RagClient(url.format(port=stack.redis_port)) as app,
        pytest.raises(ConfigurationError, match="RAG_BROKER_URL"),
    ):
        app.status("x")


def test_a_worker_that_was_given_an_apps_user_is_told_so(stack: Stack):
    store = Store.connect(stack.url("producer"))
    with pytest.raises(StoreError, match="refuse"):
        store.collections()
    store.close()


def test_the_server_listens_on_the_loopback_alone(stack: Stack):
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    addresses = {row[1].partition(":")[0] for row in listening if row[1].endswith(f":{stack.redis_port:04X}")}
    assert addresses == {"0100007F"}


def test_every_role_has_a_password_of_its_own(stack: Stack):
    assert len(set(stack.redis_passwords.values())) == 5
    assert all(
        file.stat().st_mode & 0o077 == 0 for file in stack.folder.iterdir() if file.name.startswith("redis-password")
    )
