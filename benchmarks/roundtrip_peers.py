"""Other task queues' round trip of a task that does nothing, each run by a Python that has it installed.

    python roundtrip_peers.py {celery,rq,dramatiq,arq} {worker,client} URL

A client answers each line `N` on its standard input with a JSON list of N round trips in milliseconds. It imports
nothing of this project, so that the peers' own versions of redis-py do not matter to it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import Any

THREADS = 8
QUEUE = "peer"


def nothing() -> dict[str, str]:
    """The task."""
    return {"text": "nothing"}


def celery(role: str, url: str) -> None:
    """Celery with its own Redis backend and as many threads as our answer worker."""
    from celery import Celery

    app = Celery(QUEUE, broker=url, backend=url)
    app.conf.task_default_queue = "peer-celery"
    task = app.task(name="nothing")(nothing)
    if role == "worker":
        app.worker_main(
            ["worker", "--pool=threads", f"--concurrency={THREADS}", "--loglevel=critical", "--without-gossip"]
        )
    serve(lambda: task.delay().get(timeout=10))


def rq(role: str, url: str) -> None:
    """RQ without a fork for each job, which is its faster worker."""
    from redis import Redis
    from rq import Queue, SimpleWorker

    connection = Redis.from_url(url)
    queue = Queue(QUEUE, connection=connection)
    if role == "worker":
        SimpleWorker([queue], connection=connection).work(logging_level="CRITICAL")
    serve(lambda: queue.enqueue("roundtrip_peers.nothing").latest_result(timeout=10))


def dramatiq(role: str, url: str) -> None:
    """Dramatiq with its Redis results."""
    import dramatiq as library
    from dramatiq.brokers.redis import RedisBroker
    from dramatiq.results import Results
    from dramatiq.results.backends import RedisBackend

    broker = RedisBroker(url=url)
    broker.add_middleware(Results(backend=RedisBackend(url=url), store_results=True))
    library.set_broker(broker)
    task = library.actor(queue_name="peer-dramatiq")(nothing)
    if role == "worker":
        worker = library.Worker(broker, worker_threads=THREADS)
        worker.start()
        while True:
            time.sleep(60)
    serve(lambda: task.send().get_result(block=True, timeout=10_000))


def arq(role: str, url: str) -> None:
    """Arq, looking for jobs every 10 ms instead of twice a second."""
    from arq import create_pool
    from arq.connections import RedisSettings
    from arq.worker import Worker, func

    settings = RedisSettings.from_dsn(url)

    async def task(_: Any) -> dict[str, str]:
        return nothing()

    if role == "worker":
        Worker([func(task, name="nothing")], redis_settings=settings, queue_name="peer-arq", poll_delay=0.01).run()
    loop = asyncio.new_event_loop()
    pool = loop.run_until_complete(create_pool(settings, default_queue_name="peer-arq"))

    async def call() -> Any:
        job = await pool.enqueue_job("nothing")
        return await job.result(timeout=10, poll_delay=0.005) if job else None

    serve(lambda: loop.run_until_complete(call()))


def serve(call: Callable[[], Any]) -> None:
    """Answer each number on the standard input with as many round trips."""
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            call()
            times.append((time.perf_counter() - start) * 1000)
        sys.stdout.write(json.dumps(times) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    {"celery": celery, "rq": rq, "dramatiq": dramatiq, "arq": arq}[sys.argv[1]](sys.argv[2], sys.argv[3])
