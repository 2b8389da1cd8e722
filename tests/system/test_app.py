"""What an app asks of a running stack: uploads, filters, conversations, replies, cancelling; all of it real."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
import redis

from producer import AsyncRagClient, DocumentList, Filters, RagClient, Reply, TaskCancelled
from producer.checkup import examine, is_well
from tests.system.conftest import RunningStack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

COLLECTION = "app"
DOCUMENTS = {
    "auto_2023.md": ("The collision deductible is $1,000 for each accident under the 2023 policy.", ["2023", "auto"]),
    "auto_2024.md": ("The collision deductible is $500 for each accident under the 2024 policy.", ["2024", "auto"]),
    "vesting.md": ("The employer match vests over five years, one fifth each year.", ["2024"]),
}
QUESTION = "What is the collision deductible?"
FAR_OFF = "How do I bake sourdough bread?"


@pytest.fixture(scope="module")
def client(stack: RunningStack):
    with RagClient(stack.broker_url) as client:
        yield client


@pytest.fixture(scope="module")
def documents(client: RagClient) -> DocumentList:
    """Three documents, uploaded one by one."""
    tickets = [
        client.ingest_bytes(name, text.encode(), collection=COLLECTION, tags=tags)
        for name, (text, tags) in DOCUMENTS.items()
    ]
    assert [ticket.get(timeout=120).added for ticket in tickets] == [1, 1, 1]
    return client.documents(COLLECTION).get(timeout=60)


def shown(client: RagClient, question: str, **options) -> set[str]:
    answer = client.ask(question, collection=COLLECTION, **options).get(timeout=120)
    return {passage.name for passage in answer.audit.shown}


def test_what_was_uploaded_is_listed_with_its_tags(documents):
    assert {document.name: set(document.tags) for document in documents.documents} == {
        name: set(tags) for name, (_, tags) in DOCUMENTS.items()
    }


def test_only_documents_that_the_filter_lets_through_are_shown(client, documents):
    assert shown(client, QUESTION) >= {"auto_2023.md", "auto_2024.md"}
    assert shown(client, QUESTION, filters=Filters(tags=["2024", "auto"])) == {"auto_2024.md"}
    assert shown(client, QUESTION, filters=Filters(names="*_2023.*")) == {"auto_2023.md"}
    assert shown(client, QUESTION, filters=Filters(modified_until=1.0)) == set()


def test_a_follow_up_is_found_in_its_conversation_alone(client, documents):
    history = [{"role": "user", "content": "How does the employer match vest?"}]
    assert shown(client, "And how long does it take?") == set()
    assert "vesting.md" in shown(client, "And how long does it take?", history=history)


def test_a_reply_arrives_in_the_stream_whatever_became_of_the_question(client, documents, stack):
    answered = client.ask(FAR_OFF, collection=COLLECTION, reply_to="stream:replies")
    failed = client.ask(FAR_OFF, collection="nowhere", reply_to="stream:replies")
    expired = client.ask(FAR_OFF, collection=COLLECTION, reply_to="stream:replies", deadline=0.001)
    with redis.Redis.from_url(stack.broker_url, decode_responses=True) as server:
        end = time.monotonic() + 60
        while server.xlen("rag:reply:replies") < 3 and time.monotonic() < end:
            time.sleep(0.1)
        replies = [Reply.from_dict(json.loads(fields["reply"])) for _, fields in server.xrange("rag:reply:replies")]
    told = {reply.question_id: (reply.state, reply.error, bool(reply.answer)) for reply in replies}
    assert told == {
        answered.id: ("succeeded", "", True),
        failed.id: ("failed", "UnknownCollection", False),
        expired.id: ("expired", "DeadlineExceeded", False),
    }


def test_a_question_that_is_cancelled_while_it_waits_is_not_answered(client, documents, stack):
    tickets = [client.ask(QUESTION, collection=COLLECTION) for _ in range(12)]
    last = tickets[-1]
    cancelled = last.cancel()
    with pytest.raises(TaskCancelled):
        last.get(timeout=120)
    assert cancelled or last.status.error == "Cancelled"
    for ticket in tickets[:-1]:
        ticket.cancel()


def test_an_asyncio_app_asks_many_at_once_and_gets_all_answers_in_order(documents, stack):
    async def ask_all() -> list[bool]:
        async with AsyncRagClient(stack.broker_url) as client:
            many = client.ask_many([FAR_OFF] * 20, collection=COLLECTION, in_flight=5)
            return [(await ticket).abstained async for ticket in many]

    assert asyncio.run(ask_all()) == [True] * 20


def test_the_same_question_id_gives_the_same_answer(client, documents):
    first = client.ask(FAR_OFF, collection=COLLECTION, question_id="bread-1").get(timeout=120)
    again = client.ask(FAR_OFF, collection=COLLECTION, question_id="bread-1").get(timeout=120)
    assert first == again
    assert first.question_id == "bread-1"


def test_workers_are_seen_to_listen_and_all_is_well(client, documents):
    survey = client.survey()
    assert all(survey["workers"].values())
    findings = examine(survey)
    assert is_well(findings), findings


def test_a_document_that_is_deleted_is_in_no_answer_any_more(client, documents):
    assert client.delete("auto_2023.md", collection=COLLECTION).get(timeout=60).removed == 1
    assert "auto_2023.md" not in shown(client, QUESTION)
