"""A result is kept until Redis has room for it, and no log shows it meanwhile."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import pytest
import redis
from celery import Celery

# Celery's own call.
pytestmark = pytest.mark.filterwarnings("ignore:Call to deprecated setex:DeprecationWarning")

CANARY = "Zanzibarcanary"


def backend(url: str) -> Any:
    app = Celery(broker=url, backend=f"worker.backend:Backend+{url}", set_as_current=False)
    app.conf.update(result_backend_always_retry=True, result_serializer="json", result_expires=60)
    return app.backend


def test_A6_an_answer_waits_for_a_full_redis_and_is_stored_when_there_is_room(redis_url, caplog):
    results = backend(redis_url)
    stored = threading.Thread(target=results.store_result, args=("id", {"text": CANARY}, "SUCCESS"))
    with redis.Redis.from_url(redis_url) as client, caplog.at_level(logging.DEBUG):
        client.config_set("maxmemory", 1)
        try:
            stored.start()
            time.sleep(0.5)
            assert stored.is_alive()
            assert client.get("celery-task-meta-id") is None
        finally:
            client.config_set("maxmemory", 0)
        stored.join(20)
        assert results.get_task_meta("id")["result"] == {"text": CANARY}
    assert CANARY not in caplog.text


def test_what_redis_refuses_for_good_is_raised_without_the_words_of_the_result(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        client.execute_command("ACL", "SETUSER", "reader", "on", "nopass", "~*", "&*", "+@all", "-setex")
        try:
            with pytest.raises(redis.ResponseError) as raised:
                backend(redis_url.replace("//", "//reader:any@")).store_result("id", {"text": CANARY}, "SUCCESS")
        finally:
            client.acl_deluser("reader")
    assert CANARY not in str(raised.value)
