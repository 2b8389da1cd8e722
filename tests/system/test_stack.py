"""The whole system as its users meet it: real processes, a real small model, the README's own commands."""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis

from producer import RagClient, TaskCancelled
from tests.system.conftest import ROOT, RunningStack, clean_environment, start, stop
from worker.config import load
from worker.schedule import nightly_entries

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

COLLECTION = "handbook"
QUESTION = "What is the collision deductible in the 2024 auto policy?"
RAG = [str(Path(sys.executable).parent / "rag")]


def rag(stack: RunningStack, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RAG, *arguments], cwd=ROOT, env=stack.environment, capture_output=True, text=True, timeout=240
    )


@pytest.fixture(scope="session")
def handbook(stack: RunningStack) -> dict[str, object]:
    """The demo's handbook, ingested by the README's own command."""
    words = shlex.split("rag ingest examples/handbook --collection handbook")
    ran = rag(stack, *words[1:], "--json")
    assert ran.returncode == 0, ran.stderr
    report: dict[str, object] = json.loads(ran.stdout)
    return report


def test_every_file_of_the_handbook_is_indexed(handbook):
    assert (handbook["files"], handbook["refused"]) == (12, [])
    assert handbook["chunks"] > 12


def test_a_second_ingest_reads_nothing(stack, handbook):
    ran = rag(stack, "ingest", "examples/handbook", "--collection", COLLECTION)
    assert ran.returncode == 0
    assert ran.stdout.strip() == f"{COLLECTION}: 12 unchanged"


def test_a_question_gets_a_checked_answer_by_the_readmes_command(stack, handbook):
    words = shlex.split('rag ask "What is the full retirement age?" --collection handbook')
    ran = rag(stack, *words[1:], "--json")
    assert ran.returncode in (0, 3), ran.stderr
    answer = json.loads(ran.stdout)
    shown = {passage["name"] for passage in answer["audit"]["shown"]}
    assert shown <= {path.name for path in (ROOT / "examples/handbook").iterdir()}
    assert {source["name"] for source in answer["sources"]} <= shown
    assert answer["abstained"] == (ran.returncode == 3)
    assert {"queue", "retrieve", "generate", "check"} <= set(answer["timings"])


def test_what_a_person_reads_is_the_answer_and_its_sources(stack, handbook):
    ran = rag(stack, "ask", QUESTION, "--collection", COLLECTION)
    assert ran.returncode in (0, 3), ran.stderr
    assert ran.stdout.strip()
    assert "Traceback" not in ran.stderr


def test_a_question_that_no_document_is_near_to_ends_with_three(stack, handbook):
    ran = rag(stack, "ask", "How do I bake sourdough bread?", "--collection", COLLECTION)
    assert (ran.returncode, ran.stdout.strip()) == (3, "I don't have an answer for you.")


def test_a_collection_that_does_not_exist_is_one_readable_line(stack):
    ran = rag(stack, "ask", QUESTION, "--collection", "nowhere")
    assert ran.returncode == 1
    assert "UnknownCollection" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_readmes_other_commands_do_what_it_says(stack, handbook):
    assert rag(stack, *shlex.split("rag check")[1:]).returncode == 0
    assert "auto_policy_2024.pdf" in rag(stack, *shlex.split("rag documents handbook")[1:]).stdout
    words = shlex.split("rag eval examples/expected.jsonl --collection handbook")
    ran = rag(stack, *words[1:], "--json")
    judged = json.loads(ran.stdout)["questions"]
    assert ran.returncode in (0, 4), ran.stderr
    assert judged[2]["missed"] == []


def test_a_wrong_collection_name_is_wrong_usage(stack):
    ran = rag(stack, "ask", QUESTION, "--collection", "No Such Name!")
    assert ran.returncode == 2
    assert len(ran.stderr.strip().splitlines()) <= 3


def test_a_folder_that_is_missing_is_one_readable_line(stack):
    ran = rag(stack, "ingest", "/no/such/folder", "--collection", COLLECTION)
    assert ran.returncode == 1
    assert "FolderUnavailable" in ran.stderr


