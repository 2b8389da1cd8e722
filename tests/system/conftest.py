"""A whole stack, started as a person starts it: `python -m worker up`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MODEL = ROOT / ".models/SmolLM2-135M-Instruct.Q4_1.gguf"
START_SECONDS = 240


@dataclass(frozen=True, slots=True)
class RunningStack:
    """The process of `up`, its data folder, and what it printed."""

    process: subprocess.Popen[bytes]
    data: Path
    output: Path

    @property
    def broker_url(self) -> str:
        return (self.data / "env").read_text().partition("'")[2].partition("'")[0]

    @property
    def environment(self) -> dict[str, str]:
        return {**clean_environment(), "RAG_BROKER_URL": self.broker_url}

    @property
    def operator_environment(self) -> dict[str, str]:
        """What a shell has after `. .rag/up/operator-env`."""
        names = ("RAG_BROKER_URL", "RAG_DATA_DIR", "RAG_LOCAL_URL")
        script = f". {self.data / 'operator-env'}; " + "; ".join(f'echo "${name}"' for name in names)
        ran = subprocess.run(
            ["sh", "-c", script], env=clean_environment(), capture_output=True, text=True, check=True
        )
        return {**clean_environment(), **dict(zip(names, ran.stdout.splitlines(), strict=True))}

    def printed(self) -> str:
        return self.output.read_text(errors="replace")


def clean_environment() -> dict[str, str]:
    """The tests' environment without settings that a developer may have exported."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RAG_")}


def start(data: Path, environment: Mapping[str, str] | None = None) -> RunningStack:
    """Start `up` and wait until it says that the stack is up."""
    data.parent.mkdir(parents=True, exist_ok=True)
    output = data.parent / f"{data.name}.txt"
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "worker", "up", "--data", str(data)],
            cwd=ROOT,
            env={**clean_environment(), "OMP_NUM_THREADS": "1", "RAG_MODEL_THREADS": "1", **(environment or {})},
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    stack = RunningStack(process, data, output)
    end = time.monotonic() + START_SECONDS
    while "The stack is up" not in stack.printed():
        assert process.poll() is None, stack.printed()
        assert time.monotonic() < end, stack.printed()
        time.sleep(0.2)
    return stack


def stop(stack: RunningStack) -> int:
    """End `up` as ctrl-C does, and return its exit code."""
    if stack.process.poll() is None:
        stack.process.send_signal(signal.SIGINT)
    return stack.process.wait(90)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """One stack for all tests that do not stop it."""
    assert MODEL.exists(), "the small model is missing; run `make models`"
    running = start(tmp_path_factory.mktemp("stack") / "up")
    yield running
    assert stop(running) == 130, running.printed()
