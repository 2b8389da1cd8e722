"""Two apps on one Redis, and workers that know whose collection is whose."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from benchmarks.crew import Crew
from benchmarks.scripted_model import ScriptedModel
from producer import AsyncRagClient, Question, RagClient, TaskFailed
from producer.envelope import envelope
from producer.grants import Grant
from producer.names import ANSWER_QUEUE, ANSWER_TASK, INGEST_QUEUE, NIGHTLY_TASK, RESULT_PREFIX
from tests.system.conftest import ROOT, clean_environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

SECRET = "a secret of the workers, 32 and more".replace(" ", "-")


def granted(name: str, *arguments: str) -> str:
    """What the operator's command prints."""
    environment = {**clean_environment(), "RAG_ACCESS_SECRET": SECRET, "RAG_BROKER_URL": "redis://nowhere:1/0"}
    command = [sys.executable, "-m", "worker", "grant", name, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plans")
    (folder / "plan-7.md").write_text("The deductible of plan 7 is $1,007.\n")
    return folder


@pytest.fixture(scope="module")
def operator() -> str:
    return granted("operator", "*", "--may", "ask", "--may", "write", "--may", "folders")


@pytest.fixture(scope="module")
def reader() -> str:
    return granted("runway", "plans", "--days", "1")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, plans: Path, operator: str) -> Iterator[str]:
    model = ScriptedModel()
    settings = {"RAG_LOCAL_URL": model.url, "RAG_ACCESS_SECRET": SECRET, "RAG_FOLDERS": f"nightly={plans}"}
    crew = Crew(tmp_path_factory.mktemp("crew"), app="benchmarks.light", settings=settings)
    try:
        crew.start("redis", "answer", "ingest")
        with RagClient(crew.url, grant=operator) as client:
            for collection in ("plans", "others"):
                client.ingest(str(plans), collection=collection).get(60)
        yield crew.url
    finally:
        crew.stop()
        model.stop()


def refused(ticket: object) -> bool:
    with pytest.raises(TaskFailed) as raised:
        ticket.get(60)
    return raised.value.error == "AccessDenied" and not raised.value.retryable


QUESTION = "What is the deductible of plan 7?"


def test_an_app_is_answered_from_its_own_collection_and_from_no_other(url, reader):
    with RagClient(url, grant=reader) as client:
        assert "$1,007" in client.ask(QUESTION, collection="plans").get(60).text
        assert [document.name for document in client.documents("plans").get(60).documents] == ["plan-7.md"]
        assert refused(client.ask(QUESTION, collection="others"))
        assert refused(client.documents("others"))


def test_an_app_that_may_only_ask_changes_nothing(url, reader, plans):
    with RagClient(url, grant=reader) as client:
        assert refused(client.ingest_bytes("new.md", b"The deductible is $1.", collection="plans"))
        assert refused(client.delete("plan-7.md", collection="plans"))
        assert refused(client.ingest(str(plans), collection="plans"))
        assert [document.name for document in client.documents("plans").get(60).documents] == ["plan-7.md"]


def test_an_app_without_a_grant_is_told_what_it_needs(url):
    with RagClient(url) as client, pytest.raises(TaskFailed, match="RAG_GRANT"):
        client.ask(QUESTION, collection="plans").get(60)


def test_the_asynchronous_client_signs_as_well(url, reader):
    async def ask() -> str:
        async with AsyncRagClient(url, grant=reader) as client:
            return (await (await client.ask(QUESTION, collection="plans")).get(60)).text

    assert "$1,007" in asyncio.run(ask())


def ended(connection: redis.Redis, task: str, arguments: dict[str, object], *, id: str, queue: str) -> str:
    """What became of a message that somebody wrote by hand."""
    connection.lpush(queue, envelope(task, arguments, id=id, queue=queue))
    end = time.monotonic() + 60
    while (told := json.loads(connection.get(RESULT_PREFIX + id) or "{}")).get("status") not in (
        "SUCCESS",
        "FAILURE",
    ):
        assert time.monotonic() < end
        time.sleep(0.05)
    return "SUCCESS" if told["status"] == "SUCCESS" else told["result"]["exc_message"][0]


def test_a_question_that_somebody_saw_cannot_be_sent_again_as_his_own(url, reader):
    message = Question(text=QUESTION, collection="plans").to_dict()
    arguments = {"message": message, "signed": Grant.of(reader).sign(ANSWER_TASK, message)}
    with redis.Redis.from_url(url) as connection:
        assert ended(connection, ANSWER_TASK, arguments, id="mine", queue=ANSWER_QUEUE) == "AccessDenied"


def test_the_nightly_task_takes_the_configured_folders_whoever_sends_it_and_no_other(url, plans, tmp_path):
    with redis.Redis.from_url(url) as connection:
        for number, (collection, folder, end) in enumerate(
            [("nightly", plans, "SUCCESS"), ("nightly", tmp_path, "AccessDenied"), ("plans", plans, "AccessDenied")]
        ):
            arguments = {"collection": collection, "folder": str(folder)}
            assert ended(connection, NIGHTLY_TASK, arguments, id=f"night-{number}", queue=INGEST_QUEUE) == end