def test_a_rebuild_by_the_readmes_command_keeps_every_document(stack, handbook):
    words = shlex.split(".venv/bin/python -m worker rebuild handbook --folder examples/handbook")
    ran = subprocess.run(
        [sys.executable, *words[1:]],
        cwd=ROOT,
        env=stack.operator_environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
    assert "handbook: 12 documents" in ran.stdout
    assert "12 unchanged" in rag(stack, "ingest", "examples/handbook", "--collection", COLLECTION).stdout


def test_what_beat_sends_at_night_ingests_the_folder(stack, tmp_path: Path):
    (tmp_path / "a.md").write_text("The collision deductible is $500.")
    settings = {"RAG_BROKER_URL": stack.broker_url, "RAG_FOLDERS": f"night={tmp_path}"}
    entry = nightly_entries(load(settings))["nightly-night"]
    arguments = ["--kwargs", json.dumps(entry["kwargs"]), "--queue", entry["options"]["queue"]]
    ran = subprocess.run(
        [sys.executable, "-m", "celery", "--app=worker.app", "call", entry["task"], *arguments],
        cwd=ROOT,
        env=stack.operator_environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    with RagClient(stack.broker_url) as client:
        end = time.monotonic() + 60
        while client.status(ran.stdout.strip()).state != "succeeded":
            assert time.monotonic() < end
            time.sleep(0.2)
    assert "1 unchanged" in rag(stack, "ingest", str(tmp_path), "--collection", "night").stdout


def test_a_cancelled_ingest_ends_between_two_documents_and_the_next_one_does_the_rest(stack, tmp_path: Path):
    for number in range(1500):
        (tmp_path / f"{number}.md").write_text(f"Rule {number} holds.")
    with RagClient(stack.broker_url) as client:
        ticket = client.ingest(str(tmp_path), collection="long")
        while not ((progress := ticket.status.progress) and progress.done):
            time.sleep(0.05)
        ticket.cancel()
        with pytest.raises(TaskCancelled):
            ticket.get(timeout=60)
        report = client.ingest(str(tmp_path), collection="long").get(timeout=120)
    assert report.added + report.unchanged == 1500
    assert report.unchanged > 0


def test_status_tells_a_finished_question_from_an_unknown_one(stack, handbook):
    with RagClient(stack.broker_url) as client:
        ticket = client.ask("How do I bake sourdough bread?", collection=COLLECTION)
        ticket.get(timeout=120)
    assert "succeeded" in rag(stack, "status", ticket.id).stdout
    assert "unknown" in rag(stack, "status", "no-such-id").stdout


def test_the_readmes_python_runs_as_it_stands(stack, handbook):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-c", example], cwd=ROOT, env=stack.environment, capture_output=True, text=True, timeout=240
    )
    assert ran.returncode == 0, ran.stderr
    assert "queued" in ran.stdout or "started" in ran.stdout or "succeeded" in ran.stdout
    assert "no answer now" not in ran.stdout


@pytest.mark.parametrize(("command", "user"), [(". .rag/up/env", "producer"), (". .rag/up/operator-env", "worker")])
def test_the_files_of_settings_are_for_the_shell_and_for_their_owner_alone(stack, command: str, user: str):
    script = command.replace(".rag/up", shlex.quote(str(stack.data)))
    shell = ["sh", "-c", f"{script}; echo $RAG_BROKER_URL; command -v rag"]
    ran = subprocess.run(shell, capture_output=True, text=True, check=True)
    url, program = ran.stdout.splitlines()
    assert urlsplit(url).username == user
    assert program == RAG[0]
    assert Path(script.removeprefix(". ")).stat().st_mode & 0o077 == 0


def test_an_app_with_only_the_producer_installed_gets_a_checked_answer(stack, handbook, tmp_path: Path):
    """A separate interpreter that has redis-py, no Celery, no torch and no worker."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "app"], check=True)
    python = tmp_path / "app/bin/python"
    install = [python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", str(ROOT)]
    subprocess.run(install, check=True, timeout=300)
    code = f"""
import importlib.util, sys
from producer import RagClient
assert not any(map(importlib.util.find_spec, ["celery", "torch", "worker"]))
with RagClient() as client:
    answer = client.ask({QUESTION!r}, collection={COLLECTION!r}).get(timeout=120)
print(answer.question_id, sorted(source.name for source in answer.sources))
"""
    ran = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env=stack.environment, capture_output=True, text=True, timeout=180
    )
    assert ran.returncode == 0, ran.stderr


def flower(stack: RunningStack, path: str, *, password: str | None) -> str:
    address = re.search(r"Flower: +(\S+)", stack.printed())
    assert address
    request = urllib.request.Request(address[1] + path)
    if password is not None:
        request.add_header("Authorization", "Basic " + base64.b64encode(f"operator:{password}".encode()).decode())
    with urllib.request.urlopen(request, timeout=30) as response:
        return str(response.read().decode())


def test_flower_shows_the_tasks_and_no_word_of_a_client(stack, handbook):
    canary = "Zanzibarcanary"
    with RagClient(stack.broker_url) as client:
        ticket = client.ask(f"What is the deductible of {canary}?", collection=COLLECTION)
        ticket.get(timeout=120)
    password = (stack.data / "flower-password").read_text()
    tasks = flower(stack, "/api/tasks", password=password)
    assert ticket.id in tasks
    for page in (
        tasks,
        *(flower(stack, path, password=password) for path in ("/tasks", f"/task/{ticket.id}", "/metrics")),
    ):
        assert canary not in page
    for log in (stack.data / "logs").iterdir():
        assert canary not in log.read_text(errors="replace"), log


def test_flower_asks_for_a_password(stack):
    with pytest.raises(urllib.error.HTTPError, match="401"):
        flower(stack, "/api/tasks", password=None)


def test_no_secret_is_on_a_command_line(stack):
    secrets = [file.read_text() for file in stack.data.glob("*-password*")]
    assert len(secrets) == 6
    for pid in json.loads((stack.data / "pids.json").read_text()).values():
        command = Path(f"/proc/{pid}/cmdline").read_text()
        assert not any(secret in command for secret in secrets)


def test_a_second_start_on_the_same_folder_is_refused_clearly(stack):
    ran = subprocess.run(
        [sys.executable, "-m", "worker", "up", "--data", str(stack.data)],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 1
    assert "already running" in ran.stderr
    assert "answer" in ran.stderr


def test_an_answer_worker_that_is_killed_is_started_again_and_answers(stack, handbook):
    pid = json.loads((stack.data / "pids.json").read_text())["answer"]
    os.kill(pid, signal.SIGKILL)
    wait_until_printed(stack, "answer died (exit code -9)")
    with RagClient(stack.broker_url) as client:
        answer = client.ask("How do I bake sourdough bread?", collection=COLLECTION).get(timeout=120)
    assert answer.abstained
    wait_until_printed(stack, "answer was started again")


def wait_until_printed(stack: RunningStack, words: str) -> None:
    end = time.monotonic() + 60
    while words not in stack.printed():
        assert time.monotonic() < end, stack.printed()
        time.sleep(0.1)


def test_what_was_stored_outlives_a_stop_and_ctrl_c_leaves_no_process(tmp_path: Path):
    environment = {"RAG_LOCAL_URL": "http://127.0.0.1:9/v1"}
    first = start(tmp_path / "up", environment)
    assert "ready model" not in first.printed()
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "a.md").write_text("The collision deductible is $500.")
    assert rag(first, "ingest", str(documents), "--collection", "kept").returncode == 0
    pids = json.loads((first.data / "pids.json").read_text()).values()
    assert stop(first) == 130
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)

    second = start(tmp_path / "up", environment)
    try:
        ran = rag(second, "ingest", str(documents), "--collection", "kept")
        assert "1 unchanged" in ran.stdout
    finally:
        stop(second)


def test_a_cuda_device_that_is_not_there_is_an_error_at_start(tmp_path: Path):
    ran = subprocess.run(
        [sys.executable, "-m", "worker", "up", "--data", str(tmp_path / "up")],
        cwd=ROOT,
        env={
            **clean_environment(),
            "RAG_DEVICE": "cuda",
            "RAG_LOCAL_URL": "http://127.0.0.1:9/v1",
            "CUDA_VISIBLE_DEVICES": "",
        },
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 1
    assert "cuda" in ran.stderr.lower()


def test_the_demo_shows_every_stage(tmp_path: Path):
    questions = tmp_path / "questions.txt"
    questions.write_text(f"{QUESTION}\nHow do I bake sourdough bread?\n")
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "worker",
            "demo",
            "examples/handbook",
            "--questions",
            str(questions),
            "--data",
            str(tmp_path / "demo"),
        ],
        cwd=ROOT,
        env={**clean_environment(), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    for words in (
        "12 added",
        "what the model wrote",
        "what the app gets",
        "the model was not asked",
        "2 questions: ",
        "stopped",
    ):
        assert words in ran.stdout


def test_no_process_was_denied_what_it_needs(stack):
    """All tests above ran with a user of Redis for each role; the server notes every refusal."""
    password = (stack.data / "redis-password-default").read_text()
    port = urlsplit(stack.broker_url).port
    with redis.Redis(port=port or 0, password=password) as administrator:
        assert administrator.acl_log() == []


def test_nothing_died_that_was_not_killed(stack):
    deaths = re.findall(r"(\w+) died", stack.printed())
    assert set(deaths) <= {"answer"}
