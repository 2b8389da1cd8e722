"""One client for many: threads, processes, and a thousand questions that wait in one event loop."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import threading
import time

import pytest

from producer import Answer, AsyncRagClient, BrokerUnavailable, ClientClosed, RagClient
from producer.names import ANSWER_QUEUE
from tests.producer.messages import arguments_of

OUTSTANDING = 1000


def test_many_threads_share_one_client_and_one_background_thread(redis_url, server):
    before = threading.active_count()
    with RagClient(redis_url) as client:
        threads = [
            threading.Thread(target=client.ask, args=("What?",), kwargs={"collection": "c"}) for _ in range(32)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
    assert server.llen(ANSWER_QUEUE) == 32


def test_many_threads_that_ask_with_one_id_send_one_question(redis_url, server):
    with RagClient(redis_url) as client:
        same = {"collection": "c", "question_id": "q-1"}
        threads = [threading.Thread(target=client.ask, args=("What?",), kwargs=same) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert server.llen(ANSWER_QUEUE) == 1


def test_more_threads_than_connections_wait_for_their_answers(redis_url, server, backend):
    got = []
    with RagClient(redis_url) as client:
        tickets = [client.ask("What?", collection="c") for _ in range(40)]
        threads = [threading.Thread(target=lambda t=ticket: got.append(t.get(timeout=20).text)) for ticket in tickets]
        for thread in threads:
            thread.start()
        for ticket in tickets:
            backend.tell(ticket.id, "SUCCESS", Answer(question_id=ticket.id, text="Yes.").to_dict())
        for thread in threads:
            thread.join()
    assert got == ["Yes."] * 40


def test_a_thread_that_waits_while_another_closes_the_client_is_told_so_and_the_question_goes_on(
    redis_url, server, backend
):
    client, raised = RagClient(redis_url), []
    ticket = client.ask("What?", collection="c")

    def wait() -> None:
        with pytest.raises(ClientClosed, match="another one") as told:
            ticket.get(timeout=60)
        raised.append(told)

    thread = threading.Thread(target=wait)
    thread.start()
    while not server.pubsub_channels():
        time.sleep(0.01)
    client.close()
    thread.join(10)
    assert len(raised) == 1
    with pytest.raises(ClientClosed):
        client.ask("What?", collection="c")
    backend.tell(ticket.id, "SUCCESS", Answer(question_id=ticket.id, text="Yes.").to_dict())
    with RagClient(redis_url) as another:
        assert another.ticket(ticket.id).get().text == "Yes."


def test_a_client_that_was_used_before_a_fork_works_on_both_sides(redis_url, server):
    """In a process of its own: a fork beside other threads is what the interpreter warns of."""
    code = f"""
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from producer import RagClient
client = RagClient({redis_url!r})
mine = client.ask("What?", collection="c")
child = os.fork()
if child == 0:
    told = (mine.state, client.ask("What?", collection="c").state)
    client.close()
    os._exit(0 if told == ("queued", "queued") else 1)
assert os.waitpid(child, 0)[1] == 0
assert mine.state == "queued"
client.close()
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert server.llen(ANSWER_QUEUE) == 2


def test_a_client_that_nobody_closes_does_not_keep_the_process(redis_url):
    code = f"from producer import RagClient; print(RagClient({redis_url!r}).ask('What?', collection='c').state)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "queued\n", "")


def test_a_thousand_questions_outstanding_need_no_thread_and_few_connections(redis_url, server, backend):
    async def outstanding() -> tuple[int, int, list[str]]:
        async with AsyncRagClient(redis_url) as client:
            threads = threading.active_count()
            asks = (client.ask(f"question {number}", collection="c") for number in range(OUTSTANDING))
            tickets = await asyncio.gather(*asks)
            waits = asyncio.gather(*(ticket.get(timeout=60) for ticket in tickets))
            while len(server.pubsub_channels()) < OUTSTANDING:
                await asyncio.sleep(0.05)
            grown = threading.active_count() - threads
            opened = len(server.client_list())
            for ticket in tickets:
                backend.tell(ticket.id, "SUCCESS", Answer(question_id=ticket.id, text="Yes.").to_dict())
            texts = [answer.text for answer in await waits]
            assert len(server.pubsub_channels()) == 1
            return grown, opened, texts

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown, opened, texts = asyncio.run(outstanding())
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert texts == ["Yes."] * OUTSTANDING
    assert grown == 0
    # Eight for commands, one for the subscription, one of the test's own.
    assert opened <= 10
    assert megabytes < 100


def test_a_thousand_calls_fail_as_soon_as_one_where_redis_is_away():
    async def ask_all() -> tuple[float, set[type]]:
        async with AsyncRagClient("redis://127.0.0.1:9/0") as client:
            start = time.monotonic()
            asks = (client.ask("What?", collection="c") for _ in range(OUTSTANDING))
            ends = await asyncio.gather(*asks, return_exceptions=True)
            return time.monotonic() - start, set(map(type, ends))

    seconds, kinds = asyncio.run(ask_all())
    assert kinds == {BrokerUnavailable}
    assert seconds < 6.0


def test_asking_does_not_hold_up_the_event_loop(redis_url, server):
    """What else runs in the loop goes on while Redis is slow to answer."""

    async def beats_while_asking() -> int:
        async with AsyncRagClient(redis_url, timeout=8.0) as client:
            await client.status("connects")
            beats = 0
            server.client_pause(400)
            asked = asyncio.create_task(client.ask("What?", collection="c"))
            while not asked.done():
                await asyncio.sleep(0.01)
                beats += 1
            await asked
            return beats

    assert asyncio.run(beats_while_asking()) > 5


def test_questions_that_nobody_waits_for_any_more_leave_nothing_behind(redis_url, server):
    async def abandon() -> int:
        async with AsyncRagClient(redis_url) as client:
            ticket = await client.ask("What?", collection="c")
            for _ in range(20):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(ticket.get(timeout=60), 0.02)
            await asyncio.sleep(0.1)
            return len(server.pubsub_channels())

    assert asyncio.run(abandon()) == 1


def test_many_questions_can_be_left_in_the_middle(redis_url, backend):
    def answer_one() -> None:
        question = arguments_of(backend.redis.brpop(ANSWER_QUEUE, timeout=4)[1])["message"]
        backend.tell(question["id"], "SUCCESS", Answer(question_id=question["id"], text="Yes.").to_dict())

    worker = threading.Thread(target=answer_one)
    worker.start()
    with RagClient(redis_url) as client:
        for ticket in client.ask_many(["a", "b", "c"], collection="c", in_flight=1):
            assert ticket.get(timeout=1).text == "Yes."
            break
    worker.join()


def test_waits_that_are_cancelled_while_news_arrive_end_at_once(redis_url, server):
    async def cancel_all() -> int:
        async with AsyncRagClient(redis_url) as client:
            tickets = await asyncio.gather(*(client.ask("What?", collection="c") for _ in range(OUTSTANDING)))
            waits = [asyncio.create_task(ticket.get(timeout=60)) for ticket in tickets]
            while len(server.pubsub_channels()) < OUTSTANDING:
                await asyncio.sleep(0)
            for wait in waits:
                wait.cancel()
            _, pending = await asyncio.wait(waits, timeout=10)
            return len(pending)

    assert asyncio.run(cancel_all()) == 0
