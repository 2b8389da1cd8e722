"""What the client puts into a queue is what Celery itself would put there, field by field."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
import redis
from celery import Celery
from celery.app.task import Context

from producer.envelope import envelope
from tests.producer.messages import arguments_of

QUEUE = "spark.answer"
# These differ from one message to the next, or name the sender.
OWN = {"delivery_tag", "origin"}
# Celery's sending passes these on to kombu, which has no use for them: the headers hold them already.
PASSED_ON = {"argsrepr", "kwargsrepr", "expiration"}


@pytest.fixture
def celerys_own(redis_url: str):
    """A message as Celery sends it."""
    app = Celery("peer", broker=redis_url, set_as_current=False)
    expires = datetime.fromtimestamp(1_900_000_000.5, UTC)
    app.send_task(
        "rag.answer",
        kwargs={"message": {"text": "Größe?"}},
        task_id="id-1",
        queue=QUEUE,
        expires=expires,
        argsrepr="()",
        kwargsrepr="{...}",
    )
    app.close()
    with redis.Redis.from_url(redis_url) as server:
        return json.loads(server.lpop(QUEUE))


def ours() -> dict:
    arguments = {"message": {"text": "Größe?"}}
    return json.loads(envelope("rag.answer", arguments, id="id-1", queue=QUEUE, expires=1_900_000_000.5))


def without_own(part: dict) -> dict:
    return {name: value for name, value in part.items() if name not in OWN}


def test_the_headers_are_celerys(celerys_own):
    assert without_own(ours()["headers"]) == without_own(celerys_own["headers"])
    assert ours()["headers"].keys() == celerys_own["headers"].keys()


def test_the_properties_are_kombus_but_for_the_sender_who_waits_for_no_celery_reply(celerys_own):
    mine, theirs = ours()["properties"], celerys_own["properties"]
    assert theirs.keys() - mine.keys() == PASSED_ON
    assert without_own(mine) == {**{name: without_own(theirs)[name] for name in without_own(mine)}, "reply_to": ""}


def test_the_body_and_its_encoding_are_celerys(celerys_own):
    mine = ours()
    assert arguments_of(json.dumps(mine)) == arguments_of(json.dumps(celerys_own)) == {"message": {"text": "Größe?"}}
    for name in ("content-type", "content-encoding"):
        assert mine[name] == celerys_own[name]
    assert mine.keys() == celerys_own.keys()


def test_a_celery_worker_reads_it_without_a_complaint(redis_url):
    """Through kombu's own consumer, and Celery's own reading of the headers."""
    app = Celery("reader", broker=redis_url, set_as_current=False)
    with redis.Redis.from_url(redis_url) as server, app.connection_for_read() as connection:
        server.lpush(QUEUE, envelope("rag.answer", {"message": {}}, id="id-1", queue=QUEUE, expires=time.time() + 60))
        queue = connection.SimpleQueue(QUEUE)
        message = queue.get(timeout=5)
        message.ack()
        assert message.payload == [[], {"message": {}}, message.payload[2]]
        assert Context(message.headers).id == "id-1"
        queue.close()
    app.close()
