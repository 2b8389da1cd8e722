"""The examples run as they stand: a web app under its real server, and a script; a thread answers for the worker."""

from __future__ import annotations

import ast
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from producer import Answer, Source
from producer.names import ANSWER_QUEUE
from tests.producer.messages import arguments_of

ROOT = Path(__file__).parent.parent.parent
TEXT = "The limit is <$7,500>."


@pytest.fixture
def asked(backend) -> Iterator[list[dict]]:
    """What was asked; each question is answered at once."""
    asked: list[dict] = []
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            message = backend.redis.brpop(ANSWER_QUEUE, timeout=1)
            if message:
                asked.append(arguments_of(message[1])["message"])
                source = Source(name="limits.md", quote=TEXT)
                answer = Answer(question_id=asked[-1]["id"], text=TEXT, sources=(source,))
                backend.tell(asked[-1]["id"], "SUCCESS", answer.to_dict())

    thread = threading.Thread(target=work)
    thread.start()
    yield asked
    ended.set()
    thread.join()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def web_app(redis_url: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "examples.runway:app", f"--port={port}", "--log-level=warning"]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "RAG_BROKER_URL": redis_url})
    try:
        end = time.monotonic() + 60
        while not listens(port):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def post(url: str, question: str, before: list[str]) -> str:
    request = urllib.request.Request(
        f"{url}/questions?{urllib.parse.urlencode({'question': question})}",
        data=json.dumps(before).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return str(response.read().decode())


def test_the_web_app_answers_with_escaped_html_and_passes_the_conversation_on(redis_url, asked):
    with web_app(redis_url) as url:
        page = post(url, "And over 50?", ["What is the limit?"])
        with pytest.raises(urllib.error.HTTPError, match="400"):
            post(url, " ", [])
    assert "<p>The limit is &lt;$7,500&gt;.</p>" in page
    assert asked[0]["history"][0]["content"] == "What is the limit?"


def test_the_script_answers_every_line_in_order(redis_url, asked, tmp_path):
    (tmp_path / "questions.txt").write_text("# no question\nWhat is the limit?\n\nAnd over 50?\n")
    ran = subprocess.run(
        [sys.executable, "examples/letters.py", str(tmp_path / "questions.txt")],
        cwd=ROOT,
        env={**os.environ, "RAG_BROKER_URL": redis_url, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.index("## What is the limit?") < ran.stdout.index("## And over 50?")
    assert ran.stdout.count("**limits.md**") == 2


@pytest.mark.parametrize("name", ["runway.py", "letters.py"])
def test_an_example_is_about_twenty_lines_of_code(name):
    tree = ast.parse((ROOT / "examples" / name).read_text())
    documentation = {
        node.value.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    lines = {node.lineno for node in ast.walk(tree) if hasattr(node, "lineno")} - documentation
    assert len(lines) <= 26
